package multimed.sqltext;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import multimed.binlog.QueryEvent;

/**
 * In: a statement's bytes. Out: its words in upper case, outside of quotes and comments; what stands in a versioned comment counts,
 * since some server executes it. Pure. Must never: leave out a word that MySQL would read; a word too many does no harm.
 */
public final class SqlWords {
    private SqlWords() {}

    /**
     * @param backslashEscapes whether the statement's sql_mode lacks NO_BACKSLASH_ESCAPES
     * @param charset the client's character set, by MySQL's name
     */
    public static List<String> of(byte[] sql, boolean backslashEscapes, String charset) {
        return of(new SqlLexer(new String(sql, StandardCharsets.ISO_8859_1), backslashEscapes, charset, SqlLexer.ANY_VERSION));
    }

    /** Under the statement's own sql_mode. */
    public static List<String> of(QueryEvent query, String charset) {
        return of(query, charset, SqlLexer.ANY_VERSION);
    }

    /** @param version of a server: comments for later ones are left out */
    public static List<String> of(QueryEvent query, String charset, int version) {
        return of(lexer(query, 0, charset, version));
    }

    /** Where the bracket closes that stands open before this place; -1 if it does not. */
    public static int closing(QueryEvent query, int from, String charset) {
        SqlLexer lexer = lexer(query, from, charset, SqlLexer.ANY_VERSION);
        int open = 1;
        for (SqlLexer.Token token = lexer.next(); token != null; token = lexer.next()) {
            boolean symbol = token.kind() == SqlLexer.Kind.SYMBOL;
            open += symbol && token.text().equals("(") ? 1 : symbol && token.text().equals(")") ? -1 : 0;
            if (open == 0) {
                return from + lexer.at();
            }
        }
        return -1;
    }

    static SqlLexer lexer(QueryEvent query, int from, String charset, int version) {
        return new SqlLexer(query.ascii().substring(from), !query.noBackslashEscapes(), query.ansiQuotes(), charset, version);
    }

    static List<String> of(SqlLexer lexer) {
        List<String> words = new ArrayList<>();
        for (SqlLexer.Token token = lexer.next(); token != null; token = lexer.next()) {
            if (token.kind() == SqlLexer.Kind.WORD) {
                words.add(token.text());
            }
        }
        return words;
    }
}
