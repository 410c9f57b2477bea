package multimed.master;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import multimed.gtid.GtidSet;
import multimed.log.FatalException;

/** Questions to the master over JDBC. One connection, one thread; closed after any error. */
public final class Master implements AutoCloseable {
    /**
     * What satellites have must not be lost by the master: with any other value of the first two a power cut can take acknowledged
     * commits back.
     */
    private static final SortedMap<String, String> NEEDED = new TreeMap<>(Map.of("sync_binlog", "1", "innodb_flush_log_at_trx_commit", "1",
            "log_bin", "1", "gtid_mode", "ON", "binlog_format", "ROW", "binlog_row_image", "FULL"));

    private final Connection connection;

    /** How many columns a table has, and how many of them are generated. */
    public record Columns(int all, int generated) {
        public static Columns plain(int all) {
            return new Columns(all, 0);
        }
    }

    /** How far a master has written: its set and, read after it, the end of its binlog. */
    public record Position(GtidSet executed, String file, long offset) {}

    public Master(MasterAccess access) throws SQLException {
        connection = access.connect();
    }

    public GtidSet executed() throws SQLException {
        return GtidSet.parse(value("SELECT @@GLOBAL.gtid_executed"));
    }

    public GtidSet purged() throws SQLException {
        return GtidSet.parse(value("SELECT @@GLOBAL.gtid_purged"));
    }

    public String serverUuid() throws SQLException {
        return value("SELECT @@GLOBAL.server_uuid");
    }

    /** The name of the zone that SYSTEM stands for. */
    public String systemTimeZone() throws SQLException {
        return value("SELECT @@GLOBAL.system_time_zone");
    }

    /** Throws FatalException if one is another. */
    public void requireSettings() throws SQLException {
        try (Statement s = connection.createStatement();
                ResultSet r = s.executeQuery("SELECT @@GLOBAL." + String.join(", @@GLOBAL.", NEEDED.keySet()))) {
            r.next();
            int column = 0;
            for (var needed : NEEDED.entrySet()) {
                String is = r.getString(++column);
                if (!needed.getValue().equals(is)) {
                    throw new FatalException("the master runs with " + needed.getKey() + "=" + is + ", needed is " + needed.getValue());
                }
            }
        }
    }

    public Position position() throws SQLException {
        GtidSet executed = executed();
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(binlogStatus())) {
            if (!r.next()) {
                throw new SQLException("the master has no binlog status");
            }
            return new Position(executed, r.getString(1), r.getLong(2));
        }
    }

    /** The names of its binlog files, oldest first. */
    public List<String> binlogs() throws SQLException {
        return binlogs(connection);
    }

    public static List<String> binlogs(Connection connection) throws SQLException {
        List<String> names = new ArrayList<>();
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery("SHOW BINARY LOGS")) {
            while (r.next()) {
                names.add(r.getString(1));
            }
        }
        return names;
    }

    private String binlogStatus() throws SQLException {
        var meta = connection.getMetaData();
        boolean renamed = meta.getDatabaseMajorVersion() * 100 + meta.getDatabaseMinorVersion() >= 804;
        return renamed ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS";
    }

    public Columns columns(String database, String table) throws SQLException {
        String query = "SELECT COUNT(*), COALESCE(SUM(GENERATION_EXPRESSION <> ''), 0) FROM information_schema.COLUMNS"
                + " WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";
        try (PreparedStatement s = connection.prepareStatement(query)) {
            s.setString(1, database);
            s.setString(2, table);
            try (ResultSet r = s.executeQuery()) {
                r.next();
                return new Columns(r.getInt(1), r.getInt(2));
            }
        }
    }

    public Collations collations() throws SQLException {
        Map<Integer, Collations.Collation> byNumber = new HashMap<>();
        String query = "SELECT ID, COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS";
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(query)) {
            while (r.next()) {
                byNumber.put(r.getInt(1), new Collations.Collation(r.getString(2), r.getString(3)));
            }
        }
        return new Collations(byNumber);
    }

    private String value(String query) throws SQLException {
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(query)) {
            r.next();
            return r.getString(1);
        }
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (SQLException e) {
            // the server ends the session when the socket is gone
        }
    }
}
