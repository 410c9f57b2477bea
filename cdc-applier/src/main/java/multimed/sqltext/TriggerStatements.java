package multimed.sqltext;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import multimed.binlog.QueryEvent;
import multimed.sqltext.SqlLexer.Kind;
import multimed.sqltext.SqlLexer.Token;

/**
 * In: a statement's bytes. Out: whether it creates, alters or drops a trigger or event, found from its leading words; DEFINER clauses
 * are passed over. Pure. Must never: look at more than the leading words.
 */
public final class TriggerStatements {
    private final SqlLexer lexer;
    private Token token;

    private TriggerStatements(SqlLexer lexer) {
        this.lexer = lexer;
        this.token = lexer.next();
    }

    /**
     * @param charset that the text is in, by MySQL's name
     * @param version the satellite's, like 90704
     */
    public static boolean isOne(ByteString sql, long sqlMode, String charset, int version) {
        return isOne(sql.toString(StandardCharsets.ISO_8859_1), sqlMode, charset, version);
    }

    /** Whether it is one to every server from this version on. */
    public static boolean isOne(QueryEvent query, String charset, int oldestVersion) {
        return isOne(query.ascii(), query.sqlMode(), charset, oldestVersion)
                && isOne(query.ascii(), query.sqlMode(), charset, SqlLexer.ANY_VERSION);
    }

    private static boolean isOne(String text, long sqlMode, String charset, int version) {
        boolean backslashEscapes = (sqlMode & QueryEvent.NO_BACKSLASH_ESCAPES) == 0;
        boolean ansiQuotes = (sqlMode & QueryEvent.ANSI_QUOTES) != 0;
        return new TriggerStatements(new SqlLexer(text, backslashEscapes, ansiQuotes, charset, version)).isTriggerOrEvent();
    }

    private boolean isTriggerOrEvent() {
        String verb = word();
        if (!verb.equals("CREATE") && !verb.equals("ALTER") && !verb.equals("DROP")) {
            return false;
        }
        String object = word();
        if (object.equals("OR")) {
            word();
            object = word();
        }
        if (object.equals("DEFINER")) {
            skipDefiner();
            object = word();
        }
        return object.equals("TRIGGER") || object.equals("EVENT");
    }

    /** DEFINER = user | user@host | CURRENT_USER [()], names bare or in any of the three quotes. */
    private void skipDefiner() {
        skip("=");
        skipName();
        if (skip("@")) {
            skipName();
        } else if (skip("(")) {
            skip(")");
        }
    }

    /** The word that comes next; empty if something else does. */
    private String word() {
        if (token == null || token.kind() != Kind.WORD) {
            return "";
        }
        String word = token.text();
        token = lexer.next();
        return word;
    }

    /** A bare host name has no dots and no % in MySQL either: 127.0.0.1 needs quotes. */
    private void skipName() {
        if (token != null && token.kind() != Kind.SYMBOL) {
            token = lexer.next();
        }
    }

    private boolean skip(String symbol) {
        boolean found = token != null && token.kind() == Kind.SYMBOL && token.text().equals(symbol);
        if (found) {
            token = lexer.next();
        }
        return found;
    }
}
