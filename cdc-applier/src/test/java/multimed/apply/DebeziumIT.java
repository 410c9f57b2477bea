package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import multimed.capture.debezium.ColumnKinds;
import multimed.capture.debezium.RowSource;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.master.Master;
import multimed.master.MasterAccess;
import multimed.process.Address;
import multimed.process.MetricValues;
import multimed.process.Metrics;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How capture gets on with Debezium, with a real master and broker. */
@Timeout(300)
class DebeziumIT {
    private static TestMysql master;
    private final TestKafka kafka = new TestKafka(TestKafka.broker());

    @BeforeAll
    static void start() {
        master = TestMysql.master("debezium-master");
        master.run("CREATE DATABASE app", "CREATE TABLE app.t (id INT PRIMARY KEY AUTO_INCREMENT)");
    }

    private static void insertWithRows(CdcProcess capture) {
        insertWithRows(capture, "app.t");
    }

    private static void insertWithRows(CdcProcess capture, String table) {
        Docker.await("capture is ready", 120, () -> capture.get("/ready").startsWith("200"));
        Docker.await("Debezium's rows are used", 120, () -> {
            double before = sum(capture, "multimed_capture_raw_total");
            master.run("INSERT INTO " + table + " VALUES ()");
            awaitAll(capture);
            return sum(capture, "multimed_capture_raw_total") == before;
        });
    }

    private static void awaitAll(CdcProcess capture) {
        Docker.await("all are in the log", 60, () -> executed() == sum(capture, "multimed_capture_position_transactions"));
    }

    private static double executed() throws Exception {
        return GtidSet.parse(master.text("SELECT @@global.gtid_executed")).count();
    }

    /** Of all series whose line begins so. */
    private static double sum(CdcProcess capture, String series) throws Exception {
        return capture.get("/metrics").lines().filter(line -> line.startsWith(series))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ')))).sum();
    }

    /** Debezium's parser takes seconds for it; what comes meanwhile goes raw. */
    @Test
    void aLongDefinitionHoldsNobodyUp() throws Exception {
        String columns = IntStream.range(0, 1000)
                .mapToObj(i -> ", c" + i + " DECIMAL(9,2) NOT NULL DEFAULT '0.00' COMMENT 'column " + i + "'")
                .collect(Collectors.joining());
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            insertWithRows(capture);
            double restarts = sum(capture, "multimed_capture_debezium_restarts_total");
            master.run("CREATE TABLE app.wide (id INT PRIMARY KEY" + columns + ")", "INSERT INTO app.t VALUES ()");
            awaitAll(capture);
            assertEquals(1, sum(capture, "multimed_capture_raw_total{reason=\"debezium_busy\"}"));
            insertWithRows(capture);
            assertEquals(restarts, sum(capture, "multimed_capture_debezium_restarts_total"));
        }
    }

    /** Its parser's stack is too small for so many parentheses. MySQL does not keep them, so the next Debezium can read the schemas. */
    @Test
    void aDefinitionThatDebeziumCannotParseEndsDebeziumAlone() throws Exception {
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            insertWithRows(capture);
            master.run("CREATE TABLE app.deep (id INT PRIMARY KEY, n INT DEFAULT (" + "(".repeat(1000) + "1" + ")".repeat(1000) + "))");
            Docker.await("Debezium is started anew", 60,
                    () -> sum(capture, "multimed_capture_debezium_restarts_total{reason=\"failed\"}") == 1);
            insertWithRows(capture);
        }
    }

    /** It is too long to be held; Debezium needs it all the same, or it ends at the first row of the table. */
    @Test
    void aDefinitionLongerThanALargeTransactionReachesDebezium() throws Exception {
        try (CdcProcess capture = CdcProcess.capture(kafka, master, Map.of("CAPTURE_LARGE_BYTES", "65536"))) {
            insertWithRows(capture);
            double restarts = sum(capture, "multimed_capture_debezium_restarts_total");
            double rebuilds = sum(capture, "multimed_capture_rebuild_total");
            master.run("CREATE TABLE app.lengthy (id INT PRIMARY KEY AUTO_INCREMENT /* " + "x".repeat(70_000) + " */)");
            insertWithRows(capture, "app.lengthy");
            assertEquals(restarts, sum(capture, "multimed_capture_debezium_restarts_total"));
            assertEquals(rebuilds + 1, sum(capture, "multimed_capture_rebuild_total"));
        }
    }

    /** The master sends a definition before it counts as executed there. A Debezium that starts in between can't tell what it has read. */
    @Test
    void aDefinitionThatIsNotExecutedYetWhenDebeziumStartsMakesItStartAgain() throws Exception {
        MasterAccess access = new MasterAccess(new Address(master.address(), 3306), TestMysql.USER, TestMysql.PASSWORD);
        String gtid = "dddddddd-0000-0000-0000-000000000001:1";
        Metrics metrics = new Metrics();
        try (Master connection = new Master(access);
                RowSource source = new RowSource(access, new ColumnKinds(connection.collations()), metrics)) {
            source.statement(Gtid.parse(gtid), List.of());
            Docker.await("Debezium is started again", 60, () -> {
                source.caughtUp();
                return MetricValues.of(metrics, "multimed_capture_debezium_restarts_total{reason=\"ddl\"}") > 0;
            });
        }
    }
}
