package multimed.verify;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.master.Master;
import multimed.master.MasterAccess;

/**
 * In: a master. Out: the GTIDs in its binlogs, in their order, as SHOW BINLOG EVENTS lists them: capture reads them in another
 * way. A file that is being written is read up to its end, and later on from there. Must never: skip a file, or hold a lock on the
 * master.
 */
final class BinlogListing implements OrderProof.Binlog, AutoCloseable {
    private static final Pattern GTID = Pattern.compile("GTID_NEXT *= *'([^']+)'");

    private final Connection questions;
    private final Connection stream;
    private String file;
    private long position;
    private Statement statement;
    private ResultSet events;

    BinlogListing(MasterAccess access) throws SQLException {
        questions = access.connect();
        stream = access.connect();
        try (Statement s = stream.createStatement()) {
            // The reader of the log may let the master wait.
            s.execute("SET SESSION net_write_timeout = 3600");
        }
    }

    /** Starts in the newest file before which nothing lies that is not in the set; in the oldest file if there is none. */
    @Override
    public GtidSet open(GtidSet before) throws SQLException {
        List<String> files = files();
        GtidSet lies = GtidSet.EMPTY;
        for (int i = files.size() - 1; i >= 0; i--) {
            lies = liesBefore(files.get(i));
            if (before.containsAll(lies) || i == 0) {
                read(files.get(i), 4);
                break;
            }
        }
        return before.containsAll(lies) ? before : lies;
    }

    private List<String> files() throws SQLException {
        return Master.binlogs(questions);
    }

    private GtidSet liesBefore(String name) throws SQLException {
        try (Statement s = questions.createStatement(); ResultSet r = s.executeQuery("SHOW BINLOG EVENTS IN '" + name + "' LIMIT 4")) {
            while (r.next()) {
                if (r.getString("Event_type").equalsIgnoreCase("Previous_gtids")) {
                    return GtidSet.parse(r.getString("Info"));
                }
            }
        }
        throw new SQLException("binlog " + name + " does not say which GTIDs lie before it");
    }

    private void read(String name, long from) throws SQLException {
        closeStatement();
        file = name;
        position = from;
        statement = stream.createStatement();
        // Connector/J's way to say: row by row, whatever the length.
        statement.setFetchSize(Integer.MIN_VALUE);
        events = statement.executeQuery("SHOW BINLOG EVENTS IN '" + name + "' FROM " + from);
    }

    @Override
    public Gtid next() throws SQLException {
        Gtid gtid = inThisFile();
        while (gtid == null) {
            // Listed before the file is read on: if there is a later one now, this one is complete.
            String later = fileAfter(file);
            read(file, position);
            gtid = inThisFile();
            if (gtid == null && later == null) {
                return null;
            }
            if (gtid == null) {
                read(later, 4);
                gtid = inThisFile();
            }
        }
        return gtid;
    }

    private Gtid inThisFile() throws SQLException {
        while (events.next()) {
            position = Math.max(position, events.getLong("End_log_pos"));
            if (events.getString("Event_type").toLowerCase(Locale.ROOT).startsWith("gtid")) {
                Matcher m = GTID.matcher(events.getString("Info"));
                if (!m.find()) {
                    throw new SQLException("binlog " + file + ": no GTID in \"" + events.getString("Info") + '"');
                }
                return Gtid.parse(m.group(1));
            }
        }
        return null;
    }

    private String fileAfter(String name) throws SQLException {
        List<String> files = files();
        int at = files.indexOf(name);
        if (at < 0) {
            throw new SQLException("the master purged binlog " + name + " while it was read: try again");
        }
        return at + 1 < files.size() ? files.get(at + 1) : null;
    }

    private void closeStatement() throws SQLException {
        if (statement != null) {
            events.close();
            statement.close();
        }
    }

    /** Without reading what is left of a file. */
    @Override
    public void close() {
        for (Connection each : List.of(stream, questions)) {
            try {
                each.abort(Runnable::run);
            } catch (SQLException e) {
                // closed already
            }
        }
    }
}
