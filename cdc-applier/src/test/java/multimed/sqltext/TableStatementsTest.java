package multimed.sqltext;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.ByteString;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TableStatementsTest {
    private static boolean depend(String sql) {
        return TableStatements.dependOnIndexes(ByteString.copyFromUtf8(sql), "utf8mb4", 90704);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "ALTER TABLE t ADD COLUMN a INT",
        "/* c */ alter\n/*!40000 table */ `t` disable keys",
        "CREATE INDEX i ON t (a)",
        "CREATE UNIQUE INDEX i ON t (a)",
        "DROP INDEX i ON t",
        "RENAME TABLE a TO b",
        "RENAME TABLES a TO b",
        "CREATE TABLE a LIKE b",
        "CREATE TABLE IF NOT EXISTS `a` (LIKE `b`)",
    })
    void statementsMayDependOnIndexes(String sql) {
        assertEquals(true, depend(sql), sql);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "CREATE TABLE t (a INT, KEY (a))",
        "CREATE TABLE `like` (a VARCHAR(9) COMMENT 'like')",
        "DROP TABLE t",
        "TRUNCATE TABLE t",
        "ALTER USER u ACCOUNT LOCK",
        "CREATE VIEW v AS SELECT 1 FROM t WHERE a LIKE 'b'",
        "CREATE PROCEDURE p() ALTER TABLE t ADD COLUMN a INT",
        "GRANT INDEX ON t TO u",
        "",
    })
    void othersDoNot(String sql) {
        assertEquals(false, depend(sql), sql);
    }
}
