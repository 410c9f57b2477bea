package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import multimed.capture.Definitions;
import multimed.gtid.GtidSet;
import multimed.log.proto.Creator;
import multimed.log.proto.LogRecord;
import multimed.master.Master;
import multimed.master.MasterAccess;
import multimed.process.Address;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who creates a routine without the privileges to use it gets these, on a satellite as on the master: a real master's binlog, replayed. */
class RoutinePrivilegesIT {
    /** Without the one who granted it: on a satellite that is the applier, as for every GRANT. */
    private static final String ROWS = "SELECT Host, Db, User, Routine_name, Routine_type, Proc_priv, Timestamp FROM mysql.procs_priv ORDER BY 1, 2, 3, 4, 5";
    private static final String PASSWORD = "pass-1";

    private static TestMysql master;
    private static TestMysql satellite;
    private static WriterFixture applier;
    private static MasterAccess access;
    private static GtidSet replayed;
    private static int schemas;

    private String schema;

    @BeforeAll
    static void start() throws Exception {
        master = TestMysql.master("routine-master");
        satellite = TestMysql.satellite("routine-satellite");
        master.run("SET GLOBAL log_bin_trust_function_creators = ON");
        access = new MasterAccess(new Address(master.address(), 3306), TestMysql.USER, TestMysql.PASSWORD);
        applier = new WriterFixture(satellite);
        replayed = executed();
    }

    @AfterAll
    static void stop() {
        applier.close();
    }

    @BeforeEach
    void schema() {
        schema = "rp_" + ++schemas;
        master.run("CREATE DATABASE " + schema);
    }

    private static GtidSet executed() throws SQLException {
        return GtidSet.parse(master.text("SELECT @@global.gtid_executed"));
    }

    private static List<LogRecord> records() throws Exception {
        GtidSet now = executed();
        try (Master asked = new Master(access)) {
            List<LogRecord> records = Definitions.read(access, replayed, now, asked.collations());
            replayed = now;
            return records;
        }
    }

    private static void replay() throws Exception {
        for (LogRecord record : records()) {
            assertFalse(record.hasRebuild(), record.getRebuild().getReason());
            applier.write(record);
            assertTrue(satellite.has(record.getGtid()));
        }
    }

    private void create(String account, String... grants) {
        master.run("CREATE USER " + account + " IDENTIFIED BY '" + PASSWORD + "'", "GRANT CREATE ROUTINE ON *.* TO " + account);
        for (String grant : grants) {
            master.run("GRANT " + grant.replace("#", schema) + " TO " + account);
        }
    }

    private void as(String user, String... statements) throws SQLException {
        try (Connection connection = master.connect(user, PASSWORD); Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql.replace("#", schema));
            }
        }
    }

    private List<List<String>> rows(TestMysql server) throws SQLException {
        return server.rows(ROWS).stream().filter(row -> row.get(1).equals(schema)).toList();
    }

    private void assertRows(String... names) throws Exception {
        replay();
        assertEquals(rows(master), rows(satellite));
        assertEquals(List.of(names), rows(satellite).stream().map(row -> row.get(2) + " " + row.get(3)).toList());
    }

    @Test
    void a_creator_may_use_its_function_on_a_satellite() throws Exception {
        create("ann", "SELECT ON #.*");
        as("ann", "CREATE FUNCTION #.f(a INT) RETURNS INT DETERMINISTIC RETURN a + 1", "USE #", "CREATE PROCEDURE p() SELECT 1");
        assertRows("ann f", "ann p");
        try (Connection connection = satellite.connect("ann", PASSWORD); Statement statement = connection.createStatement()) {
            assertTrue(statement.executeQuery("SELECT " + schema + ".f(1)").next());
        }
        as("ann", "DROP FUNCTION #.f", "CREATE FUNCTION IF NOT EXISTS #.f() RETURNS INT DETERMINISTIC RETURN 1", "DROP PROCEDURE #.p");
        assertRows("ann f");
        master.run("DROP USER ann");
        assertRows();
    }

    @Test
    void who_has_the_privileges_gets_no_more() throws Exception {
        create("bob", "EXECUTE ON *.*");
        create("cat", "ALL ON #.*");
        create("cid", "ALL ON `rp\\_%`.*");
        create("dan", "EXECUTE ON #.*", "ALTER ROUTINE ON *.*");
        for (String user : List.of("bob", "cat", "cid", "dan")) {
            as(user, "CREATE FUNCTION #.f_" + user + "() RETURNS INT DETERMINISTIC RETURN 1");
        }
        assertRows("bob f_bob");
    }

    @Test
    void a_default_role_counts_as_the_accounts_own() throws Exception {
        master.run("CREATE ROLE maker, sub", "GRANT EXECUTE, ALTER ROUTINE ON " + schema + ".* TO sub", "GRANT sub TO maker");
        create("eve", "SELECT ON #.*");
        create("eva");
        master.run("GRANT maker TO eve, eva", "SET DEFAULT ROLE maker TO eve");
        as("eve", "CREATE FUNCTION #.f() RETURNS INT DETERMINISTIC RETURN 1");
        as("eva", "CREATE FUNCTION #.g() RETURNS INT DETERMINISTIC RETURN 1");
        assertRows("eva g");
    }

    @Test
    void the_client_gets_it_and_not_the_definer() throws Exception {
        create("fay", "SET_ANY_DEFINER ON *.*");
        create("gus");
        as("fay", "CREATE DEFINER = gus PROCEDURE #.p() SELECT 1");
        master.run("CREATE DEFINER = gus PROCEDURE " + schema + ".q() SELECT 1");
        assertRows("fay p");
    }

    @Test
    void a_routine_that_was_there_gives_nothing() throws Exception {
        create("hal");
        master.run("CREATE FUNCTION " + schema + ".f() RETURNS INT DETERMINISTIC RETURN 1");
        as("hal", "CREATE FUNCTION IF NOT EXISTS #.f() RETURNS INT DETERMINISTIC RETURN 2");
        assertRows();
    }

    @Test
    void names_are_no_sql() throws Exception {
        master.run("CREATE USER `o'b\"r``\\\\é`@'%' IDENTIFIED BY '" + PASSWORD + "'",
                "GRANT CREATE ROUTINE ON *.* TO `o'b\"r``\\\\é`@'%'");
        try (Connection connection = master.connect("o'b%22r%60%5C%5C%C3%A9", PASSWORD);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE PROCEDURE " + schema + ".`a'b``c\"\\\\ (é` () SELECT 1");
            statement.execute("SET sql_mode = 'ANSI_QUOTES'");
            statement.execute("CREATE PROCEDURE \"" + schema + "\".\"d\"\"e\" () SELECT 1");
        }
        replay();
        assertEquals(2, rows(satellite).size());
        assertEquals(rows(master), rows(satellite));
    }

    @Test
    void what_an_interrupted_attempt_left_is_made_again() throws Exception {
        create("ida");
        as("ida", "CREATE FUNCTION #.f() RETURNS INT DETERMINISTIC RETURN 1");
        List<LogRecord> records = records();
        for (LogRecord record : records.subList(0, records.size() - 1)) {
            applier.write(record);
        }
        satellite.run("CREATE FUNCTION " + schema + ".f() RETURNS INT DETERMINISTIC RETURN 1");
        applier.write(records.get(records.size() - 1));
        assertRows("ida f");
        assertEquals("ida@%", satellite.text("SELECT definer FROM information_schema.routines WHERE routine_schema = '" + schema + "'"));
    }

    @Test
    void without_automatic_privileges_nothing_is_granted_and_nothing_taken() throws Exception {
        create("joe");
        as("joe", "CREATE FUNCTION #.kept() RETURNS INT DETERMINISTIC RETURN 1");
        replay();
        master.run("SET GLOBAL automatic_sp_privileges = OFF");
        as("joe", "CREATE FUNCTION #.f() RETURNS INT DETERMINISTIC RETURN 1");
        master.run("DROP FUNCTION " + schema + ".kept", "SET GLOBAL automatic_sp_privileges = ON");
        for (LogRecord record : records()) {
            applier.write(record.toBuilder().setStatement(record.getStatement().toBuilder().setKeepsPrivileges(true)).build());
        }
        assertRows("joe kept");
        as("joe", "CREATE FUNCTION #.kept() RETURNS INT DETERMINISTIC RETURN 1");
        master.run("DROP FUNCTION " + schema + ".kept");
        assertRows();
    }

    @Test
    void what_is_not_certain_makes_the_satellite_clone_again() throws Exception {
        create("kim", "ALL ON `rp%`.*", "SELECT ON `rp___`.*");
        schema = "rp_xx";
        master.run("CREATE DATABASE " + schema);
        create("kit");
        as("kim", "CREATE FUNCTION #.f() RETURNS INT DETERMINISTIC RETURN 1");
        List<LogRecord> records = records();
        for (LogRecord record : records.subList(0, records.size() - 1)) {
            applier.write(record);
        }
        LogRecord last = records.get(records.size() - 1);
        assertEquals(Creator.newBuilder().setUser("kim").setHost("%").setSchema(schema).setRoutine("f").build(),
                last.getStatement().getCreator());
        Divergence divergence = assertThrows(Divergence.class, () -> applier.write(last));
        assertEquals(Divergence.Reason.REBUILD_RECORD, divergence.reason());
        applier.writer().abandon();
        assertFalse(satellite.has(last.getGtid()));
    }
}
