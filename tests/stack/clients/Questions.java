import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * In: URL, DB_USER, DB_PASSWORD of the gate; STATEMENTS, one a line. Out: for each a line for its text and one for it prepared: names of
 * the columns, their types, whether there are rows, and the first value.
 */
public final class Questions {
    private Questions() {}

    public static void main(String[] args) throws SQLException {
        try (Connection connection = DriverManager.getConnection(System.getenv("URL"), System.getenv("DB_USER"),
                System.getenv("DB_PASSWORD"))) {
            for (String sql : System.getenv("STATEMENTS").split("\n")) {
                try (Statement statement = connection.createStatement();
                        ResultSet rows = statement.executeQuery(sql.replace("?", "7"))) {
                    System.out.println(described(rows));
                }
                try (PreparedStatement statement = connection.prepareStatement(sql)) {
                    for (int at = 1; at <= statement.getParameterMetaData().getParameterCount(); at++) {
                        statement.setInt(at, 7);
                    }
                    try (ResultSet rows = statement.executeQuery()) {
                        System.out.println(described(rows));
                    }
                }
            }
        }
    }

    private static String described(ResultSet rows) throws SQLException {
        ResultSetMetaData columns = rows.getMetaData();
        StringBuilder names = new StringBuilder();
        for (int at = 1; at <= columns.getColumnCount(); at++) {
            names.append(columns.getColumnLabel(at)).append(' ').append(columns.getColumnTypeName(at)).append(',');
        }
        String first = null;
        while (rows.next()) {
            first = first == null ? rows.getString(1) : first;
            for (int at = 1; at <= columns.getColumnCount(); at++) {
                rows.getObject(at);
            }
        }
        return names + "\t" + first;
    }
}
