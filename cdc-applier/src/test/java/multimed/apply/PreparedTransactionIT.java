package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** XA transactions that are prepared before capture is restarted, and decided after it; with a real master, satellite and broker. */
@Timeout(300)
class PreparedTransactionIT {
    private static final String REBUILT = "multimed_capture_rebuild_total";
    private final TestMysql master = TestMysql.master("xa-master");
    private final TestMysql satellite = TestMysql.satellite("xa-satellite");
    private final TestKafka kafka = new TestKafka(TestKafka.broker());

    private static void awaitReady(CdcProcess capture) {
        Docker.await("capture is ready", 120, () -> capture.get("/ready").startsWith("200"));
    }

    private String executed() throws Exception {
        return master.text("SELECT REPLACE(@@global.gtid_executed, '\n', '')");
    }

    private void prepare(String xid, String change) {
        master.run("XA START '" + xid + "'", change, "XA END '" + xid + "'", "XA PREPARE '" + xid + "'");
    }

    private void awaitSatellite() throws Exception {
        String all = executed();
        Docker.await("the satellite has " + all, 60, () -> satellite.has(all));
    }

    private static long rebuilds(CdcProcess capture) throws Exception {
        return capture.get("/metrics").lines().filter(l -> l.startsWith(REBUILT + " ") || l.startsWith(REBUILT + "{"))
                .mapToLong(l -> (long) Double.parseDouble(l.substring(l.lastIndexOf(' ') + 1))).sum();
    }

    @Test
    void xaTransactionsPreparedBeforeARestartOfCaptureReachSatellitesWithoutAClone() throws Exception {
        master.run("CREATE DATABASE app");
        satellite.run("CREATE DATABASE app", "RESET BINARY LOGS AND GTIDS", "SET GLOBAL gtid_purged = '" + executed() + "'");
        try (CdcProcess applier = CdcProcess.applier(kafka, satellite, Map.of())) {
            try (CdcProcess first = CdcProcess.capture(kafka, master)) {
                awaitReady(first);
                master.run("CREATE TABLE app.t (id INT PRIMARY KEY, v LONGTEXT)");
                prepare("older file", "INSERT INTO app.t VALUES (1, 'a')");
                master.run("FLUSH BINARY LOGS");
                prepare("large", "INSERT INTO app.t WITH RECURSIVE s (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM s WHERE i < 105)"
                        + " SELECT i, REPEAT('x', 1000000) FROM s");
                prepare("gone", "INSERT INTO app.t VALUES (2, 'gone')");
                prepare("held", "INSERT INTO app.t VALUES (4, 'd')");
                master.run("XA COMMIT 'held'");
                awaitSatellite();
                assertEquals(0, rebuilds(first));
                assertFalse(first.log().contains("read from the binlog again"));
            }
            try (CdcProcess second = CdcProcess.capture(kafka, master)) {
                awaitReady(second);
                master.run("XA COMMIT 'large'", "XA ROLLBACK 'gone'", "INSERT INTO app.t VALUES (3, 'b')", "XA COMMIT 'older file'");
                master.run("XA START 'one'",
                        "INSERT INTO app.t WITH RECURSIVE s (i) AS (SELECT 200 UNION ALL SELECT i + 1 FROM s WHERE i < 205)"
                                + " SELECT i, REPEAT('y', 1000000) FROM s",
                        "XA END 'one'", "XA COMMIT 'one' ONE PHASE");
                awaitSatellite();
                String rows = "SELECT id, CRC32(v), LENGTH(v) FROM app.t ORDER BY id";
                assertEquals(15, master.rows(rows).size());
                assertEquals(master.rows(rows), satellite.rows(rows));
                assertEquals(0, rebuilds(second));
                prepare("purged", "INSERT INTO app.t VALUES (5, 'c')");
                awaitSatellite();
            }
            master.run("FLUSH BINARY LOGS");
            List<List<String>> files = master.rows("SHOW BINARY LOGS");
            try (CdcProcess third = CdcProcess.capture(kafka, master)) {
                awaitReady(third);
                master.run("PURGE BINARY LOGS TO '" + files.get(files.size() - 1).get(0) + "'", "XA COMMIT 'purged'");
                Docker.await("a rebuild that says why", 60, () -> rebuilds(third) == 1);
                assertTrue(third.log().contains("its XA PREPARE is not in the master's binlog any more"));
            }
        }
    }
}
