package multimed.apply.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import multimed.log.LogBrokenException;
import multimed.log.proto.Statement;
import org.junit.jupiter.api.Test;

class SessionSettingsTest {
    private static Statement statement(String name, String value) {
        return Statement.newBuilder().putSession(name, value).build();
    }

    @Test
    void numbersStandBareAndNamesQuoted() {
        Statement s = Statement.newBuilder().putSession("sql_mode", "1168113696").putSession("time_zone", "+02:00")
                .putSession("collation_server", "utf8mb4_bin").setTimestampUs(1_700_000_000_000_012L).build();
        assertEquals(
                "SET timestamp=1700000000.000012,collation_server=_utf8mb4'utf8mb4_bin',sql_mode=1168113696,time_zone=_utf8mb4'+02:00'",
                SessionSettings.enter(s));
    }

    @Test
    void aValueCannotBecomeSql() {
        assertEquals("SET timestamp=DEFAULT,time_zone=_utf8mb4'a'',sql_log_bin=0'",
                SessionSettings.enter(statement("time_zone", "a',sql_log_bin=0")));
        assertThrows(LogBrokenException.class, () -> SessionSettings.enter(statement("time_zone", "a\\")));
        assertThrows(LogBrokenException.class, () -> SessionSettings.enter(statement("sql_mode=0,time_zone", "a")));
        assertThrows(LogBrokenException.class, () -> SessionSettings.enter(statement("GLOBAL read_only", "0")));
    }

    @Test
    void whatTheApplierOwnsCannotBeSet() {
        for (String name : new String[] {"gtid_next", "sql_log_bin", "autocommit", "read_only", "pseudo_replica_mode"}) {
            assertThrows(LogBrokenException.class, () -> SessionSettings.enter(statement(name, "1")), name);
        }
    }

    @Test
    void leavingUndoesWhatEnteringDid() {
        String sql = SessionSettings.leave(Map.of("collation_server", "x", "sql_mode", "0", "foreign_key_checks", "1"), true);
        assertTrue(sql.contains("collation_server=DEFAULT"));
        assertTrue(sql.contains("NO_BACKSLASH_ESCAPES"));
        assertTrue(sql.contains("foreign_key_checks=0"));
        assertFalse(sql.contains("sql_mode=DEFAULT"));
    }

    /** Under utf16 a literal without its character set is no time zone, and no sql_mode. */
    @Test
    void whatIsSetWithinARecordsSettingsNamesTheCharacterSetOfEachLiteral() {
        Map<String, String> utf16 = Map.of("collation_connection", "utf16_general_ci", "time_zone", "+02:00");
        for (String sql : List.of(SessionSettings.set(utf16), SessionSettings.leave(utf16, true))) {
            assertFalse(sql.replaceAll("_utf8mb4'[^']*'", "").contains("'"), sql);
        }
    }

    @Test
    void cascadesRunOnTheSatelliteOnlyWhereTheyAreNotLogged() {
        assertTrue(SessionSettings.baseline(false, true).contains("foreign_key_checks=1"));
        assertTrue(SessionSettings.baseline(true, true).contains("foreign_key_checks=0"));
    }
}
