package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Parents and children on a master that logs cascades (9.6 and later), with a real satellite and broker: each change arrives as the master
 * made it, by rows or raw, and no satellite is asked to clone again for it.
 */
@Timeout(600)
class ForeignKeysIT {
    private static final String MANY = "WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 60) ";
    private static TestMysql master;
    private static TestMysql satellite;
    private static CdcProcess capture;
    private static CdcProcess applier;

    @BeforeAll
    static void start() throws Exception {
        master = TestMysql.master("fk-master");
        satellite = TestMysql.satellite("fk-satellite");
        TestKafka kafka = new TestKafka(TestKafka.broker());
        satellite.run("RESET BINARY LOGS AND GTIDS", "SET GLOBAL gtid_purged = '" + executed() + "'");
        capture = CdcProcess.capture(kafka, master);
        Docker.await("capture is ready", 120, () -> capture.get("/ready").startsWith("200"));
        applier = CdcProcess.applier(kafka, satellite, Map.of());
    }

    @AfterAll
    static void stop() throws Exception {
        applier.close();
        capture.close();
    }

    private static String executed() throws Exception {
        return master.text("SELECT REPLACE(@@global.gtid_executed, '\n', '')");
    }

    private static Arguments of(String symptom, String... statements) {
        return Arguments.of(symptom, List.of(statements));
    }

    /** p is the parent of c, n and g, c is that of gc; t has itself; k and kc have no key. A column of JSON makes all go raw. */
    private static Stream<Arguments> changes() {
        return Stream.of(
                of("REPLACE of a parent lost its children", "REPLACE INTO p (id, u, j) VALUES (1, 1, '{}')"),
                of("so did many", "REPLACE INTO p (id, u, j) " + MANY + "SELECT i, i, '[]' FROM s"),
                of("and with rows of its own", "REPLACE INTO p (id, u, v) " + MANY + "SELECT i, i, i FROM s"),
                of("under another key", "REPLACE INTO p (id, u, j) VALUES (1001, 1, '{}')"),
                of("twice in a statement", "REPLACE INTO p (id, u, j) VALUES (1, 1, '1'), (1, 1, '2')"),
                of("ON DUPLICATE KEY UPDATE", "INSERT INTO p (id, u) VALUES (2, 2) ON DUPLICATE KEY UPDATE id = 1002, j = '1'"),
                of("DELETE of both cost a clone", "DELETE p, c FROM p JOIN c ON c.p = p.id WHERE p.id < 4"),
                of("the other way round", "DELETE c, p FROM c JOIN p ON c.p = p.id WHERE p.id < 4"),
                of("of one of each", "DELETE p, c FROM p JOIN c ON c.p = p.id WHERE p.id = 1 AND c.id = 1"),
                of("of three", "DELETE p, c, gc FROM p JOIN c ON c.p = p.id JOIN gc ON gc.c = c.id"),
                of("of nulled children", "DELETE p, n FROM p JOIN n ON n.p = p.id WHERE p.id = 1 AND n.id = 1"),
                of("UPDATE of both cost a clone", "UPDATE p JOIN c ON c.p = p.id SET p.id = p.id + 100, c.v = 7 WHERE p.id < 4"),
                of("the other way round", "UPDATE c JOIN p ON c.p = p.id SET c.v = 7, p.id = p.id + 100 WHERE p.id < 4"),
                of("of one of each", "UPDATE p, c SET p.id = 101, c.v = 7 WHERE p.id = 1 AND c.id = 1"),
                of("a row that has itself", "DELETE FROM t WHERE id = 1"),
                of("all of them", "DELETE FROM t"),
                of("and after others", "DELETE FROM t WHERE id IN (4, 1)"),
                of("REPLACE of it", "REPLACE INTO t VALUES (9, NULL, 1)"),
                of("without keys", "DELETE k, kc FROM k JOIN kc ON kc.u = k.u"),
                of("minimal images", "SET binlog_row_image = MINIMAL", "DELETE p, c FROM p JOIN c ON c.p = p.id WHERE p.id < 4"),
                of("all that is left", "DELETE FROM p"));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void childrenAreAsOnTheMaster(String symptom, List<String> statements) throws Exception {
        master.run("DROP DATABASE IF EXISTS app", "CREATE DATABASE app",
                "CREATE TABLE app.p (id INT PRIMARY KEY, u INT UNIQUE, v INT, j JSON)",
                "CREATE TABLE app.c (id INT PRIMARY KEY, p INT, v INT, FOREIGN KEY (p) REFERENCES app.p (id)"
                        + " ON DELETE CASCADE ON UPDATE CASCADE)",
                "CREATE TABLE app.n (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES app.p (id) ON DELETE SET NULL ON UPDATE SET NULL)",
                "CREATE TABLE app.g (id INT, p INT, s INT AS (id + 1) STORED, FOREIGN KEY (p) REFERENCES app.p (id)"
                        + " ON DELETE CASCADE ON UPDATE CASCADE)",
                "CREATE TABLE app.gc (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES app.c (id) ON DELETE CASCADE)",
                "CREATE TABLE app.t (id INT PRIMARY KEY, t INT, u INT UNIQUE, FOREIGN KEY (t) REFERENCES app.t (id) ON DELETE CASCADE)",
                "CREATE TABLE app.k (u INT UNIQUE)",
                "CREATE TABLE app.kc (u INT, FOREIGN KEY (u) REFERENCES app.k (u) ON DELETE CASCADE)",
                "INSERT INTO app.p (id, u) " + MANY + "SELECT i, i FROM s",
                "INSERT INTO app.c (id, p) " + MANY + "SELECT i, (i + 2) DIV 3 FROM s",
                "INSERT INTO app.n SELECT id, p FROM app.c", "INSERT INTO app.g (id, p) SELECT id, p FROM app.c",
                "INSERT INTO app.gc SELECT id, id FROM app.c",
                "INSERT INTO app.t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3), (4, NULL, 4), (5, 4, 5), (6, 6, 6)",
                "INSERT INTO app.k VALUES (1), (2)", "INSERT INTO app.kc VALUES (1), (1), (2)");
        try (var session = master.connect(); var statement = session.createStatement()) {
            statement.execute("USE app");
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
        String all = executed();
        Docker.await("the satellite has " + all, 60, () -> satellite.has(all));
        for (String table : List.of("p", "c", "n", "g", "gc", "t", "k", "kc")) {
            String query = "SELECT * FROM app." + table + " ORDER BY 1, 2";
            query = table.startsWith("k") ? "SELECT * FROM app." + table + " ORDER BY 1" : query;
            assertEquals(master.rows(query), satellite.rows(query), symptom + ": " + table);
        }
        List<String> counted = applier.get("/metrics").lines().filter(l -> l.matches("multimed_applier_re(tries|builds)_total.*")).toList();
        assertEquals(List.of(), counted.stream().filter(l -> !l.matches(".* 0(\\.0)?")).toList(), () -> symptom + " " + log());
    }

    private static String log() {
        try {
            return applier.log();
        } catch (IOException e) {
            return e.getMessage();
        }
    }
}
