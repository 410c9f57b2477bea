package multimed.sqltext;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.CharRange;
import net.jqwik.api.constraints.Chars;
import net.jqwik.api.constraints.StringLength;
import org.junit.jupiter.api.Test;

class SqlLexerTest {
    /** Words as they are, quoted text as Q, symbols as they are. */
    private static String tokens(String sql, boolean backslashEscapes, int version) {
        return tokens(new SqlLexer(sql, backslashEscapes, "utf8mb4", version));
    }

    private static String tokens(String sql, String charset) {
        return tokens(new SqlLexer(sql, true, charset, SqlLexer.ANY_VERSION));
    }

    private static String tokens(SqlLexer lexer) {
        List<String> all = new ArrayList<>();
        for (SqlLexer.Token token = lexer.next(); token != null; token = lexer.next()) {
            all.add(token.kind() == SqlLexer.Kind.QUOTED ? "Q" : token.text());
        }
        return String.join(" ", all);
    }

    private static String tokens(String sql) {
        return tokens(sql, true, 90704);
    }

    @Test
    void commentsAreSkippedAndVersionedOnesRead() {
        assertEquals("A B", tokens("a/* x */b -- c\n# d"));
        assertEquals("A B C", tokens("a /*!50000 b */ c"));
        assertEquals("A C", tokens("a /*!999999 b */ c"));
        assertEquals("A B C", tokens("a /*!999999 b */ c", true, SqlLexer.ANY_VERSION));
        assertEquals("A - - B", tokens("a --b"));
    }

    @Test
    void aQuoteEndsWhereMysqlEndsIt() {
        assertEquals("Q A", tokens("'x''y' a"));
        assertEquals("Q A", tokens("'x\\'y' a"));
        assertEquals("Q Y Q", tokens("'x\\'y' a", false, 90704));
        assertEquals("Q A", tokens("`x\\` a"));
        assertEquals("Q", tokens("'never closed"));
    }

    @Test
    void whatIsBlankInTheCharacterSetSeparatesWordsAndBeginsAComment() {
        assertEquals("A B", tokens("a\u00a0b", "latin1"));
        assertEquals("A\u00a0B", tokens("a\u00a0b", "utf8mb4"));
        assertEquals("A B", tokens("a\u00ffb", "cp852"));
        assertEquals("A B", tokens("a --\u007f'\n b --\u007f'", "utf8mb4"));
        assertEquals("A B", tokens("a --\u0080'\n b", "macroman"));
        assertEquals("A - - \u00e9", tokens("a --\u00e9", "utf8mb4").toLowerCase().replace('a', 'A'));
    }

    @Property
    void anyTextComesToAnEndAndNoWordIsMadeUp(
            @ForAll @Chars({'/', '*', '!', '\'', '`', '"', '\\', '-', '#', '\n', ' ', '9',
                '='}) @CharRange(from = 'a', to = 'd') @StringLength(max = 40) String sql,
            @ForAll boolean backslashEscapes) {
        String upper = sql.toUpperCase();
        for (String word : SqlWords.of(sql.getBytes(StandardCharsets.ISO_8859_1), backslashEscapes, "gbk")) {
            assertTrue(upper.contains(word), word);
        }
    }
}
