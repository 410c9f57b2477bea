package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import multimed.gtid.GtidSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How capture gets on with Debezium, with a real master and broker. */
@Timeout(300)
class DebeziumIT {
    private static final String ROWS = "multimed_capture_transactions_total{kind=\"rows\"}";

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
        Docker.await("capture has caught up", 120, () -> {
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

    /** Without what capture found late, on a slow machine. */
    private static double raw(CdcProcess capture) throws Exception {
        return sum(capture, "multimed_capture_raw_total") - sum(capture, "multimed_capture_raw_total{reason=\"catching_up\"}");
    }

    private static String literal(int length) {
        return "'" + "x".repeat(length) + "'";
    }

    private static String nested(String open, String inside, int depth) {
        return open.repeat(depth) + inside + ")".repeat(depth);
    }

    /** By the table's name. Debezium's parser of definitions would run out of stack, or parse for minutes. */
    private static Map<String, String> definitions() {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("literal", "(id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(2000) DEFAULT " + literal(1500) + ")");
        all.put("long_literal", "(id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(16000) DEFAULT " + literal(16_000) + ")");
        all.put("expression", "(id INT PRIMARY KEY AUTO_INCREMENT, v TEXT DEFAULT (" + literal(60_000) + "))");
        all.put("commented", "(id INT PRIMARY KEY AUTO_INCREMENT) COMMENT " + literal(2048));
        all.put("deep", "(id INT PRIMARY KEY AUTO_INCREMENT, n INT DEFAULT (" + nested("abs(", "1", 60) + "))");
        all.put("parentheses", "(id INT PRIMARY KEY AUTO_INCREMENT, n INT DEFAULT (" + nested("(", "1", 1000) + "))");
        all.put("wide",
                IntStream.range(0, 1000).mapToObj(i -> ", c" + i + " DECIMAL(9,2) NOT NULL DEFAULT '0.00' COMMENT 'column " + i + "'")
                        .collect(Collectors.joining("", "(id INT PRIMARY KEY AUTO_INCREMENT", ")")));
        return all;
    }

    @Test
    void rowsGoAsRowsWhateverTheDefinitionsOfTheirTablesAndOfOthersAre() throws Exception {
        String[] inserts = definitions().keySet().stream().flatMap(name -> Stream.of(name, "t"))
                .map(name -> "INSERT INTO app." + name + " VALUES ()").toArray(String[]::new);
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            insertWithRows(capture);
            double raw = raw(capture);
            definitions().forEach((name, definition) -> master.run("CREATE TABLE app." + name + " " + definition));
            master.run(inserts);
            awaitAll(capture);
            assertEquals(raw, raw(capture));
        }
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            insertWithRows(capture);
            double raw = raw(capture);
            master.run(inserts);
            awaitAll(capture);
            assertEquals(raw, raw(capture));
        }
    }

    /** Each row is in the log before the next definition: what a table computes, capture asks the master of that moment. */
    @Test
    void aTableWhoseDefinitionChangesAllTheTimeGoesAsRows() throws Exception {
        master.run("CREATE TABLE app.changing (id INT PRIMARY KEY AUTO_INCREMENT)");
        String swap = "RENAME TABLE app.changing TO app.changed, app.t TO app.changing, app.changed TO app.t";
        try (CdcProcess capture = CdcProcess.capture(kafka, master)) {
            insertWithRows(capture);
            double raw = raw(capture);
            double rows = sum(capture, ROWS);
            for (int i = 0; i < 20; i++) {
                for (String definition : List.of("ALTER TABLE app.changing ADD COLUMN c" + i + " VARCHAR(20) DEFAULT 'c' FIRST",
                        "ALTER TABLE app.changing MODIFY COLUMN c" + i + " VARBINARY(20)", swap)) {
                    master.run(definition, "INSERT INTO app.changing VALUES ()");
                    awaitAll(capture);
                }
            }
            assertEquals(raw, raw(capture));
            assertTrue(sum(capture, ROWS) > rows);
        }
    }

    /** It is too long to be held. */
    @Test
    void rowsOfATableWhoseDefinitionIsLongerThanALargeTransactionGoAsRows() throws Exception {
        try (CdcProcess capture = CdcProcess.capture(kafka, master, Map.of("CAPTURE_LARGE_BYTES", "65536"))) {
            insertWithRows(capture);
            double rebuilds = sum(capture, "multimed_capture_rebuild_total");
            master.run("CREATE TABLE app.lengthy (id INT PRIMARY KEY AUTO_INCREMENT /* " + "x".repeat(70_000) + " */)");
            insertWithRows(capture, "app.lengthy");
            assertEquals(rebuilds + 1, sum(capture, "multimed_capture_rebuild_total"));
        }
    }
}
