package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Text columns whose definitions say their character set in every way: on a server whose default is latin1, each is in a character set that
 * goes as rows. Between real servers, with a real broker.
 */
@Timeout(300)
class CharacterSetIT {
    private static final String LATIN1 = "CREATE DATABASE # CHARACTER SET latin1";
    private static final String UTF8 = "CREATE DATABASE # CHARACTER SET utf8mb4";
    private static final String TABLE = "CREATE TABLE #.t (id INT PRIMARY KEY, v VARCHAR(50))";
    private static final String TABLE_UTF8 = TABLE + " CHARACTER SET utf8mb4";

    private static TestMysql master;
    private static TestMysql satellite;
    private static CdcProcess capture;
    private static CdcProcess applier;

    @BeforeAll
    static void start() throws Exception {
        master = TestMysql.master("charset-master");
        satellite = TestMysql.satellite("charset-satellite");
        TestKafka kafka = new TestKafka(TestKafka.broker());
        master.run("SET GLOBAL character_set_server = latin1");
        satellite.run("RESET BINARY LOGS AND GTIDS", "SET GLOBAL gtid_purged = '" + executed() + "'");
        capture = CdcProcess.capture(kafka, master);
        Docker.await("capture is ready", 120, () -> capture.get("/ready").startsWith("200"));
        applier = CdcProcess.applier(kafka, satellite, Map.of());
        master.run("CREATE DATABASE app", "CREATE TABLE app.plain (id INT PRIMARY KEY)");
        awaitDecodedRows();
    }

    /** Until capture has caught up, everything goes raw. */
    private static void awaitDecodedRows() {
        Docker.await("a transaction as rows", 120, () -> {
            long before = rows();
            master.run("INSERT INTO app.plain SELECT COUNT(*) FROM app.plain");
            awaitSatellite();
            return rows() > before;
        });
    }

    @AfterAll
    static void stop() throws Exception {
        applier.close();
        capture.close();
    }

    private static String executed() throws Exception {
        return master.text("SELECT REPLACE(@@global.gtid_executed, '\n', '')");
    }

    private static void awaitSatellite() throws Exception {
        String all = executed();
        Docker.await("the satellite has " + all, 120, () -> satellite.has(all));
    }

    /** Transactions that the satellite got as rows. */
    private static long rows() throws Exception {
        return applier.get("/metrics").lines().filter(l -> l.startsWith("multimed_applier_transactions_total{kind=\"rows\"}"))
                .mapToLong(l -> (long) Double.parseDouble(l.substring(l.lastIndexOf(' ') + 1))).sum();
    }

    /** By the database's name, how its table t comes about; # is the name. */
    private static Map<String, List<String>> definitions() {
        Map<String, List<String>> all = new LinkedHashMap<>();
        all.put("of_the_column", List.of(LATIN1, "CREATE TABLE #.t (id INT PRIMARY KEY, v VARCHAR(50) CHARACTER SET utf8mb4)"));
        all.put("of_the_columns_collation", List.of(LATIN1, "CREATE TABLE #.t (id INT PRIMARY KEY, v VARCHAR(50) COLLATE utf8mb4_bin)"));
        all.put("national", List.of(LATIN1, "CREATE TABLE #.t (id INT PRIMARY KEY, v NVARCHAR(50))"));
        all.put("national_char", List.of(LATIN1, "CREATE TABLE #.t (id INT PRIMARY KEY, v NATIONAL CHAR(50))"));
        all.put("of_the_table", List.of(LATIN1, TABLE_UTF8));
        all.put("of_the_tables_collation", List.of(LATIN1, TABLE + " COLLATE utf8mb4_bin"));
        all.put("of_key_and_default", List.of(LATIN1, "CREATE TABLE #.t (id INT, k VARCHAR(9) DEFAULT 'ké',"
                + " v VARCHAR(50) NOT NULL DEFAULT 'vé', PRIMARY KEY (id, k)) COLLATE utf8mb4_bin"));
        all.put("of_the_database", List.of(UTF8, TABLE));
        all.put("of_the_databases_collation", List.of("CREATE DATABASE # COLLATE utf8mb4_bin", TABLE));
        all.put("in_a_comment", List.of("CREATE DATABASE # /*!40100 DEFAULT CHARACTER SET utf8mb4 */", TABLE));
        all.put("of_the_session", List.of("SET character_set_server = utf8mb4", "CREATE DATABASE #", TABLE));
        all.put("of_another_database", List.of(LATIN1.replace("#", "#_used"), "USE #_used", UTF8, TABLE));
        all.put("database_changed", List.of(LATIN1, "ALTER DATABASE # CHARACTER SET utf8mb4", TABLE));
        all.put("database_changed_by_collation", List.of(LATIN1, "ALTER DATABASE # COLLATE utf8mb4_bin", TABLE));
        all.put("database_was_there", List.of(UTF8, "CREATE DATABASE IF NOT EXISTS # CHARACTER SET latin1", TABLE));
        all.put("database_anew", List.of(LATIN1, "DROP DATABASE #", UTF8, TABLE));
        all.put("converted", List.of(LATIN1, TABLE, "ALTER TABLE #.t CONVERT TO CHARACTER SET utf8mb4"));
        all.put("default_changed", List.of(LATIN1, "CREATE TABLE #.t (id INT PRIMARY KEY)",
                "ALTER TABLE #.t DEFAULT CHARACTER SET utf8mb4", "ALTER TABLE #.t ADD COLUMN v VARCHAR(50)"));
        all.put("only_the_default_changed", List.of(UTF8, TABLE, "ALTER TABLE #.t DEFAULT CHARACTER SET latin1"));
        all.put("added", List.of(LATIN1, "CREATE TABLE #.t (id INT PRIMARY KEY) CHARACTER SET utf8mb4",
                "ALTER TABLE #.t ADD COLUMN v TEXT"));
        all.put("modified", List.of(LATIN1, TABLE_UTF8, "ALTER TABLE #.t MODIFY COLUMN v VARCHAR(60)"));
        all.put("changed_by_collation", List.of(LATIN1, TABLE, "ALTER TABLE #.t MODIFY COLUMN v VARCHAR(50) COLLATE utf8mb4_bin"));
        all.put("created_like",
                List.of(UTF8.replace("#", "#_from"), TABLE.replace("#", "#_from"), LATIN1, "CREATE TABLE #.t LIKE #_from.t"));
        all.put("renamed", List.of(UTF8.replace("#", "#_from"), TABLE.replace("#.t", "#_from.t"), LATIN1, "RENAME TABLE #_from.t TO #.t",
                "ALTER TABLE #.t MODIFY COLUMN v VARCHAR(60)"));
        all.put("selected", List.of(LATIN1, "CREATE TABLE #.t (PRIMARY KEY (id)) SELECT 0 AS id, CONVERT('' USING utf8mb4) AS v",
                "ALTER TABLE #.t MODIFY COLUMN v VARCHAR(50) CHARACTER SET utf8mb4"));
        return all;
    }

    @Test
    void textArrivesAsItIsInTheMastersBinlog() throws Exception {
        definitions().forEach((name, sql) -> master.run(sql.stream().map(s -> s.replace("#", name)).toArray(String[]::new)));
        awaitDecodedRows();
        long before = rows();
        List<String> changes = new ArrayList<>();
        for (String name : definitions().keySet()) {
            changes.add("INSERT INTO " + name + ".t (id, v) VALUES (1, 'é€ø'), (2, 'plain')");
            changes.add("UPDATE " + name + ".t SET v = CONCAT(v, 'ß') WHERE id = 1");
        }
        master.run(changes.toArray(String[]::new));
        awaitSatellite();
        assertEquals(stored(master), stored(satellite));
        Docker.await("all came as rows", 30, () -> rows() - before == changes.size());
    }

    private static Map<String, List<List<String>>> stored(TestMysql server) throws Exception {
        Map<String, List<List<String>>> stored = new LinkedHashMap<>();
        for (String name : definitions().keySet()) {
            stored.put(name, server.rows("SELECT id, CHARSET(v), v, HEX(v) FROM " + name + ".t WHERE id > 0 ORDER BY id"));
        }
        return stored;
    }
}
