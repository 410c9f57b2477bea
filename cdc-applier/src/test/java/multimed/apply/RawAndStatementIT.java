package multimed.apply;

import static multimed.log.TestRecords.statement;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import multimed.log.TestRecords;
import multimed.log.proto.ColumnType;
import multimed.log.proto.LogRecord;
import multimed.log.proto.Raw;
import multimed.log.proto.Statement;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Transactions of a real master's binlog, and statements of every sort, on a real satellite. */
class RawAndStatementIT {
    private static final int FORMAT_DESCRIPTION = 15;
    private static final int GTID = 33;
    private static final int TABLE_MAP = 19;
    private static final int XID = 16;

    private static TestMysql master;
    private static TestMysql satellite;
    private static WriterFixture applier;
    private static long transaction;

    @BeforeAll
    static void start() throws Exception {
        master = TestMysql.master("raw-master");
        satellite = TestMysql.satellite("raw-satellite");
        applier = new WriterFixture(satellite);
    }

    @AfterAll
    static void stop() {
        applier.close();
    }

    private static void both(String... statements) {
        master.run(statements);
        satellite.run(statements);
    }

    /** The row transactions of the master's current binlog file, as raw records under the master's GTIDs. */
    private static List<LogRecord> rowTransactions() {
        String encoded = Docker.docker(List.of("exec", master.container(), "sh", "-c", "base64 -w0 $(ls /data/binlog.0* | tail -n 1)"));
        ByteBuffer log = ByteBuffer.wrap(Base64.getDecoder().decode(encoded.strip())).order(ByteOrder.LITTLE_ENDIAN).position(4);
        List<LogRecord> found = new ArrayList<>();
        ByteString format = ByteString.EMPTY;
        String gtid = "";
        Raw.Builder raw = Raw.newBuilder();
        while (log.remaining() > 19) {
            byte[] event = new byte[log.getInt(log.position() + 9)];
            log.get(event);
            int type = event[4];
            if (type == FORMAT_DESCRIPTION) {
                format = ByteString.copyFrom(event);
            } else if (type == GTID) {
                gtid = gtid(event);
                raw = Raw.newBuilder().setFormatDescription(format);
            } else if (type == TABLE_MAP || type >= 30 && type <= 32 || type == 39) {
                raw.addEvents(ByteString.copyFrom(event));
            } else if (type == XID) {
                found.add(LogRecord.newBuilder().setEpoch(1).setGtid(gtid).setLastChunk(true).setRaw(raw).build());
            }
        }
        return found;
    }

    private static String gtid(byte[] event) {
        ByteBuffer body = ByteBuffer.wrap(event, 20, 24);
        UUID uuid = new UUID(body.getLong(), body.getLong());
        return uuid + ":" + body.order(ByteOrder.LITTLE_ENDIAN).getLong();
    }

    @Test
    void whatDebeziumCannotCarryIsReplayedAsItWas() throws Exception {
        both("CREATE DATABASE raw", "CREATE TABLE raw.t (id INT PRIMARY KEY, j JSON, e ENUM('a,b','c'), s SET('x','y'), d DATE, z DATETIME,"
                + " l VARCHAR(20) CHARACTER SET latin1, b BIT(12), y YEAR, g GEOMETRY, t TIME(3))",
                "CREATE TABLE raw.nokey (a INT, b TEXT)");
        satellite.run("CREATE TRIGGER raw.twice AFTER INSERT ON raw.t FOR EACH ROW INSERT INTO raw.nokey VALUES (99, 'trigger')");
        master.run("SET GLOBAL binlog_checksum = NONE", "FLUSH BINARY LOGS");
        master.run(
                "SET sql_mode = ''; INSERT INTO raw.t VALUES (1, CAST('{\"n\": 1e10, \"d\": \"x\"}' AS JSON), 1, 3, '0000-00-00', '2026-00-00', x'818d8f909d', b'101', 0, ST_GeomFromText('POINT(1 2)'), '-01:02:03.456'),"
                        + "(2, JSON_OBJECT('t', CAST('-10:11:12' AS TIME), 'dec', CAST(1.10 AS DECIMAL(10,2))), 2, 0, NULL, NULL, '', b'0', 2155, NULL, NULL)",
                "SET binlog_row_value_options = PARTIAL_JSON; UPDATE raw.t SET j = JSON_SET(j, '$.n', 'some other value') WHERE id = 1",
                "INSERT INTO raw.nokey VALUES (1, 'a'), (1, 'a'), (2, NULL)", "DELETE FROM raw.nokey WHERE a = 1 LIMIT 1");
        List<LogRecord> transactions = rowTransactions();
        assertEquals(4, transactions.size());
        for (LogRecord record : transactions) {
            applier.write(record);
            assertTrue(satellite.has(record.getGtid()));
        }
        String exactly = "SELECT id, j, JSON_TYPE(j->'$.n'), JSON_TYPE(j->'$.t'), JSON_TYPE(j->'$.dec'), e+0, s+0, CAST(d AS CHAR), CAST(z AS CHAR), HEX(l), b+0, y, HEX(g), t FROM raw.t ORDER BY id";
        assertEquals(master.rows(exactly), satellite.rows(exactly));
        assertEquals(master.rows("SELECT * FROM raw.nokey ORDER BY a"), satellite.rows("SELECT * FROM raw.nokey ORDER BY a"));
    }

    /** A session that does not commit by itself must not use a GTID up before its turn. */
    @Test
    void rowEventsAndEmptyTransactionsSideBySideCommitInOrder() throws Exception {
        both("CREATE DATABASE side", "CREATE TABLE side.t (id INT PRIMARY KEY, j JSON)");
        master.run("SET GLOBAL binlog_checksum = NONE", "FLUSH BINARY LOGS");
        int count = 300;
        for (int i = 1; i <= count; i++) {
            master.run("INSERT INTO side.t VALUES (" + i + ", JSON_OBJECT('n', " + i + "))");
        }
        List<String> wrong = new CopyOnWriteArrayList<>();
        Thread reader = new Thread(() -> readPrefixes(wrong, count));
        reader.start();
        applier.close();
        try (PipelineFixture side = new PipelineFixture(satellite, 4)) {
            long n = 900_000;
            for (LogRecord record : rowTransactions()) {
                side.submit(record, 100);
                side.submit(TestRecords.empty(++n), 100);
            }
            side.drain();
        } finally {
            applier = new WriterFixture(satellite);
        }
        reader.join();
        assertEquals(List.of(), wrong);
        assertEquals(master.rows("SELECT * FROM side.t ORDER BY id"), satellite.rows("SELECT * FROM side.t ORDER BY id"));
        assertTrue(satellite.has(TestRecords.UUID + ":900001-" + (900_000 + count)));
    }

    /** One session: row events under a time zone, then others without, then others again and literals. */
    @Test
    void whatRowEventsAreReplayedUnderEndsWithThem() throws Exception {
        both("CREATE DATABASE zones", "CREATE TABLE zones.t (id INT PRIMARY KEY, ts TIMESTAMP, h INT AS (HOUR(ts)) STORED)",
                "CREATE TABLE zones.plain (id INT PRIMARY KEY, ts TIMESTAMP)");
        master.run("SET GLOBAL binlog_checksum = NONE", "FLUSH BINARY LOGS");
        for (int i = 1; i <= 4; i++) {
            master.run("SET time_zone = '+00:00'; INSERT INTO zones.t (id, ts) VALUES (" + i + ", '2026-01-01 12:00:00')");
        }
        List<LogRecord> events = rowTransactions();
        applier.close();
        try (PipelineFixture one = new PipelineFixture(satellite, 1)) {
            one.submit(under("+05:00", events.get(0)), 0);
            one.submit(events.get(1), 0);
            one.submit(under("+03:00", events.get(2)), 0);
            one.submit(under("+02:00", events.get(3)), 0);
            one.submit(TestRecords.rows(910_001, TestRecords.table("zones", "plain", TestRecords.key("id", ColumnType.SIGNED),
                    TestRecords.column("ts", ColumnType.TIMESTAMP)),
                    TestRecords.insert(TestRecords.signed(1), TestRecords.text("2026-01-01 12:00:00"))), 0);
            one.drain();
        } finally {
            applier = new WriterFixture(satellite);
        }
        assertEquals(List.of(List.of("17"), List.of("12"), List.of("15"), List.of("14")),
                satellite.rows("SELECT h FROM zones.t ORDER BY id"));
        assertEquals("1767268800", satellite.text("SELECT UNIX_TIMESTAMP(ts) FROM zones.plain"));
    }

    private static LogRecord under(String timeZone, LogRecord record) {
        return record.toBuilder().setRaw(record.getRaw().toBuilder().putSession("time_zone", timeZone)).build();
    }

    private static void readPrefixes(List<String> wrong, int count) {
        try {
            String row;
            do {
                List<String> seen = satellite.rows("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM side.t").get(0);
                row = seen.get(0);
                if (!seen.get(0).equals(seen.get(1))) {
                    wrong.add(seen.toString());
                }
            } while (Integer.parseInt(row) < count);
        } catch (Exception e) {
            wrong.add(e.toString());
        }
    }

    @Test
    void anEventWhoseRowIsNotThereFailsAndLeavesNothing() throws Exception {
        both("CREATE DATABASE gone", "CREATE TABLE gone.t (id INT PRIMARY KEY, n INT)");
        master.run("SET GLOBAL binlog_checksum = NONE", "INSERT INTO gone.t VALUES (1, 1), (2, 2)", "FLUSH BINARY LOGS",
                "BEGIN; DELETE FROM gone.t WHERE id = 1; INSERT INTO gone.t VALUES (3, 3); COMMIT");
        LogRecord record = rowTransactions().get(0);
        ApplyFailure failure = assertThrows(ApplyFailure.class, () -> applier.write(record));
        assertEquals(Divergence.Reason.RAW, failure.reason());
        applier.close();
        Docker.await("the session ended", 30, () -> {
            applier = new WriterFixture(satellite);
            return true;
        });
        assertEquals("0", satellite.text("SELECT COUNT(*) FROM gone.t"));
        assertTrue(!satellite.has(record.getGtid()));
    }

    private static LogRecord next(String database, String sql) {
        return statement(++transaction, database, sql);
    }

    @Test
    void statementsOfEverySortConsumeTheirGtid() throws Exception {
        for (String sql : List.of("CREATE DATABASE stm", "CREATE TABLE stm.t (id INT PRIMARY KEY, v VARCHAR(10))",
                "CREATE VIEW stm.v AS SELECT 1 AS a",
                "CREATE FUNCTION stm.f() RETURNS INT DETERMINISTIC BEGIN DECLARE x INT; SET x = 1; RETURN x; END",
                "CREATE USER u1 IDENTIFIED BY 'x'", "CREATE ROLE r1",
                "GRANT SELECT ON stm.* TO u1", "SET PASSWORD FOR u1 = 'y'", "ALTER USER u1 ACCOUNT LOCK", "FLUSH TABLES",
                "FLUSH PRIVILEGES", "ANALYZE TABLE stm.t",
                "OPTIMIZE TABLE stm.t", "TRUNCATE stm.t", "ALTER TABLE stm.t ADD COLUMN c INT", "RENAME TABLE stm.t TO stm.t2",
                "DROP TABLE IF EXISTS stm.nope", "CREATE TABLE IF NOT EXISTS stm.t2 (a INT)",
                "DROP DATABASE stm", "DROP USER u1", "DROP ROLE r1")) {
            String database = sql.contains("stm.t") ? "stm" : "";
            applier.write(next(database, sql));
            assertTrue(satellite.has(TestRecords.gtid(transaction)), sql);
        }
    }

    @Test
    void whatFollowsAStatementInItsTextIsNotRun() throws Exception {
        applier.write(next("", "CREATE DATABASE alone"));
        LogRecord two = next("alone", "CREATE TABLE t (a INT);SET gtid_next='AUTOMATIC';CREATE DATABASE injected");
        ApplyFailure failure = assertThrows(ApplyFailure.class, () -> applier.write(two));
        assertEquals(Divergence.Reason.STATEMENT, failure.reason());
        assertEquals("0", satellite.text("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'injected'"));
        applier.writer().abandon();
        applier.write(next("alone", "CREATE TABLE t (a INT)"));
        assertEquals("0", satellite.text("SELECT COUNT(*) FROM alone.t"));
    }

    @Test
    void aStatementSeesTheSettingsOfItsClientAndLaterRowsDoNot() throws Exception {
        LogRecord create = next("ctx",
                "CREATE TABLE made AS SELECT @@sql_mode AS a, @@time_zone AS b, @@collation_connection AS c, NOW(6) AS d, @@foreign_key_checks AS e, 'a\\nb' AS f");
        applier.write(next("ctx", "CREATE DATABASE ctx"));
        Statement.Builder statement = create.getStatement().toBuilder().putSession("time_zone", "+05:00")
                .putSession("collation_connection", "latin1_german2_ci")
                .putSession("sql_mode", "4").putSession("foreign_key_checks", "0").setTimestampUs(1_000_000_000_500_000L);
        applier.write(create.toBuilder().setStatement(statement).build());
        assertEquals(List.of(List.of("ANSI_QUOTES", "+05:00", "latin1_german2_ci", "2001-09-09 06:46:40.500000", "0", "a\nb")),
                satellite.rows("SELECT a,b,c,CAST(d AS CHAR),e,f FROM ctx.made"));
        applier.write(next("ctx", "CREATE TABLE later AS SELECT 1 AS a"));
        applier.write(TestRecords.rows(++transaction,
                TestRecords.table("ctx", "later", TestRecords.key("a", multimed.log.proto.ColumnType.SIGNED)),
                TestRecords.insert(TestRecords.signed(5))));
        assertEquals("2", satellite.text("SELECT COUNT(*) FROM ctx.later"));
    }

    @Test
    void textOfAStatementArrivesByteByByte() throws Exception {
        applier.write(next("", "CREATE DATABASE txt"));
        applier.write(next("txt",
                "CREATE TABLE `täbel'`` x` (`spälte` INT DEFAULT 5 COMMENT 'it''s {d ''x''} \\\\ ?', x VARCHAR(9) DEFAULT '€') /* ; */"));
        assertEquals("it's {d 'x'} \\ ?",
                satellite.text("SELECT column_comment FROM information_schema.columns WHERE table_schema='txt' AND ordinal_position = 1"));
        assertEquals("€",
                satellite.text("SELECT column_default FROM information_schema.columns WHERE table_schema='txt' AND column_name = 'x'"));
    }
}
