package multimed.apply;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicLong;
import multimed.log.GtidSet;

/**
 * The one session that writes to the satellite; it holds the applier's lock, so whoever has it is alone. Statements are
 * strings of one char per byte ({@link SqlBuffer#toByteString}). One thread uses it; {@link #busySinceNanos} and
 * {@link #abort} are for the watcher's.
 */
final class SatelliteSession implements Watched, AutoCloseable {
    /** What a session starts from; see {@link SessionSettings}. */
    record Identity(String incarnation, long connectionId, GtidSet executed, boolean cascadesAreLogged, int version) {}

    /** Called with the place of a result in its packet, and how many rows that statement found. */
    interface RowCounts {
        void check(int place, long rows) throws ApplyFailure;
    }

    private final Connection connection;
    private final Statement statement;
    private final Identity identity;
    private final AtomicLong busySince = new AtomicLong();

    SatelliteSession(Connection connection, Identity identity) throws SQLException {
        this.connection = connection;
        this.identity = identity;
        this.statement = connection.createStatement();
        statement.setEscapeProcessing(false);
    }

    @Override
    public long connectionId() {
        return identity.connectionId();
    }

    Identity identity() {
        return identity;
    }

    /** Runs one or more statements; the server stops at the first that fails. */
    void execute(String sql) throws SQLException {
        enter();
        try {
            statement.execute(sql);
            while (statement.getMoreResults() || statement.getUpdateCount() != -1) {
                continue;
            }
        } finally {
            leave();
        }
    }

    /** Like {@link #execute}, for statements without result sets, telling each one's row count in order. */
    void execute(String sql, RowCounts counts) throws SQLException, ApplyFailure {
        enter();
        try {
            statement.execute(sql);
            int place = 0;
            do {
                counts.check(place++, statement.getLargeUpdateCount());
                statement.getMoreResults();
            } while (statement.getLargeUpdateCount() != -1);
        } finally {
            leave();
        }
    }

    /** First column of the first row; null if there is none. */
    String text(String sql) throws SQLException {
        enter();
        try (ResultSet rows = statement.executeQuery(sql)) {
            return rows.next() ? rows.getString(1) : null;
        } finally {
            leave();
        }
    }

    GtidSet executed() throws SQLException {
        return GtidSet.parse(text("SELECT @@global.gtid_executed"));
    }

    private void enter() {
        busySince.set(System.nanoTime() | 1);
    }

    private void leave() {
        busySince.set(0);
    }

    /** When the call in flight began, by System.nanoTime(); 0 if there is none. */
    @Override
    public long busySinceNanos() {
        return busySince.get();
    }

    /** From any thread: makes the call in flight fail. */
    @Override
    public void abort() {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException e) {
            // already closed
        }
    }

    @Override
    public void close() {
        abort();
    }
}
