package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import multimed.log.LogAccess;
import multimed.log.LogTopic;
import multimed.log.proto.Check;
import multimed.log.proto.LogRecord;
import multimed.process.Settings;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;

/** Capture compares all the time, with real servers and a real broker between them: what differs is found, and nothing else. */
@Timeout(900)
class ComparisonIT {
    /** A table for each type of key: its columns, its key, and a row's values from a number i. More rows than a piece may have. */
    private static final Map<String, List<String>> KEYS = Map.ofEntries(
            Map.entry("k_int", List.of("k INT", "k", "i - 700")),
            Map.entry("k_bigint", List.of("k BIGINT UNSIGNED", "k", "18446744073709551615 - i")),
            Map.entry("k_decimal", List.of("k DECIMAL(30,10)", "k", "(i - 700) / 7")),
            Map.entry("k_bit", List.of("k BIT(20)", "k", "i")),
            Map.entry("k_year", List.of("y YEAR, n INT", "y, n", "1990 + i % 40, i")),
            Map.entry("k_date", List.of("k DATE", "k", "DATE'2000-01-01' + INTERVAL i DAY")),
            Map.entry("k_time", List.of("k TIME(3)", "k", "SEC_TO_TIME(i - 700)")),
            Map.entry("k_datetime", List.of("k DATETIME(6)", "k", "TIMESTAMP'2000-01-01 00:00:00' + INTERVAL i * 1234567 MICROSECOND")),
            Map.entry("k_timestamp", List.of("k TIMESTAMP(3)", "k", "TIMESTAMP'2024-03-31 00:30:00' + INTERVAL i MINUTE")),
            Map.entry("k_latin1", List.of("k CHAR(10) CHARACTER SET latin1", "k", "CONCAT('ä', i)")),
            Map.entry("k_text", List.of("k VARCHAR(40)", "k", "CONCAT(IF(i % 2, 'é', 'E'), i, '''')")),
            Map.entry("k_utf16", List.of("k VARCHAR(20) CHARACTER SET utf16", "k", "CONCAT('ü', i)")),
            Map.entry("k_binary", List.of("k BINARY(8)", "k", "UNHEX(LPAD(HEX(i * 7919), 16, '0'))")),
            Map.entry("k_varbinary", List.of("k VARBINARY(20)", "k", "UNHEX(LPAD(HEX(i), 6, '0'))")),
            Map.entry("k_several", List.of("a VARCHAR(10), b INT, c DATE", "a, b DESC, c",
                    "CONCAT('g', i % 3), i DIV 6, DATE'2024-01-01' + INTERVAL (i % 6) DAY")));
    private static final int ROWS = 1400;

    /** A column, a value, and another that is nearly the same. */
    private static final List<List<String>> NEARLY = List.of(
            List.of("INT", "1", "NULL"),
            List.of("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551614"),
            List.of("DECIMAL(40,20)", "0.00000000000000000001", "0.00000000000000000002"),
            List.of("FLOAT", "1.0000001", "1.0000002"),
            List.of("DOUBLE", "0.1e0", "0.10000000000000002e0"),
            List.of("BIT(64)", "x'FFFFFFFFFFFFFFFF'", "x'FFFFFFFFFFFFFFFE'"),
            List.of("YEAR", "2024", "2025"),
            List.of("DATE", "'2024-01-01'", "'2024-01-02'"),
            List.of("TIME(6)", "'00:00:00.000001'", "'-00:00:00.000001'"),
            List.of("DATETIME(6)", "'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.000001'"),
            List.of("TIMESTAMP(6) NULL", "'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.000001'"),
            List.of("CHAR(10)", "'a'", "'A'"),
            List.of("VARCHAR(10)", "'a'", "'a '"),
            List.of("VARCHAR(10)", "''", "NULL"),
            List.of("VARCHAR(10)", "'N'", "NULL"),
            List.of("VARCHAR(10) COLLATE utf8mb4_0900_ai_ci", "'ss'", "'ß'"),
            List.of("VARCHAR(10) CHARACTER SET latin1", "'e'", "'é'"),
            List.of("VARCHAR(10) CHARACTER SET utf16", "'e'", "'é'"),
            List.of("TEXT", "'x'", "'X'"),
            List.of("LONGTEXT", "REPEAT('x', 2000000)", "CONCAT(REPEAT('x', 1999999), 'X')"),
            List.of("BINARY(4)", "x'00000000'", "x'00000001'"),
            List.of("VARBINARY(4)", "x'00'", "x'0000'"),
            List.of("BLOB", "x'FF'", "x'FE'"),
            List.of("ENUM('a', '')", "'a'", "''"),
            List.of("ENUM('a', 'b')", "'a'", "'b'"),
            List.of("SET('a', 'b')", "'a'", "'a,b'"),
            List.of("JSON", "'{\"a\": 1}'", "'{\"a\": true}'"),
            List.of("JSON", "'null'", "NULL"),
            List.of("POINT", "ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(1 3)')"),
            List.of("GEOMETRY", "ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(1 2)', 3857)"),
            List.of("INT INVISIBLE", "1", "2"));

    private static TestMysql master;
    private static TestMysql satellite;
    private static TestKafka kafka;
    private static CdcProcess capture;
    private static CdcProcess applier;

    @BeforeAll
    static void start() throws Exception {
        master = TestMysql.markedMaster("compared-master");
        satellite = TestMysql.satellite("compared-satellite");
        kafka = new TestKafka(TestKafka.broker());
        // Passes that take as long as their pieces and rests do.
        capture = CdcProcess.capture(kafka, master, Map.of("COMPARE_HOURS", "0.0001"));
        Docker.await("capture is ready", 120, () -> capture.get("/ready").startsWith("200"));
        satellite.run("RESET BINARY LOGS AND GTIDS", "SET GLOBAL gtid_purged = '" + executed() + "'");
        applier = CdcProcess.applier(kafka, satellite, Map.of());
        master.run("CREATE DATABASE app");
    }

    @AfterAll
    static void stop() throws Exception {
        applier.close();
        capture.close();
    }

    private static String executed() throws SQLException {
        return master.text("SELECT REPLACE(@@global.gtid_executed, '\n', '')");
    }

    private static double metric(CdcProcess of, String series) throws Exception {
        return of.get("/metrics").lines().filter(line -> line.startsWith(series + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(series.length() + 1))).sum();
    }

    private static void insert(String table, String values, long first, long count) {
        master.run("SET SESSION cte_max_recursion_depth = 1000000", "INSERT IGNORE INTO app." + table
                + " WITH RECURSIVE s (i) AS (SELECT " + first + " UNION ALL SELECT i + 1 FROM s WHERE i < " + (first + count - 1) + ")"
                + " SELECT " + values + ", CONCAT('v', i) FROM s");
    }

    private static void createKeyed(String table, List<String> key) {
        master.run("CREATE TABLE app." + table + " (" + key.get(0) + ", v VARCHAR(20), PRIMARY KEY (" + key.get(1) + "))");
        insert(table, key.get(2), 1, ROWS);
    }

    /** Until every table that there is now was compared: the pass that is under way may have begun before. */
    private static void awaitPass() throws Exception {
        String passed = "multimed_capture_comparison_passed_timestamp_seconds";
        for (int i = 0; i < 2; i++) {
            double before = metric(capture, passed);
            Docker.await("a pass is over", 300, () -> metric(capture, passed) > before);
        }
        String all = executed();
        Docker.await("the satellite has all", 120, () -> satellite.has(all));
    }

    private static long divergences() throws Exception {
        return applier.log().lines().filter(line -> line.contains("event=divergence")).count();
    }

    @Test
    @DisabledIfEnvironmentVariable(named = "NIGHTLY", matches = "skip", disabledReason = "make test-nightly runs it")
    void nothingDiffersWhileTablesWithEveryTypeOfKeyAreWritten() throws Exception {
        KEYS.forEach(ComparisonIT::createKeyed);
        master.run("CREATE TABLE app.u_none (id INT)", "CREATE TABLE app.u_enum (k ENUM('a', 'b') PRIMARY KEY)",
                "CREATE TABLE app.u_prefix (k VARCHAR(30), PRIMARY KEY (k(5)))", "CREATE TABLE app.u_double (k DOUBLE PRIMARY KEY)");
        long before = divergences();
        double equal = metric(applier, "multimed_applier_checks_total{result=\"equal\"}");
        AtomicBoolean done = new AtomicBoolean();
        List<CompletableFuture<Void>> writers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            long from = 10_000 * (i + 1);
            writers.add(CompletableFuture.runAsync(() -> write(done, from)));
        }
        awaitPass();
        done.set(true);
        writers.forEach(CompletableFuture::join);
        awaitPass();
        assertEquals(before, divergences(), applier.log());
        assertFalse(applier.log().contains("event=not-compared"), applier.log());
        assertTrue(metric(applier, "multimed_applier_checks_total{result=\"equal\"}") > equal + 4 * KEYS.size());
        assertTrue(metric(capture, "multimed_capture_comparison_rows_total") > KEYS.size() * ROWS / 2.0);
        assertEquals(4, metric(capture, "multimed_capture_comparison_skipped_tables"), capture.log());
        for (String table : List.of("u_none", "u_enum", "u_prefix", "u_double")) {
            assertTrue(capture.log().contains("app." + table), table + " is named");
        }
        String checks = master.text("SELECT @@global.gtid_executed").lines().filter(l -> l.startsWith("00000000-0000-0001-"))
                .collect(Collectors.joining());
        assertTrue(checks.matches("00000000-0000-0001-0000-0000000000a1:1-[0-9]+,?"), checks);
    }

    /** Inserts, updates and deletes in all of them, and one table that comes and goes. */
    private static void write(AtomicBoolean done, long from) {
        List<String> tables = List.copyOf(KEYS.keySet());
        for (long n = from; !done.get(); n++) {
            String table = tables.get(ThreadLocalRandom.current().nextInt(tables.size()));
            long i = n % 9000 + 1;
            tolerant(() -> insert(table, KEYS.get(table).get(2), i, 3));
            tolerant(() -> master.run("UPDATE app." + table + " SET v = SUBSTRING(RAND(), 3, 15) WHERE RAND() < 0.02"));
            tolerant(() -> master.run("DELETE FROM app." + table + " WHERE RAND() < 0.005"));
            tolerant(() -> master.run("CREATE TABLE IF NOT EXISTS app.goes (id INT PRIMARY KEY) SELECT 1 AS id",
                    "DROP TABLE IF EXISTS app.goes"));
        }
    }

    /** Writers can be in each other's way. */
    private static void tolerant(Runnable statement) {
        try {
            statement.run();
        } catch (IllegalStateException e) {
            assertTrue(e.getCause() instanceof SQLException, e.toString());
        }
    }

    @Test
    void whatSomebodyChangesOnTheSatelliteIsFound() throws Exception {
        createKeyed("spoilt", List.of("id INT", "id", "i"));
        awaitPass();
        assertFound("UPDATE app.spoilt SET v = 'other' WHERE id = 777", "UPDATE app.spoilt SET v = 'v777' WHERE id = 777",
                "app.spoilt after");
        assertFound("DELETE FROM app.spoilt WHERE id = 3", "INSERT INTO app.spoilt VALUES (3, 'v3')", "app.spoilt up to");
        assertFound("INSERT INTO app.spoilt VALUES (900000, 'more')", "DELETE FROM app.spoilt WHERE id = 900000",
                "app.spoilt after " + ROWS);
        assertFound("RENAME TABLE app.spoilt TO app.away", "RENAME TABLE app.away TO app.spoilt", "app.spoilt");
    }

    /** The supervisor's clone is played by who mends it. */
    private static void assertFound(String spoil, String mend, String piece) throws Exception {
        long before = divergences();
        satellite.run(spoil);
        Docker.await("it is found: " + spoil, 300, () -> divergences() > before);
        String found = applier.log().lines().filter(line -> line.contains("event=divergence")).skip(before).findFirst().orElse("");
        assertTrue(found.contains("reason=comparison gtid=00000000-0000-0001-") && found.contains("piece=\"" + piece), found);
        Docker.await("it is mended: " + mend, 120, attempt(() -> satellite.run(mend)));
        double equal = metric(applier, "multimed_applier_checks_total{result=\"equal\"}");
        Docker.await("all is equal again", 120, () -> applier.get("/ready").startsWith("200")
                && metric(applier, "multimed_applier_checks_total{result=\"equal\"}") > equal);
    }

    private static Callable<Boolean> attempt(Runnable action) {
        return () -> {
            action.run();
            return true;
        };
    }

    /** MySQL reads a table's expressions under the sql_mode of the session that opens it first. */
    @Test
    void clientsOfTheMasterReadWhatTheyReadWithoutIt() throws Exception {
        master.run("CREATE TABLE app.likes (id INT PRIMARY KEY, c VARCHAR(9), v INT AS (c LIKE '%\\\\%'))",
                "INSERT INTO app.likes (id, c) VALUES (1, 'a%')", "FLUSH TABLES");
        awaitPass();
        assertEquals("1", master.text("SELECT v FROM app.likes"));
    }

    @Test
    void everyChangeOfAValueChangesTheAnswer() throws Exception {
        List<List<String>> cases = new ArrayList<>(NEARLY);
        if (Integer.parseInt(master.text("SELECT SUBSTRING_INDEX(VERSION(), '.', 1)")) >= 9) {
            cases.add(List.of("VECTOR(2)", "STRING_TO_VECTOR('[1,2]')", "STRING_TO_VECTOR('[1,3]')"));
        }
        StringBuilder columns = new StringBuilder();
        StringBuilder names = new StringBuilder();
        StringBuilder values = new StringBuilder();
        for (int i = 0; i < cases.size(); i++) {
            columns.append(", c").append(i).append(' ').append(cases.get(i).get(0));
            names.append(", c").append(i);
            values.append(", ").append(cases.get(i).get(1));
        }
        master.run("CREATE TABLE app.nearly (id INT PRIMARY KEY" + columns + ", s INT AS (c0 * 2) STORED, v INT AS (c0 * 3) VIRTUAL)",
                "INSERT IGNORE INTO app.nearly (id" + names + ") VALUES (1" + values + ")");
        Check check = checkOf("app.nearly");
        try (Connection connection = master.connect(); Statement s = connection.createStatement()) {
            for (var setting : check.getSessionMap().entrySet()) {
                s.execute("SET SESSION " + setting.getKey() + " = " + (setting.getValue().matches("[0-9]+")
                        ? setting.getValue()
                        : "'" + setting.getValue() + "'"));
            }
            assertEquals(check.getExpected(), answer(s, check));
            for (int i = 0; i < cases.size(); i++) {
                s.execute("BEGIN");
                s.execute("UPDATE app.nearly SET c" + i + " = " + cases.get(i).get(2));
                assertNotEquals(check.getExpected(), answer(s, check), cases.get(i).toString());
                s.execute("ROLLBACK");
            }
        }
    }

    private static String answer(Statement s, Check check) throws SQLException {
        try (ResultSet row = s.executeQuery(check.getQuery().toStringUtf8())) {
            row.next();
            return row.getString(1);
        }
    }

    /** The newest one of a table that is one piece, from the log. */
    private static Check checkOf(String table) throws Exception {
        awaitPass();
        Check found = null;
        LogAccess access = LogAccess.reader(new Settings(Map.of("KAFKA_BOOTSTRAP", kafka.bootstrap(), "LOG_AUTHENTICATION", "off")));
        try (var consumer = LogTopic.consumer(access, kafka.topic())) {
            var partition = LogTopic.partition(kafka.topic());
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            consumer.seek(partition, 0);
            while (consumer.position(partition) < end) {
                for (var record : consumer.poll(Duration.ofMillis(500))) {
                    LogRecord parsed = LogTopic.parse(record);
                    found = parsed.getEmpty().getCheck().getPiece().equals(table) ? parsed.getEmpty().getCheck() : found;
                }
            }
        }
        return found;
    }
}
