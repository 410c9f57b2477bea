package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import multimed.sqltext.SqlWords;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UnsafeStatementsTest {
    private static String ascii(String sql) {
        return UnsafeStatements.of(new TestQuery().of(sql), "utf8mb4");
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "CREATE TABLE t AS SELECT UUID() AS a", "create table t (a int) select 1", "CREATE TABLE t TABLE s", "CREATE TABLE t VALUES ROW(1)",
        "CREATE /* x */ TABLE IF NOT EXISTS t /*!50000 AS SELECT */ 1", "CREATE TABLE `a'b` SELECT 'x'"})
    void a_table_created_from_a_query_is_not_run_again(String sql) {
        assertNotNull(ascii(sql));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "CREATE TABLE t (a INT COMMENT 'SELECT') -- SELECT\n", "CREATE TABLE `select` (`table` INT DEFAULT 3) /* SELECT */",
        "CREATE TABLE a LIKE b",
        "CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1)) # SELECT",
        "CREATE TABLE t (a TEXT DEFAULT ('it\\'s SELECT'))"})
    void a_table_that_only_mentions_a_query_is(String sql) {
        assertNull(ascii(sql));
    }

    @ParameterizedTest
    @ValueSource(strings = {"ALTER TABLE t IMPORT TABLESPACE", "ALTER TABLE t IMPORT PARTITION p0, p1 TABLESPACE",
        "alter table a.b import /* x */ tablespace"})
    void rows_of_a_file_are_not_there(String sql) {
        assertNotNull(ascii(sql));
        assertNull(ascii("ALTER TABLE t DISCARD TABLESPACE"));
    }

    @Test
    void what_is_flushed_is_only_what_lasts() {
        for (String sql : List.of("FLUSH TABLES", "flush tables a, `privileges`", "FLUSH STATUS")) {
            assertTrue(UnsafeStatements.flushesMemory(new TestQuery().of(sql), "utf8mb4"), sql);
        }
        for (String sql : List.of("FLUSH PRIVILEGES", "FLUSH STATUS, /* x */ privileges", "FLUSH OPTIMIZER_COSTS", "DROP TABLE flush")) {
            assertFalse(UnsafeStatements.flushesMemory(new TestQuery().of(sql), "utf8mb4"), sql);
        }
    }

    @Test
    void a_second_byte_that_looks_like_a_backslash_escapes_nothing() {
        byte[] sql = "CREATE TABLE t (a INT COMMENT '表' ) SELECT 1".getBytes(Charset.forName("Shift_JIS"));
        assertEquals(List.of("CREATE", "TABLE", "T", "A", "INT", "COMMENT", "SELECT", "1"), SqlWords.of(sql, true, "sjis"));
        assertEquals(List.of("CREATE", "TABLE", "T", "A", "INT", "COMMENT"), SqlWords.of(sql, true, "latin1"));
    }

    /** Without its second byte a first one is a character of its own, and hides no quote. */
    @Test
    void half_a_character_hides_nothing() {
        byte[] sql = "CREATE TABLE t COMMENT '\u0081' SELECT 1 AS '\u0081' FROM t".getBytes(StandardCharsets.ISO_8859_1);
        for (String charset : List.of("gbk", "sjis", "gb18030", "big5")) {
            assertEquals(List.of("CREATE", "TABLE", "T", "COMMENT", "SELECT", "1", "AS", "FROM", "T"), SqlWords.of(sql, true, charset));
        }
        byte[] word = "CREATE TABLE \u0081` (a INT) SELECT 1".getBytes(StandardCharsets.ISO_8859_1);
        assertEquals(List.of("CREATE", "TABLE", "\u0081`", "A", "INT", "SELECT", "1"), SqlWords.of(word, true, "gbk"));
    }
}
