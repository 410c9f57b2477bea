package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What capture demands before it writes into the log, with a real master and broker. */
@Timeout(300)
class CaptureStartIT {
    private static TestMysql master;
    private final TestKafka kafka = new TestKafka(TestKafka.broker());

    @BeforeAll
    static void start() {
        master = TestMysql.master("start-master");
    }

    private static String holder() throws Exception {
        List<List<String>> found = master.rows("SELECT PROCESSLIST_ID FROM performance_schema.metadata_locks"
                + " JOIN performance_schema.threads ON THREAD_ID = OWNER_THREAD_ID"
                + " WHERE OBJECT_TYPE = 'USER LEVEL LOCK' AND LOCK_STATUS = 'GRANTED'");
        return found.isEmpty() ? "" : found.get(0).get(0);
    }

    @Test
    void aSecondCaptureWaitsForTheFirstInsteadOfReplacingIt() throws Exception {
        try (CdcProcess first = CdcProcess.capture(kafka, master)) {
            Docker.await("the first is ready", 120, () -> first.get("/ready").startsWith("200"));
            try (CdcProcess second = CdcProcess.capture(kafka, master)) {
                Docker.await("the second waits", 60, () -> second.get("/ready").contains("another capture writes this log"));
                assertTrue(first.get("/ready").startsWith("200"));
                String held = holder();
                master.run("KILL " + held);
                Docker.await("one of both writes again", 60, () -> !holder().isEmpty() && !holder().equals(held)
                        && (first.get("/ready").startsWith("200") != second.get("/ready").startsWith("200")));
                first.close();
                Docker.await("the second takes over", 60, () -> second.get("/ready").startsWith("200"));
            }
        }
    }

    /** Neither the name that it once had, nor the one that an account may have seen. */
    @Test
    void aLockThatAnotherAccountHoldsKeepsNoCaptureAway() throws Exception {
        master.run("CREATE USER guest@'%' IDENTIFIED BY 'guest'");
        try (CdcProcess first = CdcProcess.capture(kafka, master)) {
            Docker.await("capture is ready", 120, () -> first.get("/ready").startsWith("200"));
            String name = master.text("SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_TYPE = 'USER LEVEL LOCK'");
            try (var guest = master.connect("guest", "guest"); var statement = guest.createStatement()) {
                statement.execute("DO GET_LOCK('multimed:" + kafka.topic() + "', 0)");
                first.close();
                statement.execute("DO GET_LOCK('" + name + "', 60)");
                try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
                    Docker.await("it is ready all the same", 60, () -> capture.get("/ready").startsWith("200"));
                    assertTrue(capture.log().contains("another account holds capture's lock"), capture.log());
                }
            }
        } finally {
            master.run("DROP USER guest@'%'");
        }
    }

    /** Such a master loses acknowledged commits in a power cut, and the satellites would still have them. */
    @ParameterizedTest
    @CsvSource({"sync_binlog, 0", "innodb_flush_log_at_trx_commit, 2"})
    void captureEndsOnAMasterThatMayLoseAcknowledgedCommits(String variable, String value) throws Exception {
        master.run("SET GLOBAL " + variable + " = " + value);
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            assertEquals(70, capture.exitStatus());
            String reason = "capture ends reason=\"the master runs with " + variable + "=" + value + ", needed is 1\"";
            assertTrue(capture.log().contains(reason), capture.log());
        } finally {
            master.run("SET GLOBAL " + variable + " = 1");
        }
    }

    @ParameterizedTest
    @CsvSource({"sync_binlog, 0, 1", "innodb_flush_log_at_trx_commit, 2, 1", "binlog_row_image, MINIMAL, FULL",
        "binlog_error_action, IGNORE_ERROR, ABORT_SERVER",
        "gtid_mode, ON_PERMISSIVE, ON"})
    void aSettingThatIsChangedWhileCaptureRunsIsNoticedWithinSeconds(String variable, String value, String needed) throws Exception {
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            Docker.await("capture is ready", 120, () -> capture.get("/ready").startsWith("200"));
            long changedAt = System.nanoTime();
            master.run("SET GLOBAL " + variable + " = " + value);
            assertEquals(70, capture.exitStatus());
            assertTrue(System.nanoTime() - changedAt < 10_000_000_000L);
            assertTrue(capture.log().contains("the master runs with " + variable + "=" + value), capture.log());
        } finally {
            master.run("SET GLOBAL " + variable + " = " + needed);
        }
    }
}
