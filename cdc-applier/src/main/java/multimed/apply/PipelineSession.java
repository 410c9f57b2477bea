package multimed.apply;

import com.google.protobuf.ByteString;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import multimed.apply.sql.SessionSettings;
import multimed.mysql.PipelinedConnection;
import multimed.mysql.Reply;

/** One of the pipeline's sessions, and the statements that were sent on it and are not yet answered. {@link #abort} and
 * {@link #busySinceNanos} are for {@link BlockerWatch}, on its own thread. */
final class PipelineSession implements Watched {
    private final PipelinedConnection connection;
    private final boolean cascadesAreLogged;
    private final AtomicLong busySince = new AtomicLong();
    private final ArrayDeque<Packet.Expectation> expected = new ArrayDeque<>();
    private final Packet packet = new Packet();
    private final Packet content = new Packet();
    private ByteString formatDescription = ByteString.EMPTY;
    /** Settings that the last row events were replayed under; null if the session has its initial ones. */
    private Map<String, String> altered;
    /** Whether the session commits each statement by itself. */
    private boolean autocommit;
    Task task;
    Script script;

    PipelineSession(PipelinedConnection connection, boolean cascadesAreLogged) {
        this.connection = connection;
        this.cascadesAreLogged = cascadesAreLogged;
    }

    PipelinedConnection connection() {
        return connection;
    }

    /** The COMMIT of what was executed here; may share its packet with what follows. */
    void addCommit(Runnable committed) {
        packet.add("COMMIT", committed);
    }

    /**
     * Restores the session's settings before a transaction with these, if that is needed; null: before anything but row events.
     * BINLOG sets session variables from its events' flags, and further row events set all of them again, so that only additional
     * settings must be restored before those: one SET of nine variables costs as much as the replay of a row.
     */
    private void restoreBefore(Map<String, String> next) {
        if (altered != null && (next == null || !next.keySet().containsAll(altered.keySet()))) {
            packet.add(SessionSettings.leave(altered, cascadesAreLogged));
            altered = null;
        }
    }

    void rollBack() throws SQLException {
        expected.clear();
        packet.add("ROLLBACK");
        packet.add("SET autocommit=0,gtid_next=_utf8mb4'AUTOMATIC'");
        autocommit = false;
        restoreBefore(null);
        send();
    }

    /**
     * The next packet of the script. A format description goes alone before the transaction; the session keeps it.
     *
     * @param committed called when the transaction is committed: it may be, at once; null: it must wait for others
     */
    void sendScript(int packetBytes, Runnable committed) throws SQLException {
        content.clear();
        try {
            addContent(packetBytes, committed);
            if (committed != null && script.done() && content.isCertain() && !script.commitsItself()) {
                content.add("COMMIT", committed);
            }
            packet.add(content);
        } finally {
            // A commit that stands in the packet goes out even if what should follow can't be made.
            if (!packet.isEmpty()) {
                send();
            }
        }
    }

    private void addContent(int packetBytes, Runnable committed) {
        if (script.isRaw() && !script.formatDescription().equals(formatDescription)) {
            formatDescription = script.formatDescription();
            content.add("SET gtid_next=_utf8mb4'AUTOMATIC'");
            content.addBinlog(List.of(formatDescription));
        } else {
            Map<String, String> settings = script.isRaw() ? script.settings() : null;
            restoreBefore(settings);
            script.addTo(content, packetBytes, committed, autocommit);
            autocommit = script.commitsItself();
            altered = settings;
        }
    }

    void send() throws SQLException {
        if (expected.isEmpty()) {
            busySince.set(System.nanoTime() | 1);
        }
        packet.sendOn(connection);
        expected.addAll(packet.expectations());
        packet.clear();
    }

    /** The next reply that has come, or null. */
    Reply reply() throws SQLException {
        return connection.reply();
    }

    /** What the reply belongs to. */
    Packet.Expectation answered(Reply reply) throws SQLException {
        Packet.Expectation expectation = expected.poll();
        if (expectation == null) {
            throw new SQLException("a reply without a statement", "08S01");
        }
        if (reply.error() != null) {
            expected.clear();
        }
        busySince.set(expected.isEmpty() ? 0 : System.nanoTime() | 1);
        return expectation;
    }

    boolean awaitsNothing() {
        return expected.isEmpty();
    }

    @Override
    public long connectionId() {
        return connection.id();
    }

    @Override
    public long busySinceNanos() {
        return busySince.get();
    }

    @Override
    public void abort() {
        connection.close();
    }
}
