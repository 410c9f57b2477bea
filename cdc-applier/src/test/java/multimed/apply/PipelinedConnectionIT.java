package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.SQLException;
import multimed.mysql.PipelinedConnection;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The handshake and plain questions, against a real server. */
class PipelinedConnectionIT {
    private static TestMysql server;

    @BeforeAll
    static void start() {
        server = TestMysql.satellite("protocol");
    }

    private static PipelinedConnection open(String user, String password) throws SQLException {
        return PipelinedConnection.open(server.address(), 3306, user, password, 5000);
    }

    @Test
    void logsInTheLongWayFirstAndTheShortWayThen() throws Exception {
        server.run("CREATE USER fresh@'%' IDENTIFIED BY 'pässwörd'");
        for (int i = 0; i < 2; i++) {
            try (PipelinedConnection connection = open("fresh", "pässwörd")) {
                assertEquals("fresh@%", connection.text("SELECT CURRENT_USER()"));
                assertEquals(Long.toString(connection.id()), connection.text("SELECT CONNECTION_ID()"));
            }
        }
    }

    @Test
    void anEmptyPasswordIsOne() throws Exception {
        server.run("CREATE USER nobody@'%' IDENTIFIED BY ''");
        try (PipelinedConnection connection = open("nobody", "")) {
            assertEquals("nobody@%", connection.text("SELECT CURRENT_USER()"));
        }
    }

    @Test
    void aWrongPasswordIsRefusedAndNotShown() {
        SQLException refused = assertThrows(SQLException.class, () -> open(TestMysql.USER, "not this one"));
        assertEquals(1045, refused.getErrorCode());
        assertFalse(refused.getMessage().contains("not this one"));
    }

    @Test
    void anAccountOfAnotherPluginIsRefusedWithItsName() {
        server.run("CREATE USER old@'%' IDENTIFIED WITH sha256_password BY 'x'");
        SQLException refused = assertThrows(SQLException.class, () -> open("old", "x"));
        assertEquals("the account is not of caching_sha2_password but of sha256_password", refused.getMessage());
    }

    @Test
    void answersAndErrors() throws Exception {
        try (PipelinedConnection connection = open(TestMysql.USER, TestMysql.PASSWORD)) {
            assertEquals("x".repeat(70_000), connection.text("SELECT REPEAT('x', 70000)"));
            assertNull(connection.text("SELECT NULL"));
            assertNull(connection.text("SELECT 1 WHERE FALSE"));
            assertEquals("1", connection.text("SELECT 1 UNION SELECT 2"));
            connection.execute("SET @a = 1; SET @b = 2");
            assertEquals(1064, assertThrows(SQLException.class, () -> connection.execute("SET @a = 5; nonsense")).getErrorCode());
            assertEquals(1146, assertThrows(SQLException.class, () -> connection.text("SELECT * FROM mysql.nothing")).getErrorCode());
            assertEquals("5", connection.text("SELECT @a"));
        }
    }

    @Test
    void aServerThatIsNotThereIsToldAsLost() {
        SQLException lost = assertThrows(SQLException.class, () -> PipelinedConnection.open("127.0.0.1", 1, "u", "p", 1000));
        assertEquals("08S01", lost.getSQLState());
    }
}
