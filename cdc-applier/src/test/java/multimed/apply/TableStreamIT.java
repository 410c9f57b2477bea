package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import multimed.capture.tables.TableStream;
import multimed.capture.tables.TestSubscriber;
import multimed.capture.tables.WrittenTables;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.master.MasterAccess;
import multimed.process.Address;
import multimed.process.Metrics;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What capture tells over the table stream, with a real master and broker. */
@Timeout(300)
class TableStreamIT {
    private static TestMysql master;
    private final TestKafka kafka = new TestKafka(TestKafka.broker());

    @BeforeAll
    static void start() {
        master = TestMysql.master("tables-master");
        master.run("CREATE DATABASE app", "CREATE TABLE app.t (id INT PRIMARY KEY, v LONGTEXT)", "CREATE TABLE app.noted (id INT)",
                "CREATE TABLE app.plain (id INT PRIMARY KEY, v LONGTEXT)",
                "CREATE TRIGGER app.note AFTER INSERT ON app.t FOR EACH ROW INSERT INTO app.noted VALUES (NEW.id)");
    }

    private static void awaitReady(CdcProcess capture) {
        Docker.await("capture is ready", 120, () -> capture.get("/ready").startsWith("200"));
    }

    private static GtidSet executed() throws Exception {
        return GtidSet.parse(master.text("SELECT @@global.gtid_executed"));
    }

    /** What was told of each transaction up to the master's present end, with the tables in order; nothing may be missing. */
    private static List<String> told(TestSubscriber subscriber) throws Exception {
        GtidSet all = executed();
        String[] hello = subscriber.next().split(" ", -1);
        assertEquals(master.text("SELECT @@server_uuid"), hello[2]);
        GtidSet known = GtidSet.parse(hello[3]);
        List<String> written = new ArrayList<>();
        while (!known.containsAll(all)) {
            String[] frame = subscriber.next().split(" ", 3);
            known = known.add(Gtid.parse(frame[0]));
            assertTrue(Long.parseLong(frame[1]) > 1_600_000_000_000_000L, frame[1]);
            written.add(Arrays.stream(frame[2].replaceAll("[\\[\\]]", "").split(", ")).sorted().collect(Collectors.joining(" ")));
        }
        return written;
    }

    private static final String LARGE = " WITH RECURSIVE s (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM s WHERE i < 105)"
            + " SELECT i, REPEAT('x', 1000000) FROM s";

    @Test
    void everyKindOfTransaction() throws Exception {
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            awaitReady(capture);
            try (TestSubscriber subscriber = new TestSubscriber(capture.tableStreamPort())) {
                master.run("INSERT INTO app.plain VALUES (1, 'x')",
                        "INSERT INTO app.t VALUES (1, 'x')",
                        "ALTER TABLE app.plain ADD COLUMN late INT INVISIBLE",
                        "XA START 'a'", "UPDATE app.plain SET v = 'a'", "XA END 'a'", "XA PREPARE 'a'", "XA COMMIT 'a'",
                        "XA START 'b'", "UPDATE app.plain SET v = 'b'", "XA END 'b'", "XA PREPARE 'b'", "XA ROLLBACK 'b'",
                        "XA START 'c'", "UPDATE app.plain SET v = 'c'", "XA END 'c'", "XA COMMIT 'c' ONE PHASE",
                        "SET binlog_transaction_compression = ON", "UPDATE app.plain SET v = REPEAT('z', 1000)",
                        "SET binlog_transaction_compression = OFF",
                        "INSERT INTO app.plain (id, v)" + LARGE,
                        "XA START 'l'", "INSERT INTO app.t" + LARGE, "XA END 'l'", "XA PREPARE 'l'", "XA COMMIT 'l'",
                        "SET binlog_format = STATEMENT", "DELETE FROM app.plain WHERE id = 1", "SET binlog_format = ROW",
                        "BEGIN", "DELETE FROM app.noted", "SAVEPOINT s", "DELETE FROM app.plain", "ROLLBACK TO s", "COMMIT",
                        "SET gtid_next = 'bbbbbbbb-0000-0000-0000-000000000001:7'", "BEGIN", "COMMIT", "SET gtid_next = 'AUTOMATIC'",
                        "CREATE TABLE app.copied AS SELECT * FROM app.noted");
                assertEquals(EXPECTED, told(subscriber));
            }
        }
    }

    /** ROWS: everything, but no view or function is another one. */
    private static final List<String> EXPECTED = List.of("app.plain", "app.noted app.t", "ROWS",
            "", "app.plain", "", "", "app.plain", "app.plain", "app.plain", "", "app.noted app.t", "ROWS", "app.noted", "", "ROWS");

    @Test
    void aCaptureThatIsRestartedBeginsWhereItsLogEnds() throws Exception {
        master.run("CREATE TABLE app.first (id INT PRIMARY KEY)");
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            awaitReady(capture);
        }
        master.run("INSERT INTO app.first VALUES (1)", "INSERT INTO app.first VALUES (2)");
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            awaitReady(capture);
            try (TestSubscriber subscriber = new TestSubscriber(capture.tableStreamPort())) {
                assertEquals(List.of("app.first", "app.first"), told(subscriber));
            }
        }
    }

    /** Else they would be a hole that stays until capture's next start. */
    @Test
    void transactionsWithoutBinlogEventsBecomePartOfBefore() throws Exception {
        String imported = "cccccccc-0000-0000-0000-000000000001:1-5";
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            awaitReady(capture);
            try (TestSubscriber old = new TestSubscriber(capture.tableStreamPort())) {
                old.next();
                master.run("SET GLOBAL gtid_purged = '+" + imported + "'", "INSERT INTO app.noted VALUES (7)");
                Docker.await("a hello with what was imported", 60, () -> {
                    try (TestSubscriber anew = new TestSubscriber(capture.tableStreamPort())) {
                        return GtidSet.parse(anew.next().split(" ", -1)[3]).containsAll(GtidSet.parse(imported));
                    }
                });
                assertThrows(IOException.class, () -> {
                    while (!old.next().isEmpty()) {
                        // what was told before
                    }
                });
            }
        }
    }

    /** The log has it all the same: it is the table stream that is wrong. */
    @Test
    void theTestFaultLeavesAHole() throws Exception {
        master.run("CREATE TABLE app.told (id INT PRIMARY KEY AUTO_INCREMENT)");
        try (CdcProcess capture = CdcProcess.capture(kafka, master, Map.of("CAPTURE_TEST_FAULT", "untold:2"))) {
            awaitReady(capture);
            try (TestSubscriber subscriber = new TestSubscriber(capture.tableStreamPort())) {
                subscriber.next();
                for (int i = 0; i < 4; i++) {
                    master.run("INSERT INTO app.told VALUES ()");
                }
                long first = Gtid.parse(subscriber.next().split(" ")[0]).number();
                assertEquals(1, first % 2);
                assertEquals(first + 2, Gtid.parse(subscriber.next().split(" ")[0]).number());
                Docker.await("all are in the log", 60, () -> executed().count() == position(capture));
            }
        }
    }

    /** The master sends a definition before it counts as executed there. A catalog that was read in between must be read again. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void theCatalogIsReadUntilItHasTheLastDefinition() throws Exception {
        MasterAccess access = new MasterAccess(new Address(master.address(), 3306), TestMysql.USER, TestMysql.PASSWORD);
        String gtid = "dddddddd-0000-0000-0000-000000000001:1";
        try (TableStream stream = new TableStream(new Address("127.0.0.1", 0), access, new Metrics())) {
            stream.restart(master.text("SELECT @@server_uuid"), executed());
            try (TestSubscriber subscriber = new TestSubscriber(stream.port())) {
                subscriber.catalog();
                long reads = catalogReads();
                stream.publish(Gtid.parse(gtid), 1, WrittenTables.ALL);
                Docker.await("the catalog is read", 20, () -> catalogReads() > reads);
                master.run("SET gtid_next = '" + gtid + "'", "CREATE TABLE app.defined_late (id INT)");
                while (!subscriber.catalog().contains("app.defined_late")) {
                    // one that was read before
                }
            }
        }
    }

    /** What the master did not send restarts the stream; the definition that came meanwhile is still to be waited for. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aRestartForgetsNoDefinitionThatIsNotExecutedYet() throws Exception {
        MasterAccess access = new MasterAccess(new Address(master.address(), 3306), TestMysql.USER, TestMysql.PASSWORD);
        String gtid = "dddddddd-0000-0000-0000-000000000002:1";
        try (TableStream stream = new TableStream(new Address("127.0.0.1", 0), access, new Metrics())) {
            stream.restart(master.text("SELECT @@server_uuid"), executed());
            stream.publish(Gtid.parse(gtid), 1, WrittenTables.ALL);
            stream.restart(executed());
            try (TestSubscriber subscriber = new TestSubscriber(stream.port())) {
                subscriber.catalog();
                long reads = catalogReads();
                Docker.await("the catalog is read again", 20, () -> catalogReads() > reads + 1);
                master.run("SET gtid_next = '" + gtid + "'", "CREATE TABLE app.defined_after_restart (id INT)");
                while (!subscriber.catalog().contains("app.defined_after_restart")) {
                    // one that was read before
                }
            }
        }
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void theCatalogHasTheTextsOfViewsAndOfFunctionsThatViewsMayCall() throws Exception {
        MasterAccess access = new MasterAccess(new Address(master.address(), 3306), TestMysql.USER, TestMysql.PASSWORD);
        master.run("CREATE TABLE app.texts (id INT)", "CREATE FUNCTION app.text_f(a INT, b INT) RETURNS INT NO SQL RETURN a + 'secret'",
                "CREATE VIEW app.text_v AS SELECT app.text_f(id, 2) AS x FROM app.texts");
        try (TableStream stream = new TableStream(new Address("127.0.0.1", 0), access, new Metrics())) {
            stream.restart(master.text("SELECT @@server_uuid"), executed());
            try (TestSubscriber subscriber = new TestSubscriber(stream.port())) {
                String catalog = subscriber.catalog();
                assertTrue(catalog.contains("function app.text_f[a, b]: RETURN a + ''"), catalog);
                assertTrue(catalog.contains("view app.text_v[]: select `app`.`text_f`("), catalog);
            }
        }
    }

    private static long catalogReads() throws Exception {
        return Long.parseLong(master.text("SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_digest"
                + " WHERE DIGEST_TEXT LIKE '%REFERENTIAL_CONSTRAINTS%'"));
    }

    private static long position(CdcProcess capture) throws Exception {
        String name = "multimed_capture_position_transactions ";
        return capture.get("/metrics").lines().filter(l -> l.startsWith(name))
                .mapToLong(l -> (long) Double.parseDouble(l.substring(name.length()))).sum();
    }

    @ParameterizedTest
    @ValueSource(strings = {"TABLE_STREAM_LISTEN", "LIVE_LISTEN"})
    void aPortThatIsTakenEndsCaptureWithAClearError(String setting) throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                CdcProcess capture = CdcProcess.capture(kafka, master,
                        Map.of(setting, "127.0.0.1:" + taken.getLocalPort()))) {
            assertEquals(71, capture.exitStatus());
            assertTrue(capture.log().contains("can't listen address=127.0.0.1:" + taken.getLocalPort()), capture.log());
        }
    }
}
