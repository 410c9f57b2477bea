package multimed.apply;

import static multimed.log.TestRecords.statement;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.util.List;
import multimed.log.TestRecords;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Statements of the master on a satellite that has indexes of its own. */
class OwnIndexesIT {
    private static final String NAME = "multimed_own_0123456789ab";
    private static TestMysql satellite;
    private static WriterFixture applier;
    private static long transaction;

    @BeforeAll
    static void start() throws Exception {
        satellite = TestMysql.satellite("own-satellite");
        applier = new WriterFixture(satellite);
    }

    @AfterAll
    static void stop() {
        applier.close();
    }

    @BeforeEach
    void tables() throws Exception {
        apply("DROP DATABASE IF EXISTS app", "CREATE DATABASE app", "CREATE TABLE app.parent (id INT PRIMARY KEY)",
                "CREATE TABLE app.t (id INT PRIMARY KEY, a INT, note VARCHAR(700))", "CREATE TABLE app.other (id INT PRIMARY KEY, a INT)",
                "CREATE TABLE app.parts (id INT, a INT) PARTITION BY HASH (id) PARTITIONS 2", "CREATE TABLE app.part (id INT, a INT)");
        satellite.run("CREATE INDEX " + NAME + " ON app.t (a, note)", "CREATE INDEX " + NAME + " ON app.other (a)",
                "CREATE INDEX " + NAME + " ON app.parts (a)");
    }

    private static void apply(String... statements) throws Exception {
        for (String sql : statements) {
            applier.write(statement(++transaction, "app", sql));
        }
    }

    /** As name(columns). */
    private static List<List<String>> indexes(String table) throws SQLException {
        return satellite.rows("SELECT CONCAT(index_name, '(', GROUP_CONCAT(column_name ORDER BY seq_in_index), ')') "
                + "FROM information_schema.statistics WHERE table_schema = 'app' AND table_name = '" + table
                + "' AND index_name <> 'PRIMARY' GROUP BY index_name ORDER BY 1");
    }

    @Test
    void aColumnThatGetsTooLongForAKey() throws Exception {
        apply("ALTER TABLE t MODIFY note VARCHAR(2000)");
        assertEquals(List.of(), indexes("t"));
        assertEquals(List.of(List.of(NAME + "(a)")), indexes("other"), "of a table that the statement does not name");
    }

    @Test
    void anExchangeOfAPartition() throws Exception {
        apply("ALTER TABLE parts EXCHANGE PARTITION p0 WITH TABLE part");
        assertEquals(List.of(), indexes("parts"));
    }

    @Test
    void aForeignKeyStillMakesItsOwnIndex() throws Exception {
        apply("ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES parent (id)");
        assertEquals(List.of(List.of("a(a)")), indexes("t"));
    }

    @Test
    void aCopyAndARenamedTableHaveNone() throws Exception {
        apply("CREATE TABLE copy LIKE t", "RENAME TABLE other TO another");
        assertEquals(List.of(), indexes("copy"));
        assertEquals(List.of(), indexes("another"));
    }

    @Test
    void whatDoesNotDependOnIndexesLeavesThem() throws Exception {
        apply("TRUNCATE TABLE t", "CREATE TABLE u (t INT)", "ALTER TABLE u ADD COLUMN b INT");
        assertEquals(List.of(List.of(NAME + "(a,note)")), indexes("t"));
    }

    @Test
    void whoMakesAnIndexIsEnded() throws Exception {
        try (var maker = satellite.connect(); var making = maker.createStatement()) {
            making.execute("DO GET_LOCK('multimed_own_indexes', 0)");
            apply("ALTER TABLE t ADD COLUMN b INT");
            assertThrows(SQLException.class, () -> making.execute("DO 1"));
        }
        assertEquals("1", satellite.text("SELECT IS_FREE_LOCK('multimed_own_indexes')"), "others may go on");
    }

    @Test
    void nothingOfThisHasAGtid() throws Exception {
        apply("ALTER TABLE t DROP COLUMN note");
        assertTrue(satellite.text("SELECT @@global.gtid_executed").matches(TestRecords.UUID + ":1-" + transaction));
    }
}
