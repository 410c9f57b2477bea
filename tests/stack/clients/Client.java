import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * In: URL, DB_USER, DB_PASSWORD of the gate, with app.items in place. Out: "fine", or an exception.
 * What a Java application does with its driver, in short. Run as a single source file.
 */
public final class Client {
    private Client() {}

    public static void main(String[] args) throws SQLException {
        try (Connection connection = connect()) {
            check(read(connection, 5) == 5, "a prepared read");
            writes(connection);
            readOnly(connection);
            transaction(connection);
        }
        System.out.println("fine");
    }

    private static Connection connect() throws SQLException {
        return DriverManager.getConnection(System.getenv("URL"), System.getenv("DB_USER"), System.getenv("DB_PASSWORD"));
    }

    private static int read(Connection connection, int id) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT n, v, d, t, b FROM items WHERE id = ?")) {
            statement.setInt(1, id);
            try (ResultSet rows = statement.executeQuery()) {
                check(rows.next(), "a row");
                check(rows.getString("v").equals("item \u00fc " + id), "text");
                check(rows.getBytes("b").length == 3, "bytes");
                return rows.getInt("n");
            }
        }
    }

    private static void writes(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS from_java");
            statement.execute("CREATE TABLE from_java (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))");
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO from_java (v) VALUES (?)",
                Statement.RETURN_GENERATED_KEYS)) {
            for (int i = 0; i < 100; i++) {
                insert.setString(1, "row " + i);
                insert.addBatch();
            }
            insert.executeBatch();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                check(keys.next() && keys.getLong(1) == 1, "generated keys");
            }
        }
        check(count(connection) == 100, "own writes are read");
    }

    private static int count(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT COUNT(*) FROM from_java");
                ResultSet rows = statement.executeQuery()) {
            rows.next();
            return rows.getInt(1);
        }
    }

    /** What Spring's @Transactional(readOnly = true) sends. */
    private static void readOnly(Connection connection) throws SQLException {
        connection.setReadOnly(true);
        connection.setAutoCommit(false);
        check(count(connection) == 100, "a read-only transaction");
        check(read(connection, 7) == 7, "its second read");
        connection.commit();
        connection.setReadOnly(false);
        connection.setAutoCommit(true);
    }

    private static void transaction(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM from_java WHERE id <= 50");
            check(count(connection) == 50, "own writes inside a transaction");
            connection.rollback();
        }
        connection.setAutoCommit(true);
        check(count(connection) == 100, "after the rollback");
        check(connection.isValid(5), "ping");
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }
}
