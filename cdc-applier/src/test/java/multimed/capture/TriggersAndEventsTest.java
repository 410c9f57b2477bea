package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.Map;
import multimed.capture.Verdict.AsEmpty;
import multimed.capture.Verdict.AsStatement;
import multimed.master.Collations;
import multimed.master.Collations.Collation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Satellites have neither, so nothing about them can make satellites clone. */
class TriggersAndEventsTest {
    private static final int UTF8 = 255;
    private static final int LATIN1 = 8;
    private static final int UNKNOWN = 999;
    private static final Collations COLLATIONS = new Collations(
            Map.of(UTF8, new Collation("utf8mb4_0900_ai_ci", "utf8mb4"), LATIN1, new Collation("latin1_swedish_ci", "latin1")));

    private static Verdict verdict(TestQuery query, String sql, String javaCharset) {
        return new Statements(COLLATIONS, "CET").verdict(query.of(sql, javaCharset));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "CREATE DEFINER=`é`@`%` TRIGGER `é` BEFORE INSERT ON é FOR EACH ROW SET NEW.a = 'é'",
        "CREATE DEFINER=`r`@`%` TRIGGER t BEFORE INSERT ON x FOR EACH ROW BEGIN /* the VIEW's PROCEDURE */ SET NEW.who = CURRENT_USER(); END",
        "CREATE DEFINER=`r`@`%` EVENT e ON SCHEDULE EVERY 1 DAY COMMENT 'é\\\\' DO SELECT 'é', 1/3",
        "ALTER DEFINER=`r`@`%` EVENT e COMMENT 'é'",
        "DROP EVENT é", "DROP TRIGGER IF EXISTS é"})
    void makeNobodyCloneWhateverTheirTextIs(String sql) {
        assertInstanceOf(AsEmpty.class, verdict(new TestQuery().charset(LATIN1, LATIN1), sql, "windows-1252"));
        assertInstanceOf(AsEmpty.class, verdict(new TestQuery().charset(LATIN1, LATIN1), sql, "UTF-8"));
        assertInstanceOf(AsEmpty.class, verdict(new TestQuery().charset(UNKNOWN, UTF8), sql, "UTF-8"));
        assertInstanceOf(AsEmpty.class, verdict(new TestQuery().charset(UTF8, UTF8).timeZone("SYSTEM").invoker("ann", "%"), sql, "UTF-8"));
        assertInstanceOf(AsEmpty.class,
                verdict(new TestQuery().mode(TestQuery.NO_BACKSLASH_ESCAPES).charset(LATIN1, LATIN1), sql, "windows-1252"));
    }

    /** Names have no escapes in double quotes. */
    @Test
    void anAccountsNameMakesNoTriggerOfAView() {
        TestQuery query = new TestQuery().mode(TestQuery.ANSI_QUOTES).charset(UTF8, UTF8);
        assertInstanceOf(AsStatement.class, verdict(query, "CREATE DEFINER=\"a\\\"@\"TRIGGER\" VIEW \"v\" AS SELECT 1", "UTF-8"));
    }

    /** To some servers it is a table. */
    @Test
    void whatIsOneToSomeServersOnlyIsLeftToTheSatellite() {
        TestQuery query = new TestQuery().charset(UTF8, UTF8);
        assertInstanceOf(AsStatement.class, verdict(query, "DROP /*!90000 TABLE IF EXISTS t -- */ TRIGGER t", "UTF-8"));
    }
}
