import com.mysql.cj.jdbc.JdbcStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * In: URL (with cursors and prepared statements on the server), DB_USER, DB_PASSWORD of the gate, with app.items in place,
 * on servers with the component that tells query attributes. Out: "fine", or an exception. Run as a single source file.
 */
public final class Attributes {
    private static final String ASK = "SELECT mysql_query_attribute_string('trace')";

    private Attributes() {}

    public static void main(String[] args) throws SQLException {
        String url = System.getenv("URL");
        try (Connection connection = DriverManager.getConnection(url, System.getenv("DB_USER"), System.getenv("DB_PASSWORD"))) {
            plain(connection);
            prepared(connection);
            cursor(connection, "");
            cursor(connection, ", mysql_query_attribute_string('trace')");
        }
        System.out.println("fine");
    }

    private static void plain(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            attribute(statement, "plain");
            check(first(statement.executeQuery(ASK)), "plain");
        }
    }

    /** The same types again are not sent again, unless there are attributes. */
    private static void prepared(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(ASK + ", ?")) {
            for (String value : new String[] {null, "one", "two", null, null}) {
                statement.unwrap(JdbcStatement.class).clearAttributes();
                if (value != null) {
                    attribute(statement, value);
                }
                statement.setLong(1, 5);
                check(first(statement.executeQuery()), value);
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT v FROM items WHERE id = ?")) {
            for (int id = 1; id < 6; id++) {
                attribute(statement, "read");
                statement.setInt(1, id);
                check(first(statement.executeQuery()), "item ü " + id);
                statement.unwrap(JdbcStatement.class).clearAttributes();
            }
        }
    }

    /** All rows, a few at a time. */
    private static void cursor(Connection connection, String more) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT v" + more + " FROM items WHERE id <= ? ORDER BY id")) {
            statement.setFetchSize(7);
            attribute(statement, "cursor");
            statement.setInt(1, 100);
            int rows = 0;
            try (ResultSet result = statement.executeQuery()) {
                while (result.next()) {
                    rows++;
                    check(result.getString(1), "item ü " + rows);
                    check(more.isEmpty() ? "cursor" : result.getString(2), "cursor");
                }
            }
            check(Integer.toString(rows), "100");
        }
    }

    private static void attribute(Statement statement, Object value) throws SQLException {
        statement.unwrap(JdbcStatement.class).setAttribute("trace", value);
    }

    private static String first(ResultSet result) throws SQLException {
        try (result) {
            result.next();
            return result.getString(1);
        }
    }

    private static void check(String found, String expected) {
        if (expected == null ? found != null : !expected.equals(found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }
}
