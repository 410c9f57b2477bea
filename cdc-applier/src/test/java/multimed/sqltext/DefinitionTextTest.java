package multimed.sqltext;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class DefinitionTextTest {
    @Test
    void valuesAndCommentsAreLeftOutAndNamesAreKept() {
        assertEquals("select '' AS `a``b`,'' from `t`", DefinitionText.of("select 'it\\'s' AS `a``b`,\"x`\" from `t`", ""));
        assertEquals("return   get_lock('',0)", DefinitionText.of("return /* it's */ get_lock('key''s',0)", ""));
        assertEquals("begin  \nreturn 1  ", DefinitionText.of("begin -- don't\nreturn 1 # it's", ""));
        assertEquals("return 1--1", DefinitionText.of("return 1--1", ""));
    }

    @Test
    void quotesAndBackslashesMeanWhatTheirSqlModeSays() {
        assertEquals("select '',@x, ''", DefinitionText.of("select '\\',@x, ''", "NO_BACKSLASH_ESCAPES"));
        assertEquals("select ''", DefinitionText.of("select '\\',@x, '", "STRICT_TRANS_TABLES"));
        assertEquals("return `f`() + `a``\"b`", DefinitionText.of("return \"f\"() + \"a`\"\"b\"", "REAL_AS_FLOAT,ANSI_QUOTES,ANSI"));
    }

    @Test
    void whatNotEveryServerReadsAlikeIsNoText() {
        for (String text : new String[] {"return /*!80000 @x + */ 1", "return /*M! @x + */ 1", "return 'a", "return 1 /* a"}) {
            assertNull(DefinitionText.of(text, ""), text);
        }
    }
}
