package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two captures for one log, with a real master and broker. */
@Timeout(300)
class WriterLockIT {
    private static String holder(TestMysql master) throws Exception {
        List<List<String>> found = master.rows("SELECT PROCESSLIST_ID FROM performance_schema.metadata_locks"
                + " JOIN performance_schema.threads ON THREAD_ID = OWNER_THREAD_ID"
                + " WHERE OBJECT_TYPE = 'USER LEVEL LOCK' AND LOCK_STATUS = 'GRANTED'");
        return found.isEmpty() ? "" : found.get(0).get(0);
    }

    @Test
    void aSecondCaptureWaitsForTheFirstInsteadOfReplacingIt() throws Exception {
        TestMysql master = TestMysql.master("lock-master");
        TestKafka kafka = new TestKafka(TestKafka.broker());
        try (CdcProcess first = CdcProcess.capture(kafka, master)) {
            Docker.await("the first is ready", 120, () -> first.get("/ready").startsWith("200"));
            try (CdcProcess second = CdcProcess.capture(kafka, master)) {
                Docker.await("the second waits", 60, () -> second.get("/ready").contains("another capture writes this log"));
                assertTrue(first.get("/ready").startsWith("200"));
                String held = holder(master);
                master.run("KILL " + held);
                Docker.await("one of both writes again", 60, () -> !holder(master).isEmpty() && !holder(master).equals(held)
                        && (first.get("/ready").startsWith("200") != second.get("/ready").startsWith("200")));
                first.close();
                Docker.await("the second takes over", 60, () -> second.get("/ready").startsWith("200"));
            }
        }
    }
}
