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
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.FatalException;

/** Questions to the master over JDBC, and the marks of its history. One connection, one thread; closed after any error. */
public final class Master implements AutoCloseable {
    /**
     * What satellites have must not be lost by the master: with any other value of the first two a power cut can take acknowledged
     * commits back. With another of the third, it acknowledges commits that are in no binlog.
     */
    private static final SortedMap<String, String> NEEDED = new TreeMap<>(Map.of("sync_binlog", "1", "innodb_flush_log_at_trx_commit", "1",
            "binlog_error_action", "ABORT_SERVER", "log_bin", "1", "gtid_mode", "ON", "binlog_format", "ROW", "binlog_row_image", "FULL"));

    /** Nobody waits longer for a GTID that a capture took which then froze. */
    private static final int OWNED_S = 10;
    private static final Pattern BOOT = Pattern.compile("boot-([0-9a-f]{4})([0-9a-f]{12})");

    private final Connection connection;

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

    /** The source of GTIDs that names this boot of it: zeros, then the nonce in its report_host; null if that has none. The gate does the same. */
    public Gtid.Source boot() throws SQLException {
        return ofBoot("00000000-0000-0000-");
    }

    /** The source under which checks of this boot are counted, from 1 on; null if the master does not name its boots. */
    public Gtid.Source checks() throws SQLException {
        return ofBoot("00000000-0000-0001-");
    }

    /** The source of marks that satellites got ahead of the log in this boot; null if the master does not name its boots. */
    public Gtid.Source ahead() throws SQLException {
        return ofBoot("00000000-0000-0002-");
    }

    private Gtid.Source ofBoot(String prefix) throws SQLException {
        Matcher nonce = BOOT.matcher(String.valueOf(value("SELECT @@GLOBAL.report_host")));
        return nonce.matches() ? new Gtid.Source(UUID.fromString(prefix + nonce.group(1) + "-" + nonce.group(2)), "") : null;
    }

    /** A transaction without changes, which its binlog has under this GTID. */
    public void commitNothing(Gtid gtid) throws SQLException {
        own(gtid);
        commit();
    }

    /** The same; throws if somebody else has committed that GTID: the server then does nothing, and says nothing. */
    public void commitNothingAsFirst(Gtid gtid) throws SQLException {
        own(gtid);
        if (value("SELECT @@SESSION.gtid_owned").isEmpty()) {
            throw new SQLException(gtid + " is somebody else's");
        }
        commit();
    }

    private void own(Gtid gtid) throws SQLException {
        execute("SET SESSION wait_timeout = " + OWNED_S + ", SESSION gtid_next = '" + gtid + "'");
    }

    private void commit() throws SQLException {
        execute("BEGIN");
        execute("COMMIT");
        execute("SET SESSION gtid_next = 'AUTOMATIC', SESSION wait_timeout = DEFAULT");
    }

    private void execute(String statement) throws SQLException {
        try (Statement s = connection.createStatement()) {
            s.execute(statement);
        }
    }

    public String serverUuid() throws SQLException {
        return value("SELECT @@GLOBAL.server_uuid");
    }

    /** The name of the zone that SYSTEM stands for. */
    public String systemTimeZone() throws SQLException {
        return value("SELECT @@GLOBAL.system_time_zone");
    }

    /** Whether who creates a routine gets privileges on it, and all lose theirs when it is dropped. */
    public boolean grantsOnRoutines() throws SQLException {
        return value("SELECT @@GLOBAL.automatic_sp_privileges").equals("1");
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

    /** Whether a table has so many columns, none of them generated, no expressions in its keys, and no CHECKs. */
    public boolean isPlain(String database, String table, int columns) throws SQLException {
        String of = " WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";
        String query = "SELECT COUNT(*) = ? AND SUM(GENERATION_EXPRESSION <> '') = 0"
                + " AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS" + of + " AND EXPRESSION IS NOT NULL)"
                + " AND NOT EXISTS (SELECT 1 FROM information_schema.TABLE_CONSTRAINTS" + of
                + " AND CONSTRAINT_TYPE = 'CHECK')"
                + " FROM information_schema.COLUMNS" + of;
        try (PreparedStatement s = connection.prepareStatement(query)) {
            s.setInt(1, columns);
            for (int i = 2; i <= 6; i += 2) {
                s.setString(i, database);
                s.setString(i + 1, table);
            }
            try (ResultSet r = s.executeQuery()) {
                r.next();
                return r.getBoolean(1);
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
