package multimed.apply;

import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicLong;
import multimed.apply.sql.SessionSettings;
import multimed.gtid.GtidSet;
import multimed.mysql.PipelinedConnection;
import multimed.mysql.QueryText;
import multimed.mysql.Reply;

/**
 * The one session that writes to the satellite; it holds the applier's lock, so whoever has it is alone. One thread uses it;
 * {@link #busySinceNanos} and {@link #abort} are for the watcher's.
 */
final class SatelliteSession implements Watched, AutoCloseable {
    /** What a session starts from; see {@link SessionSettings}. */
    record Identity(String incarnation, GtidSet executed, boolean cascadesAreLogged, int version) {}

    /** Given the index of a result in its packet, and how many rows that statement found: what is wrong with that, or null. */
    interface RowCounts {
        ApplyFailure check(int index, long rows);
    }

    private final PipelinedConnection connection;
    private final Identity identity;
    private final AtomicLong busySince = new AtomicLong();

    SatelliteSession(PipelinedConnection connection, Identity identity) {
        this.connection = connection;
        this.identity = identity;
    }

    @Override
    public long connectionId() {
        return connection.id();
    }

    Identity identity() {
        return identity;
    }

    /** Runs one or more statements; the server stops at the first that fails. */
    void execute(QueryText text) throws SQLException {
        enter();
        try {
            connection.execute(text);
        } finally {
            leave();
        }
    }

    /** Runs one statement that a client of the master wrote; what follows it in its text is an error. */
    void executeAlone(QueryText text) throws SQLException {
        enter();
        try {
            connection.executeAlone(text);
        } finally {
            leave();
        }
    }

    void execute(String sql) throws SQLException {
        execute(QueryText.of(sql));
    }

    /** Like {@link #execute}, telling each statement's row count in order; every answer is taken, whatever the counts are. */
    void execute(QueryText text, RowCounts counts) throws SQLException, ApplyFailure {
        ApplyFailure wrong = null;
        enter();
        try {
            connection.ask(text);
            Reply reply;
            int index = 0;
            do {
                reply = connection.answer();
                wrong = wrong != null ? wrong : counts.check(index++, reply.rows());
            } while (reply.more());
        } finally {
            leave();
        }
        if (wrong != null) {
            throw wrong;
        }
    }

    /** First column of the first row; null if there is none. */
    String text(String sql) throws SQLException {
        enter();
        try {
            return connection.text(sql);
        } finally {
            leave();
        }
    }

    /** The same of one query that has words of a client of the master; of the column that is wanted, from 0. */
    String textAlone(QueryText text, int column) throws SQLException {
        enter();
        try {
            return connection.textAlone(text, column);
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
        connection.close();
    }

    @Override
    public void close() {
        abort();
    }
}
