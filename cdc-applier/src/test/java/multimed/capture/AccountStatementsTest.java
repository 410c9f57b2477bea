package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsStatement;
import multimed.log.proto.Statement;
import multimed.master.Collations;
import multimed.master.Collations.Collation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of statements about accounts, with their settings. */
class AccountStatementsTest {
    private static final int UTF8 = 255;
    private static final int LATIN1 = 8;
    private static final int GBK = 28;
    private static final Collations COLLATIONS = new Collations(Map.of(UTF8, new Collation("utf8mb4_0900_ai_ci", "utf8mb4"),
            LATIN1, new Collation("latin1_swedish_ci", "latin1"), GBK, new Collation("gbk_chinese_ci", "gbk")));

    private static Verdict verdict(TestQuery query, String sql, String javaCharset) {
        return new Statements(COLLATIONS, "UTC").verdict(query.of(sql, javaCharset));
    }

    private static Statement statement(TestQuery query, String sql, String javaCharset) {
        return assertInstanceOf(AsStatement.class, verdict(query, sql, javaCharset)).statement();
    }

    private static TestQuery by(String user, String host) {
        return new TestQuery().charset(UTF8, UTF8).invoker(user, host);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "DROP USER CURRENT_USER() | DROP USER 'ann'@'10.%'",
        "drop user if exists current_user, b | drop user if exists 'ann'@'10.%', b",
        "RENAME USER CURRENT_USER ( ) TO bob | RENAME USER 'ann'@'10.%' TO bob",
        "GRANT r TO CURRENT_USER | GRANT r TO 'ann'@'10.%'",
        "GRANT r TO `CURRENT_USER`@current_user, CURRENT_USER() WITH ADMIN OPTION | GRANT r TO `CURRENT_USER`@current_user, 'ann'@'10.%' WITH ADMIN OPTION",
        "REVOKE ALL, GRANT OPTION FROM CURRENT_USER() /* CURRENT_USER */ | REVOKE ALL, GRANT OPTION FROM 'ann'@'10.%' /* CURRENT_USER */",
        "REVOKE PROXY ON CURRENT_USER FROM CURRENT_USER | REVOKE PROXY ON 'ann'@'10.%' FROM 'ann'@'10.%'",
        "SET DEFAULT ROLE ALL TO CURRENT_USER() | SET DEFAULT ROLE ALL TO 'ann'@'10.%'",
        "ALTER USER CURRENT_USER() DEFAULT ROLE NONE | ALTER USER 'ann'@'10.%' DEFAULT ROLE NONE"})
    void current_user_of_an_account_statement_is_the_client_and_not_the_applier(String sql, String named) {
        assertEquals(named, statement(by("ann", "10.%"), sql, "UTF-8").getSql().toStringUtf8());
    }

    @Test
    void what_is_white_space_in_the_clients_character_set_hides_no_current_user() {
        TestQuery latin1 = new TestQuery().charset(LATIN1, LATIN1).invoker("ann", "%");
        assertEquals("DROP USER 'ann'@'%'\u00a0", new String(
                statement(latin1, "DROP USER CURRENT_USER\u00a0", "ISO-8859-1").getSql().toByteArray(), StandardCharsets.ISO_8859_1));
        assertEquals("DROP USER --\u007f'\n 'ann'@'%' --\u007f'",
                statement(by("ann", "%"), "DROP USER --\u007f'\n CURRENT_USER() --\u007f'", "UTF-8").getSql().toStringUtf8());
    }

    @Test
    void what_a_view_or_routine_says_of_current_user_is_its_own() {
        for (String sql : List.of("CREATE DEFINER=`a`@`%` FUNCTION `who`() RETURNS text RETURN CURRENT_USER()",
                "CREATE ALGORITHM=UNDEFINED DEFINER=\"a\"@\"%\" SQL SECURITY DEFINER VIEW `v` AS SELECT CURRENT_USER() AS `u`")) {
            assertEquals(sql, statement(by("ann", "%"), sql, "UTF-8").getSql().toStringUtf8());
        }
        for (String sql : List.of("CREATE FUNCTION f() RETURNS TEXT RETURN 'DEFINER=`a`@`%`'",
                "CREATE DEFINER=CURRENT_USER() VIEW v AS SELECT 1", "CREATE VIEW v AS SELECT 'CREATE DEFINER=`a`@`%`'")) {
            assertInstanceOf(AsRebuild.class, verdict(by("ann", "%"), sql, "UTF-8"));
        }
    }

    @Test
    void a_clients_name_is_no_sql() {
        assertEquals("DROP USER 'o''brien'@'%'",
                statement(by("o'brien", "%"), "DROP USER CURRENT_USER()", "UTF-8").getSql().toStringUtf8());
        assertEquals("DROP USER ''@'é'", statement(by("", "é"), "DROP USER CURRENT_USER()", "UTF-8").getSql().toStringUtf8());
        assertInstanceOf(AsRebuild.class, verdict(by("a\\", "%"), "DROP USER CURRENT_USER()", "UTF-8"));
        assertInstanceOf(AsRebuild.class,
                verdict(new TestQuery().charset(LATIN1, LATIN1).invoker("é", "%"), "DROP USER CURRENT_USER()", "UTF-8"));
    }

    @Test
    void without_the_client_it_is_not_guessed_who_it_was() {
        assertInstanceOf(AsRebuild.class, verdict(new TestQuery().charset(UTF8, UTF8), "DROP USER CURRENT_USER()", "UTF-8"));
        assertInstanceOf(AsRebuild.class, verdict(by("a", "%"), "DROP USER /*!99999 x, */ CURRENT_USER()", "UTF-8"));
    }

    @Test
    void what_a_definition_says_of_the_current_user_stays() {
        String sql = "CREATE TABLE t (a INT, b VARCHAR(99) DEFAULT (CURRENT_USER()))";
        assertEquals(sql, statement(by("ann", "%"), sql, "UTF-8").getSql().toStringUtf8());
    }

    @Test
    void an_account_of_a_latin1_client_is_read_in_utf8() {
        Statement statement = statement(new TestQuery().charset(LATIN1, LATIN1),
                "CREATE USER 'é'@'%' IDENTIFIED WITH 'caching_sha2_password'", "UTF-8");
        assertEquals("utf8mb4", statement.getSessionOrThrow("character_set_client"));
        assertEquals("latin1_swedish_ci", statement.getSessionOrThrow("collation_connection"));
        String dropping = "DROP USER 'é'";
        statement = statement(new TestQuery().charset(LATIN1, LATIN1), dropping, "windows-1252");
        assertEquals("latin1", statement.getSessionOrThrow("character_set_client"));
        assertEquals(dropping, statement.getSql().toString(Charset.forName("windows-1252")));
    }

    @Test
    void a_temporary_table_copied_by_a_gbk_client_injects_nothing() {
        String shown = "CREATE TABLE IF NOT EXISTS `x` (\n  `a` int DEFAULT NULL COMMENT '日\\\\',\n"
                + "  `b` int DEFAULT NULL COMMENT ');set gtid_next=\"automatic\";create database other;-- '\n) ENGINE=InnoDB";
        Verdict verdict = verdict(new TestQuery().charset(GBK, GBK), shown, "UTF-8");
        assertTrue(assertInstanceOf(AsRebuild.class, verdict).reason().startsWith("text in character set gbk"), verdict.toString());
    }
}
