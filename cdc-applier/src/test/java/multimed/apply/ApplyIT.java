package multimed.apply;

import static multimed.log.TestRecords.column;
import static multimed.log.TestRecords.delete;
import static multimed.log.TestRecords.empty;
import static multimed.log.TestRecords.epochStart;
import static multimed.log.TestRecords.gtid;
import static multimed.log.TestRecords.insert;
import static multimed.log.TestRecords.key;
import static multimed.log.TestRecords.rebuild;
import static multimed.log.TestRecords.rows;
import static multimed.log.TestRecords.signed;
import static multimed.log.TestRecords.statement;
import static multimed.log.TestRecords.update;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Random;
import multimed.log.TestRecords;
import multimed.log.proto.ColumnType;
import multimed.log.proto.LogRecord;
import multimed.log.proto.Table;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The applier as a process, against a real broker and a real satellite: what it must survive, and what it must notice. */
@Timeout(900)
class ApplyIT {
    private static final Table COUNTER = TestRecords.table("app", "counter", key("id", ColumnType.SIGNED), column("n", ColumnType.SIGNED));
    private static final Table JOURNAL = TestRecords.table("app", "journal", key("id", ColumnType.SIGNED));
    /** Not a measure of anything: a machine that runs other tests too can be very slow. */
    private static final int PATIENCE_S = 120;
    private static String broker;

    private static TestMysql satellite;

    private TestKafka kafka;

    @BeforeAll
    static void startServers() {
        broker = TestKafka.broker();
        satellite = TestMysql.satellite("satellite");
    }

    @BeforeEach
    void emptySatelliteAndLog() {
        kafka = new TestKafka(broker);
        satellite.reset();
        kafka.append(epochStart(1, ""));
        kafka.append(statement(1, "app", "CREATE DATABASE app"));
        kafka.append(statement(2, "app", "CREATE TABLE counter (id INT PRIMARY KEY, n BIGINT)"));
        kafka.append(statement(3, "", "CREATE TABLE app.journal (id INT PRIMARY KEY)"));
        kafka.append(rows(4, COUNTER, insert(signed(1), signed(0)), insert(signed(2), signed(0))));
        kafka.flush();
    }

    /** Transaction n counts from n-5 to n-4 and notes itself in a second table: doing it twice, or half, shows. */
    private void appendCounting(long from, long to) {
        for (long n = from; n <= to; n++) {
            var count = update(List.of(signed(1), signed(n - 5)), List.of(signed(1), signed(n - 4)));
            var note = insert(signed(n)).toBuilder().setTable(1).build();
            kafka.append(TestRecords.transaction(n).setRows(multimed.log.proto.Rows.newBuilder()
                    .addTables(COUNTER).addTables(JOURNAL).addChanges(count).addChanges(note)).build());
        }
        kafka.flush();
    }

    private CdcProcess applier(Map<String, String> settings) throws Exception {
        return CdcProcess.applier(kafka, satellite, settings);
    }

    private void awaitTransaction(long n) {
        Docker.await("transaction " + n, PATIENCE_S, () -> satellite.has(gtid(n)));
    }

    private static String rebuildRequest() {
        return Docker.docker(List.of("exec", satellite.container(), "cat", "/tmp/rebuild"));
    }

    @Test
    void killedAtAnyMomentItContinuesExactlyWhereTheSatelliteIs() throws Exception {
        Random random = new Random(1);
        appendCounting(5, 3000);
        for (int kills = 0; kills < 6; kills++) {
            try (CdcProcess applier = applier(Map.of())) {
                long target = Math.min(2900, 20 + kills * 450L + random.nextInt(300));
                awaitTransaction(target);
                applier.kill();
            }
        }
        try (CdcProcess applier = applier(Map.of())) {
            awaitTransaction(3000);
            assertEquals("2996", satellite.text("SELECT n FROM app.counter WHERE id = 1"));
            assertEquals("2996", satellite.text("SELECT COUNT(*) FROM app.journal"));
            assertEquals(TestRecords.UUID + ":1-3000", satellite.text("SELECT @@global.gtid_executed"));
            Docker.await("ready", PATIENCE_S, () -> applier.get("/ready").startsWith("200"));
            assertTrue(applier.get("/metrics").contains("multimed_applier_commit_to_visible_seconds_count"));
            assertEquals(143, applier.terminate());
        }
    }

    @Test
    void readersNeverSeeATransactionInPartOrOutOfOrder() throws Exception {
        try (CdcProcess applier = applier(Map.of()); Connection reader = satellite.connect()) {
            awaitTransaction(4);
            appendCounting(5, 4000);
            reader.setAutoCommit(false);
            long last = 0;
            while (last < 3996) {
                try (Statement s = reader.createStatement();
                        var r = s.executeQuery(
                                "SELECT n, (SELECT COUNT(*) FROM app.journal), (SELECT MAX(id) FROM app.journal) FROM app.counter WHERE id = 1")) {
                    r.next();
                    assertTrue(r.getLong(1) >= last);
                    last = r.getLong(1);
                    assertEquals(last, r.getLong(2));
                    assertEquals(last == 0 ? 0 : last + 4, r.getLong(3));
                }
                reader.rollback();
            }
        }
    }

    @Test
    void aRowThatIsNotThereIsDivergenceAndTheSatelliteIsAskedToRebuild() throws Exception {
        try (CdcProcess applier = applier(Map.of())) {
            awaitTransaction(4);
            kafka.append(rows(5, COUNTER, insert(signed(7), signed(7)), delete(signed(99), signed(1))));
            kafka.flush();
            Docker.await("word for the supervisor", PATIENCE_S, () -> rebuildRequest().equals(gtid(5)));
            Docker.await("mysqld was shut down", PATIENCE_S, () -> applier.log().contains("out of reach"));
            assertTrue(
                    applier.log().contains(
                            "event=divergence reason=row gtid=" + gtid(5) + " delete table=app.counter key=id=99 expected=1 found=0"),
                    applier.log());
            // mysqld starts again on the same data here, so that all this can come once more.
            Docker.await("not ready", PATIENCE_S, () -> applier.get("/ready").startsWith("503"));
            assertTrue(applier.get("/metrics").lines()
                    .anyMatch(l -> l.matches("multimed_applier_rebuilds_total\\{reason=\"row\"\\} [1-9].*")));
        }
    }

    @Test
    void aRowThatIsAlreadyThereIsDivergence() throws Exception {
        try (CdcProcess applier = applier(Map.of())) {
            awaitTransaction(4);
            kafka.append(rows(5, COUNTER, insert(signed(3), signed(7)), insert(signed(2), signed(7))));
            kafka.flush();
            Docker.await("divergence", PATIENCE_S,
                    () -> applier.log().contains("event=divergence reason=row gtid=" + gtid(5) + " insert table=app.counter key=id=2"));
        }
    }

    @Test
    void aStatementThatFailsIsDivergence() throws Exception {
        try (CdcProcess applier = applier(Map.of())) {
            kafka.append(statement(5, "app", "DROP TABLE nowhere"));
            kafka.flush();
            Docker.await("divergence", PATIENCE_S, () -> applier.log().contains("event=divergence reason=statement gtid=" + gtid(5)));
        }
    }

    @Test
    void aSkippedRowChangeIsNoticedByTheChecks() throws Exception {
        try (CdcProcess applier = applier(Map.of("APPLIER_TEST_SKIP_ROW_EVERY", "2"))) {
            for (int i = 0; i < 20; i++) {
                kafka.append(rows(5 + 2 * i, COUNTER, insert(signed(100 + i), signed(0))));
                kafka.append(rows(6 + 2 * i, COUNTER, delete(signed(100 + i), signed(0))));
            }
            kafka.flush();
            Docker.await("divergence", PATIENCE_S, () -> applier.log().contains("event=divergence reason=row"));
            assertTrue(applier.log().contains("TEST-ONLY-SETTINGS"));
        }
    }

    @Test
    void aLogThatForgotWhatTheSatelliteLacksMeansRebuild() throws Exception {
        appendCounting(5, 20);
        kafka.forgetBefore(10);
        try (CdcProcess applier = applier(Map.of())) {
            Docker.await("divergence", PATIENCE_S, () -> applier.log().contains("event=divergence reason=lacking"));
        }
    }

    @Test
    void aRebuildRecordAsksForADonorThatHasItsTransaction() throws Exception {
        kafka.append(rebuild(5, "a table of another engine"));
        kafka.flush();
        try (CdcProcess applier = applier(Map.of())) {
            Docker.await("divergence", PATIENCE_S, () -> applier.log().contains("event=divergence reason=rebuild_record gtid=" + gtid(5)
                    + " log says: a table of another engine required=" + gtid(5)));
            Docker.await("word for the supervisor", PATIENCE_S, () -> rebuildRequest().equals(gtid(5)));
            // mysqld starts again on the same data here: the second time the file is there already.
            assertFalse(applier.log().split("event=divergence", 3)[1].contains("rebuild-file-failed"), applier.log());
        }
    }

    @Test
    void aLockThatAnotherAccountHoldsKeepsNoApplierAway() throws Exception {
        satellite.run("CREATE USER IF NOT EXISTS guest@'%' IDENTIFIED BY 'guest'");
        try (Connection guest = satellite.connect("guest", "guest"); Statement statement = guest.createStatement()) {
            statement.execute("DO GET_LOCK('multimed_applier', 0)");
            try (CdcProcess applier = CdcProcess.applier(kafka, satellite, Map.of())) {
                Docker.await("all is applied", PATIENCE_S, () -> satellite.has(gtid(4)));
            }
        }
    }

    @Test
    void aSecondApplierWaitsUntilTheFirstIsGone() throws Exception {
        try (CdcProcess first = applier(Map.of())) {
            awaitTransaction(4);
            try (CdcProcess second = applier(Map.of())) {
                Docker.await("second says why it waits", PATIENCE_S,
                        () -> second.get("/ready").contains("another applier owns this satellite"));
                first.kill();
                appendCounting(5, 10);
                Docker.await("second took over", PATIENCE_S, () -> second.get("/ready").startsWith("200") && satellite.has(gtid(10)));
            }
        }
    }

    @Test
    void anIdleReaderInATransactionDoesNotHoldUpAnAlter() throws Exception {
        endsTheReaderInTheWay("", statement(5, "app", "ALTER TABLE counter ADD COLUMN c INT"));
    }

    @Test
    void aReaderThatHasLockedRowsDoesNotHoldUpTheirChange() throws Exception {
        endsTheReaderInTheWay(" FOR SHARE", rows(5, COUNTER, insert(signed(70), signed(1))));
    }

    /** Of two readers that stay in a transaction, the one whose table the change is about. */
    private void endsTheReaderInTheWay(String locking, LogRecord change) throws Exception {
        try (CdcProcess applier = applier(Map.of("APPLIER_DDL_READER_WAIT_MS", "1000"));
                Connection idle = satellite.connect();
                Connection other = satellite.connect()) {
            awaitTransaction(4);
            idle.setAutoCommit(false);
            idle.createStatement().executeQuery("SELECT * FROM app.counter" + locking).close();
            other.setAutoCommit(false);
            other.createStatement().executeQuery("SELECT * FROM app.journal" + locking).close();
            kafka.append(change);
            kafka.flush();
            awaitTransaction(5);
            assertFalse(idle.isValid(2));
            assertTrue(other.isValid(2), "a reader of another table was ended");
            assertTrue(applier.log().contains("event=reader-ended"));
        }
    }

    @Test
    void unfinishedChunksOfAReplacedCaptureAreThrownAway() throws Exception {
        var half = rows(5, COUNTER, insert(signed(50), signed(1))).toBuilder().setLastChunk(false).build();
        kafka.append(half);
        kafka.append(half.toBuilder().setChunk(1).build().toBuilder()
                .setRows(half.getRows().toBuilder().clearChanges().addChanges(insert(signed(51), signed(1)))).build());
        kafka.append(epochStart(2, TestRecords.UUID + ":1-4"));
        kafka.append(rows(5, COUNTER, insert(signed(52), signed(1))).toBuilder().setEpoch(2).setPreviousGtid("").build());
        kafka.append(rows(6, COUNTER, insert(signed(66), signed(1))));
        kafka.append(empty(6).toBuilder().setEpoch(2).build());
        kafka.flush();
        try (CdcProcess applier = applier(Map.of())) {
            awaitTransaction(6);
            assertEquals("1,2,52", satellite.text("SELECT GROUP_CONCAT(id ORDER BY id) FROM app.counter"));
            assertFalse(applier.log().contains("divergence"));
        }
    }

    @Test
    void triggersAndEventsStayOffTheSatellite() throws Exception {
        kafka.append(
                statement(5, "app", "CREATE DEFINER=`root`@`localhost` TRIGGER t BEFORE INSERT ON counter FOR EACH ROW SET NEW.n = 1"));
        kafka.append(statement(6, "app", "CREATE DEFINER=`root`@`localhost` EVENT e ON SCHEDULE EVERY 1 DAY DO SET @a = 1"));
        kafka.append(statement(7, "app", "DROP TRIGGER t"));
        kafka.append(statement(8, "app", "CREATE VIEW v AS SELECT 1"));
        kafka.flush();
        try (CdcProcess applier = applier(Map.of())) {
            awaitTransaction(8);
            assertEquals("0", satellite.text("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'app'"));
            assertEquals("0", satellite.text("SELECT COUNT(*) FROM information_schema.events WHERE event_schema = 'app'"));
            assertFalse(applier.log().contains("divergence"));
        }
    }

    @Test
    void aSatelliteThatWentBackInTimeIsFollowedFromWhereItSaysItIs() throws Exception {
        appendCounting(5, 3000);
        try (CdcProcess applier = applier(Map.of())) {
            for (long at : List.of(300L, 1500L)) {
                awaitTransaction(at);
                long before = satellite.startedAt();
                satellite.kill();
                Docker.await("mysqld is back", PATIENCE_S, () -> satellite.startedAt() > before);
            }
            awaitTransaction(3000);
            assertEquals("2996", satellite.text("SELECT n FROM app.counter WHERE id = 1"));
            assertEquals("2996", satellite.text("SELECT COUNT(*) FROM app.journal"));
            assertFalse(applier.log().contains("divergence"));
        }
    }

    @Test
    void anAddressThatLeadsToAMasterIsRefused() throws Exception {
        TestMysql master = TestMysql.master("master");
        try (CdcProcess applier = CdcProcess.applier(kafka, master, Map.of())) {
            Docker.await("refused", PATIENCE_S, () -> applier.get("/ready").contains("this server is no satellite"));
            assertFalse(master.has(gtid(1)));
        }
    }

    @Test
    void allMistakesInTheSettingsAreToldAtOnce() throws Exception {
        try (CdcProcess applier = applier(Map.of("SATELLITE_PORT", "x", "STATUS_LISTEN", "nowhere", "APPLIER_PASSWORD_FILE", "/none"))) {
            assertEquals(64, applier.exitStatus());
            String log = applier.log();
            assertTrue(log.contains("SATELLITE_PORT=x") && log.contains("STATUS_LISTEN=nowhere") && log.contains("APPLIER_PASSWORD"), log);
            assertFalse(log.contains(TestMysql.PASSWORD));
        }
    }

    /** This broker takes no passwords at all. */
    @Test
    void anApplierThatTheBrokerRefusesSaysSoAndEnds() throws Exception {
        try (CdcProcess applier = applier(Map.of("LOG_AUTHENTICATION", "on", "LOG_READER_PASSWORD", "hidden"))) {
            assertEquals(77, applier.exitStatus());
            assertTrue(applier.log().contains("event=log-refuses-account error=\"the broker refuses account log_reader"), applier.log());
            assertFalse(applier.log().contains("hidden"));
        }
    }

    @Test
    void aStatusPortThatIsTakenEndsTheApplierWithAClearError() throws Exception {
        try (var taken = new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress());
                CdcProcess applier = applier(Map.of("STATUS_LISTEN", "127.0.0.1:" + taken.getLocalPort()))) {
            assertEquals(69, applier.exitStatus());
            assertTrue(applier.log().contains("event=cannot-listen address=127.0.0.1:" + taken.getLocalPort()));
        }
    }
}
