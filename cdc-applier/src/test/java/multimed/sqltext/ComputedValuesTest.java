package multimed.sqltext;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.protobuf.ByteString;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import multimed.binlog.ByteCursor;
import multimed.binlog.QueryEvent;
import multimed.binlog.StatusVariables;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ComputedValuesTest {
    private static final int ANSI_QUOTES = 4;

    private static ComputedValues of(String sql, int mode) {
        ByteArrayOutputStream status = new ByteArrayOutputStream();
        status.writeBytes(new byte[] {1, (byte) mode, 0, 0, 0, 0, 0, 0, 0});
        byte[] bytes = status.toByteArray();
        StatusVariables variables = StatusVariables.parse(new ByteCursor(bytes, 0, bytes.length));
        return ComputedValues.of(new QueryEvent("app", sql.getBytes(StandardCharsets.UTF_8), 0, 0, variables, false), "utf8mb4", 80_000);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "ALTER TABLE t ADD c INT DEFAULT (ps_current_thread_id())", "alter table t add c varchar(90) default (current_role())",
        "ALTER TABLE t ADD c DECIMAL(20,10) AS (1/3) STORED", "ALTER TABLE t ADD c INT DEFAULT (EXTRACT(/* x */ week FROM d))",
        "ALTER TABLE t ADD c INT AS (WEEK(d)) STORED",
        "ALTER TABLE t ADD c INT AS (/*!50000 WEEK*/ /* x */ (d)) STORED", "ALTER TABLE t MODIFY c BLOB AS (AES_ENCRYPT(a, b)) STORED",
        "ALTER TABLE t ADD KEY ((week(d)))", "CREATE UNIQUE INDEX i ON t (a, (b / 2))", "ALTER TABLE t ADD c TEXT DEFAULT (CURRENT_USER)",
        "ALTER TABLE t ADD c TEXT DEFAULT (CONCAT(a, SOME_LATER_FUNCTION(b)))", "ALTER TABLE t ADD a INT, ADD c DOUBLE DEFAULT (RAND())",
        "ALTER TABLE t ADD id SERIAL, ORDER BY a", "ALTER TABLE t ADD KEY ((week(mod(a, b))), (1))",
        "ALTER TABLE t ADD c BIGINT DEFAULT (`ps_current_thread_id`())"})
    void an_expression_that_may_depend_on_more_is_not_computed_again(String sql) {
        assertNotNull(of(sql, 0).doubt());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "CREATE TABLE t (d DATE, g INT AS (WEEK(d)))", "create or replace sql security invoker view v as select week(mod(a, b)) from t",
        "CREATE TABLE t (d DATE, CHECK (WEEK(d) > 1))", "ALTER VIEW v AS SELECT 1 ORDER BY WEEK (NOW())"})
    void a_definition_that_the_master_completes_from_a_setting_is_not_written_again(String sql) {
        assertNotNull(of(sql, 0).doubt());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "CREATE TABLE IF NOT EXISTS week (d DATE, g INT AS (WEEK(d, 3)), KEY week (d))",
        "CREATE PROCEDURE p() CREATE TABLE t AS SELECT WEEK(d)",
        "CREATE DEFINER=`view`@`table` FUNCTION f() RETURNS INT RETURN WEEK(NOW())", "INSERT INTO t VALUES (WEEK(NOW()))"})
    void a_definition_that_says_all_is_no_doubt(String sql) {
        assertNull(of(sql, 0).doubt());
    }

    /** Servers before that version see rand(), those after it abs(), and some another function still. */
    @ParameterizedTest
    @ValueSource(strings = {
        "alter table t add c double default (rand/*!99999 +abs */())", "ALTER TABLE t ADD c DOUBLE DEFAULT (rand/*!99999 x */())",
        "ALTER TABLE t ADD c DOUBLE DEFAULT (/*!90000 rand*/ /*!99999 +abs */())", "CREATE INDEX i ON t ((abs/*!99999 (a)), (mod*/(d)))",
        "ALTER /*!99999 EVENT e COMMENT 'x'; */ TABLE t ADD c DOUBLE DEFAULT (RAND())",
        "/*!90000 ALTER TABLE t ADD c DOUBLE DEFAULT (RAND()) */", "ALTER TABLE t /*!99999 COMMENT='x' -- */ ADD id SERIAL",
        "DROP INDEX i /*!99999 ON a */ /*!90000 ON t */"})
    void a_comment_that_not_every_server_reads_hides_no_function(String sql) {
        assertNotNull(of(sql, 0).doubt());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "/*!40000 ALTER TABLE t DISABLE KEYS */", "ALTER TABLE t ADD c INT /*!50606 STORAGE DISK */ DEFAULT (a /* !99999 */ + 1)",
        "CREATE TABLE t (a INT, g INT AS (a / 3) STORED /*!80023 INVISIBLE */)", "DROP TABLE t /*!99999 CASCADE */"})
    void a_comment_that_every_server_reads_alike_is_no_doubt(String sql) {
        assertNull(of(sql, 0).doubt());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', value = {
        "ALTER TABLE t MODIFY x BIGINT|t|false", "ALTER TABLE `a`. `b` ORDER BY x, ALGORITHM=COPY|`a`. `b`|false",
        "ALTER TABLE t ADD UNIQUE (v)|t|true", "ALTER TABLE t ADD x INT, ALGORITHM = INSTANT|~~|false",
        "ALTER TABLE t DISABLE KEYS|~~|false",
        "ALTER TABLE t ADD x INT, ALGORITHM INSTANT, ALGORITHM=COPY|t|false", "ALTER TABLE .t FORCE|.t|false",
        "CREATE FULLTEXT INDEX `on` ON d.t (v)|d.t|true", "CREATE INDEX i USING BTREE ON t(v)|t|true",
        "DROP INDEX i ON t ALGORITHM=COPY|t|false", "OPTIMIZE TABLE a, d.`b,c` , e|a;d.`b,c`;e|false",
        "OPTIMIZE NO_WRITE_TO_BINLOG TABLES t|t|false", "RENAME TABLE a TO b|~~|false", "CREATE TABLE t (a INT KEY)|~~|false"})
    void a_statement_that_may_copy_or_index_rows_names_their_tables(String sql, String tables, boolean makesKeys) {
        ComputedValues values = of(sql, 0);
        assertEquals(tables, values.again().stream().map(ByteString::toStringUtf8).collect(Collectors.joining(";")));
        assertEquals(makesKeys, values.makesKeys());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "ALTER TABLE t ADD c INT AS (EXTRACT(YEAR_MONTH FROM d)) STORED",
        "ALTER TABLE t ADD c INT AS (WEEK(d, 3)) STORED, ADD KEY ((week(from_days(a), (1))))",
        "ALTER TABLE t ADD c VARCHAR(200) AS (CONCAT(a, ' / ', UPPER(b))) STORED, ADD INDEX week (c)",
        "ALTER TABLE t ADD c DECIMAL(10,2) GENERATED ALWAYS AS (a * 2 DIV 3) STORED, ADD CONSTRAINT f FOREIGN KEY x (a) REFERENCES db.p (id)",
        "ALTER TABLE t ADD c JSON DEFAULT (JSON_OBJECT('week(d)', 1)) /* week(d) */ COMMENT 'a/b' -- 1/3",
        "ALTER TABLE t ADD c DATETIME(6) DEFAULT (NOW(6)), ALGORITHM=INSTANT",
        "CREATE INDEX i ON db.t ((CAST(j->'$.a' AS UNSIGNED ARRAY)))",
        "ALTER TABLE t ADD c INT AS (a) STORED, PARTITION BY RANGE (YEAR(d)) PARTITIONS 2 (PARTITION p VALUES LESS THAN (1), PARTITION q VALUES LESS THAN (2))",
        "ALTER TABLE week ADD c INT DEFAULT (a + 1)", "ALTER TABLE t ADD c TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE NOW()",
        "CREATE TABLE t (d DATE, w INT AS (a / 3))", "DROP TABLE t", "ALTER VIEW v AS SELECT week(now(), 1)",
        "ALTER TABLE t ADD KEY (a), ADD w INT",
        "ALTER TABLE `t` ADD d INT DEFAULT (a + 1), ADD CONSTRAINT `c` UNIQUE KEY `k` (`a`), ADD FOREIGN KEY `x` (a) REFERENCES `d`.`p` (id)"})
    void what_depends_on_rows_and_recorded_settings_is(String sql) {
        assertNull(of(sql, 0).doubt());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', value = {
        "ALTER TABLE t ADD id INT AUTO_INCREMENT PRIMARY KEY|t", "alter table t modify id int auto_increment, add key(id)|t",
        "ALTER TABLE `a.b``c` . `t 1` ADD id SERIAL|`a.b``c` . `t 1`", "ALTER TABLE /* x */ app.t CHANGE a id INT AUTO_INCREMENT|app.t",
        "ALTER TABLE t AUTO_INCREMENT = 7, ADD n INT AUTO_INCREMENT UNIQUE|t", "ALTER TABLE t AUTO_INCREMENT = 5|~~",
        "ALTER TABLE t AUTO_INCREMENT 5, ADD c INT|~~", "ALTER TABLE t ADD c VARCHAR(9) DEFAULT 'AUTO_INCREMENT'|~~",
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)|~~"})
    void a_statement_that_numbers_rows_names_their_table(String sql, String table) {
        assertEquals(ByteString.copyFromUtf8(table), of(sql, 0).numbered());
    }

    @Test
    void the_name_is_as_the_session_quotes_it() {
        assertEquals(ByteString.copyFromUtf8("\"t;x\""), of("ALTER TABLE \"t;x\" ADD id SERIAL", ANSI_QUOTES).numbered());
    }
}
