package multimed.capture;

import static multimed.capture.TestQuery.ANSI_QUOTES;
import static multimed.capture.TestQuery.NO_BACKSLASH_ESCAPES;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsStatement;
import multimed.master.Collations;
import multimed.master.Collations.Collation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The server reads a text at PREPARE, and logs it with the settings of EXECUTE. Bytes from 0x80 on stand as characters of Latin-1 where a text is not
 * in UTF-8.
 */
class AmbiguousStatementsTest {
    private static final int LATIN1 = 8;
    private static final int GBK = 28;
    private static final int SJIS = 13;
    private static final int UTF8 = 255;
    private static final int SWE7 = 10;
    private static final Collations COLLATIONS = new Collations(Map.of(UTF8, new Collation("utf8mb4_0900_ai_ci", "utf8mb4"),
            LATIN1, new Collation("latin1_swedish_ci", "latin1"), GBK, new Collation("gbk_chinese_ci", "gbk"),
            SJIS, new Collation("sjis_japanese_ci", "sjis"), SWE7, new Collation("swe7_swedish_ci", "swe7")));
    private static final List<Integer> MODES = List.of(0, ANSI_QUOTES, NO_BACKSLASH_ESCAPES);

    private static Verdict verdict(int charset, int mode, byte[] sql) {
        return new Statements(COLLATIONS, "UTC").verdict(new TestQuery().mode(mode).charset(charset, charset).of(sql));
    }

    private static void assertAmbiguous(int charset, int mode, byte[] sql) {
        AsRebuild rebuild = assertInstanceOf(AsRebuild.class, verdict(charset, mode, sql));
        assertTrue(rebuild.reason().startsWith("text that another character set or sql_mode reads otherwise: "), rebuild.reason());
    }

    private static void assertStatement(int charset, int mode, byte[] sql) {
        Verdict verdict = verdict(charset, mode, sql);
        assertInstanceOf(AsStatement.class, verdict, verdict.toString());
    }

    private static byte[] bytes(String latin1) {
        return latin1.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static byte[] utf8(String sql) {
        return sql.getBytes(StandardCharsets.UTF_8);
    }

    /** {@code «} is a first byte, chosen by the character set at PREPARE. */
    @ParameterizedTest
    @ValueSource(strings = {
        "RENAME TABLE `«` TO a, zb_secret.t TO own.loot #z` TO b", "RENAME TABLE `«` TO a, zb_secret.t TO own.loot -- z` TO b",
        "RENAME TABLE `«` TO a, zb_secret.t TO own.loot /*z` TO b/**/",
        "DROP TABLE `«`, zb_secret.t #`", "DROP USER `«`, zb #`", "GRANT `«`, admin TO own #` TO own",
        "GRANT `«` ON *.* TO own #` TO own", "ALTER USER u IDENTIFIED BY 'x' COMMENT '«\\' DEFAULT ROLE r #'",
        "ALTER TABLE own.t COMMENT '«\\', RENAME zb_secret.t #'",
        "ALTER TABLE own.t COMMENT '«\\', RENAME zb_secret.t, COMMENT 'x' #'",
        "CREATE VIEW `v` AS SELECT '«\\' AS a FROM zb_secret.t #'",
        "CREATE DEFINER=`u`@`%` PROCEDURE `p`()\nSELECT '«\\' FROM zb_secret.t #'"})
    void a_name_that_ends_later_in_the_character_set_of_prepare_is_no_statement(String sql) {
        // One that gbk, sjis and gb18030 have, and one that big5 has.
        for (String first : List.of("\u0081", "\u00e5", "\u00bf")) {
            byte[] text = bytes(sql.replace("«", first));
            for (int mode : MODES) {
                assertInstanceOf(AsRebuild.class, verdict(LATIN1, mode, text), mode + sql);
                assertInstanceOf(AsRebuild.class, verdict(GBK, mode, text), mode + sql);
            }
        }
    }

    @Test
    void the_reason_names_the_other_reading() {
        assertAmbiguous(LATIN1, 0, bytes("RENAME TABLE `\u00bf` TO a, zb_secret.t TO own.loot #z` TO b"));
        assertAmbiguous(GBK, 0, bytes("RENAME TABLE `\u00bf` TO a, zb_secret.t TO own.loot #z` TO b"));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "ALTER TABLE own.t COMMENT 'a\\', RENAME zb_secret.t #'", "ALTER TABLE own.t COMMENT 'a\\', RENAME zb_secret.t -- '",
        "ALTER TABLE own.t COMMENT \"a\\\", RENAME zb_secret.t #\"", "CREATE VIEW `v` AS SELECT 'a\\' AS a FROM zb_secret.t #'",
        "ALTER TABLE own.t ADD `x` INT DEFAULT 1 COMMENT '\\' /*', ADD y INT COMMENT '*/, RENAME zb_secret.t /*' /* */"})
    void a_string_that_ends_elsewhere_under_the_sql_mode_of_prepare_is_no_statement(String sql) {
        for (int mode : MODES) {
            assertAmbiguous(UTF8, mode, utf8(sql));
        }
    }

    @Test
    void in_double_quotes_a_backslash_escapes_nothing_with_ansi_quotes() {
        byte[] sql = utf8("RENAME TABLE \"a\\\" TO b, zb_secret.t TO own.loot #\" TO b");
        for (int mode : MODES) {
            assertAmbiguous(UTF8, mode, sql);
        }
    }

    @Test
    void a_backslash_is_a_letter_of_swe7() {
        String sql = "ALTER TABLE own.t COMMENT 'a\\', RENAME zb_secret.t, COMMENT ', ADD b\\ INT COMMENT 'c\\''";
        assertAmbiguous(UTF8, NO_BACKSLASH_ESCAPES, utf8(sql));
    }

    @Test
    void dashes_before_what_is_white_space_elsewhere_begin_no_comment_here() {
        assertAmbiguous(UTF8, 0, bytes("ALTER TABLE own.t ADD x INT AS (1 --\u00a01), RENAME zb_secret.t, ADD y INT AS (2\n)"));
        assertStatement(UTF8, 0, utf8("ALTER TABLE own.t ADD x INT -- \u00a0, RENAME other\n"));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "CREATE TABLE `é` (a INT COMMENT 'größe')", "CREATE TABLE é (à INT, ü INT)", "RENAME TABLE `é` TO `ü`",
        "RENAME TABLE é TO à, `à` TO `é`",
        "CREATE TABLE `表` (`列` INT COMMENT '编号', `值` INT COMMENT '名')", "CREATE TABLE `订单` (`编号` INT PRIMARY KEY COMMENT '编号', `名称` INT)",
        "CREATE TABLE 表 (列 INT, 安 INT)", "ALTER TABLE `表` ADD COLUMN `列` INT COMMENT '名'", "DROP TABLE `é`, `ü`, à",
        "DROP TABLE `é`, `ü`, `a`",
        "ALTER TABLE `表` RENAME COLUMN `列` TO `值`", "ALTER TABLE `t` CHANGE `a` `b` INT COMMENT 'größe'",
        "CREATE TABLE t (a INT COMMENT 'it\\'s')", "CREATE TABLE t (a INT COMMENT 'it\\'s', b INT COMMENT 'it\\'s')",
        "CREATE TABLE t (a INT COMMENT 'é\\'s', b INT COMMENT 'ü\\'s')",
        "CREATE TABLE t (a VARCHAR(9) DEFAULT 'a\\nb\\\\' COMMENT \"it's\")",
        "CREATE TABLE t (a INT) COMMENT='C:\\\\dir\\\\'", "RENAME USER 'o\\'b'@'10.%' TO 'o\\'b'@'%'", "DROP USER 'o\\'b', \"x\\\"y\"",
        "CREATE VIEW `v` AS SELECT `é`, `ü` FROM t", "CREATE VIEW `v` AS SELECT `表` FROM t", "CREATE VIEW `é` AS SELECT `ü` FROM `表x`",
        "CREATE VIEW `v` AS SELECT 'it\\'s', 'it\\'s', 'größe'",
        "CREATE DEFINER=`u`@`%` PROCEDURE `é`(`ü` INT)\nBEGIN SELECT 'it\\'s'; END",
        "CREATE DEFINER=`u`@`%` FUNCTION `f`(`表` INT) RETURNS int\nRETURN CONCAT('ü', `表`)",
        "GRANT `é` TO `ü`", "GRANT `表` TO `列`", "GRANT SELECT ON `表`.* TO `列`@`%`", "RENAME TABLE `表` TO `列`",
        "DROP TABLE `表`, other.t, `列`",
        "ALTER USER `é` DEFAULT ROLE ALL", "CREATE ROLE `é`, `ü`",
        "CREATE USER 'é'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '$A$005$a\\'b\\\\c\\'d'"})
    void ordinary_texts_stay_statements(String sql) {
        assertStatement(UTF8, 0, utf8(sql));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "CREATE TABLE `表能ソ` (`表能ソ1` INT PRIMARY KEY COMMENT '表能ソ', v VARCHAR(50) DEFAULT '表能ソ') COMMENT='表能ソ'",
        "ALTER TABLE `表能ソ` ADD COLUMN `表能ソ2` VARCHAR(20) DEFAULT '表能ソ', ADD INDEX `表能ソi` (v)", "RENAME TABLE `ソ` TO `表`",
        "CREATE TABLE t (a INT COMMENT '表', b INT COMMENT 'ソ')", "CREATE DEFINER=`u`@`%` PROCEDURE `p`()\nSELECT '表'"})
    void a_second_byte_that_looks_like_a_backslash_makes_no_other_statement(String sql) {
        assertStatement(SJIS, 0, sql.getBytes(Charset.forName("windows-31j")));
    }

    @Test
    void backslashes_of_a_client_without_escapes_stay_statements() {
        for (String sql : List.of("CREATE TABLE y (a INT COMMENT 'a\\b')", "DROP USER 'ex_\\'",
                "CREATE TABLE \"q`\" (a INT COMMENT 'a\\')")) {
            assertStatement(UTF8, NO_BACKSLASH_ESCAPES | ANSI_QUOTES, utf8(sql));
        }
    }

    /** In gbk the last byte of an odd number of Chinese characters takes the quote behind it: a name, and an alias. */
    @Test
    void what_reads_as_another_query_in_gbk_is_ambiguous() {
        assertAmbiguous(UTF8, 0, utf8("CREATE VIEW `v` AS SELECT `表`, `列` FROM t"));
        assertAmbiguous(UTF8, 0, utf8("CREATE DEFINER=`u`@`%` PROCEDURE `p`(`ü` INT)\nDO `表`, `列`"));
        assertAmbiguous(UTF8, 0, utf8("ALTER TABLE t CHANGE `表` `列` INT"));
    }
}
