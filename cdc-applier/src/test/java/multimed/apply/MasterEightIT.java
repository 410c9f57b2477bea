package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Capture and apply between two servers of MySQL 8.0, with a real broker between them. Up to 9.5 InnoDB runs foreign keys' cascades
 * by itself and the binlog does not have their rows: the satellite must run them too.
 */
@Timeout(600)
class MasterEightIT {
    private static TestMysql master;
    private static TestMysql satellite;
    private static CdcProcess capture;
    private static CdcProcess applier;

    @BeforeAll
    static void start() throws Exception {
        master = TestMysql.masterEight("master-8");
        satellite = TestMysql.satelliteEight("satellite-8");
        TestKafka kafka = new TestKafka(TestKafka.broker());
        master.run("CREATE DATABASE app");
        satellite.run("CREATE DATABASE app", "RESET MASTER", "SET GLOBAL gtid_purged = '" + executed(master) + "'");
        capture = CdcProcess.capture(kafka, master);
        Docker.await("capture is ready", 120, () -> capture.get("/ready").startsWith("200"));
        applier = CdcProcess.applier(kafka, satellite, Map.of());
        awaitDecodedRows();
    }

    /** Until then everything goes raw, with less that could go wrong. */
    private static void awaitDecodedRows() {
        master.run("CREATE TABLE app.plain (id INT PRIMARY KEY, v VARCHAR(20))");
        Docker.await("a transaction of 8.0 as rows", 120, () -> {
            master.run("REPLACE INTO app.plain VALUES (1, UUID_SHORT())");
            assertSame("SELECT * FROM app.plain");
            return applied("rows") > 0;
        });
    }

    @AfterAll
    static void stop() throws Exception {
        applier.close();
        capture.close();
    }

    private static String executed(TestMysql server) throws Exception {
        return server.text("SELECT REPLACE(@@global.gtid_executed, '\n', '')");
    }

    /** Once the satellite has all of the master's transactions, every table is the same on both. */
    private static void assertSame(String... queries) throws Exception {
        String all = executed(master);
        Docker.await("the satellite has " + all, 120, () -> satellite.has(all));
        for (String query : queries) {
            assertEquals(master.rows(query), satellite.rows(query), query);
        }
    }

    private static long applied(String kind) throws Exception {
        return applier.get("/metrics").lines().filter(l -> l.startsWith("multimed_applier_transactions_total{kind=\"" + kind + "\"}"))
                .mapToLong(l -> (long) Double.parseDouble(l.substring(l.lastIndexOf(' ') + 1))).sum();
    }

    @Test
    void cascadesOfAllKindsArriveOnce() throws Exception {
        long rows = applied("rows");
        master.run("CREATE TABLE app.parent (id INT PRIMARY KEY, code INT UNIQUE)",
                "CREATE TABLE app.child (id INT PRIMARY KEY AUTO_INCREMENT, parent INT, n INT DEFAULT 0,"
                        + " FOREIGN KEY (parent) REFERENCES app.parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
                "CREATE TABLE app.grandchild (id INT PRIMARY KEY, child INT, FOREIGN KEY (child) REFERENCES app.child (id) ON DELETE CASCADE)",
                "CREATE TABLE app.orphan (id INT PRIMARY KEY, code INT, FOREIGN KEY (code) REFERENCES app.parent (code)"
                        + " ON DELETE SET NULL ON UPDATE SET NULL)",
                "INSERT INTO app.parent VALUES (1, 10), (2, 20), (3, 30), (4, 40)",
                "INSERT INTO app.child (id, parent) VALUES (1, 1), (2, 1), (3, 2), (4, 3), (5, 4)",
                "INSERT INTO app.grandchild VALUES (1, 1), (2, 2), (3, 3), (4, 5)",
                "INSERT INTO app.orphan VALUES (1, 10), (2, 20), (3, 30), (4, 40)",
                "DELETE FROM app.parent WHERE id = 1",
                "UPDATE app.parent SET id = 22 WHERE id = 2",
                "UPDATE app.parent SET code = 33 WHERE id = 3",
                "DELETE FROM app.parent WHERE id = 4",
                "SET foreign_key_checks = 0; INSERT INTO app.child (id, parent) VALUES (77, 99); DELETE FROM app.parent WHERE id = 22");
        assertSame("SELECT * FROM app.parent ORDER BY id", "SELECT * FROM app.child ORDER BY id",
                "SELECT * FROM app.grandchild ORDER BY id",
                "SELECT * FROM app.orphan ORDER BY id");
        assertEquals(List.of(List.of("3"), List.of("4"), List.of("77")), satellite.rows("SELECT id FROM app.child ORDER BY id"));
        assertTrue(applied("rows") > rows);
    }

    @Test
    void typesAndStatementsOfEight() throws Exception {
        master.run(
                "CREATE TABLE app.kinds (id BIGINT UNSIGNED PRIMARY KEY, d DECIMAL(20,6), f DOUBLE, t TIMESTAMP(6) NULL, dt DATETIME(3), ti TIME(2),"
                        + " y YEAR, b BIT(9), e ENUM('a','ü'), s SET('x','y'), j JSON, v VARCHAR(100) CHARACTER SET latin1, bl BLOB, g GEOMETRY,"
                        + " plus INT GENERATED ALWAYS AS (id + 1) STORED)",
                "INSERT INTO app.kinds (id, d, f, t, dt, ti, y, b, e, s, j, v, bl, g) VALUES (18446744073709551610 - 18446744073709551600, -12345.678901,"
                        + " 1e-300, '2024-02-29 23:59:59.999999', '1000-01-01', '-838:59:58.99', 2155, b'101010101', 'ü', 'x,y',"
                        + " '{\"a\": [1, 2.5, null]}', 'né', X'00FF27', ST_GeomFromText('POINT(1 2)'))",
                "INSERT INTO app.kinds (id) VALUES (1)",
                "UPDATE app.kinds SET j = JSON_SET(j, '$.b', 'x'), v = 'ö' WHERE id = 10",
                "ALTER TABLE app.kinds ADD COLUMN late INT DEFAULT 5, ALGORITHM=INSTANT",
                "INSERT INTO app.kinds (id, late) VALUES (2, 6)",
                "CREATE TABLE app.copied LIKE app.kinds", "INSERT INTO app.copied (id, d) SELECT id, d FROM app.kinds",
                "CREATE TABLE app.keyless (a INT, b TEXT)",
                "INSERT INTO app.keyless VALUES (1, 'x'), (1, 'x'), (2, NULL)",
                "DELETE FROM app.keyless LIMIT 1",
                "CREATE TABLE app.log (n INT)",
                "CREATE TRIGGER app.noted AFTER INSERT ON app.keyless FOR EACH ROW INSERT INTO app.log VALUES (NEW.a)",
                "INSERT INTO app.keyless VALUES (7, 'trigger')",
                "SET SESSION binlog_row_image = MINIMAL; UPDATE app.kinds SET f = 2 WHERE id = 1; DELETE FROM app.kinds WHERE id = 2",
                "SET SESSION binlog_row_value_options = PARTIAL_JSON; UPDATE app.kinds SET j = JSON_SET(j, '$.a[0]', 100) WHERE id = 10",
                "CREATE VIEW app.seen AS SELECT id FROM app.kinds",
                "CREATE USER someone@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON app.* TO someone@'%'");
        String columns = List.of("id", "d", "f", "t", "dt", "ti", "y", "b", "e", "s", "j", "v", "bl", "g", "plus", "late").stream()
                .map(c -> "HEX(" + c + ")").collect(Collectors.joining(","));
        assertSame("SELECT " + columns + " FROM app.kinds ORDER BY id", "SELECT * FROM app.copied",
                "SELECT a, b, COUNT(*) FROM app.keyless GROUP BY a, b ORDER BY a",
                "SELECT * FROM app.log", "SHOW CREATE TABLE app.kinds", "SHOW CREATE VIEW app.seen", "SHOW GRANTS FOR someone@'%'");
    }
}
