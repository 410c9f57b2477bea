package multimed.sqltext;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

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
        SqlLexer lexer = new SqlLexer(new String(sql, StandardCharsets.ISO_8859_1), backslashEscapes, charset, SqlLexer.ANY_VERSION);
        List<String> words = new ArrayList<>();
        for (SqlLexer.Token token = lexer.next(); token != null; token = lexer.next()) {
            if (token.kind() == SqlLexer.Kind.WORD) {
                words.add(token.text());
            }
        }
        return words;
    }
}
