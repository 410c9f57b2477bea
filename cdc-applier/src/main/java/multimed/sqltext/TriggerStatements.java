package multimed.sqltext;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
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

    /** @param version the satellite's, like 90704 */
    public static boolean isOne(ByteString sql, int version) {
        return new TriggerStatements(new SqlLexer(sql.toString(StandardCharsets.ISO_8859_1), true, "", version)).isTriggerOrEvent();
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
