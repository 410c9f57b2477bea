package multimed.apply;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends connections of readers that keep the applier waiting: one idle reader in a transaction and a waiting ALTER behind
 * it would freeze every new reader of the table. Also ends the applier's own sessions when the satellite can't be
 * reached while one waits for an answer. Its own thread, with its own connection, which it opens only when it is needed.
 *
 * <p>Must never: end a session that does not hold the very lock that the applier waits for.
 */
final class BlockerWatch implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(BlockerWatch.class);
    private static final long LOOK_EVERY_MS = 500;
    private static final long UNREACHABLE_MS = 30_000;

    /** Holders of any lock on the object that our session waits to lock (metadata), or of the row lock it waits for. */
    private static final String BLOCKERS = """
            SELECT h.PROCESSLIST_ID, CONCAT_WS('.', g.OBJECT_SCHEMA, g.OBJECT_NAME)
              FROM performance_schema.threads me
              JOIN performance_schema.metadata_locks p ON p.OWNER_THREAD_ID = me.THREAD_ID AND p.LOCK_STATUS = 'PENDING'
              JOIN performance_schema.metadata_locks g ON g.LOCK_STATUS = 'GRANTED' AND g.OBJECT_TYPE = p.OBJECT_TYPE
                   AND g.OBJECT_SCHEMA <=> p.OBJECT_SCHEMA AND g.OBJECT_NAME <=> p.OBJECT_NAME
              JOIN performance_schema.threads h ON h.THREAD_ID = g.OWNER_THREAD_ID
             WHERE me.PROCESSLIST_ID = %1$d AND h.PROCESSLIST_ID NOT IN (%2$s, CONNECTION_ID())
            UNION
            SELECT h.PROCESSLIST_ID, CONCAT_WS('.', l.OBJECT_SCHEMA, l.OBJECT_NAME)
              FROM performance_schema.threads me
              JOIN performance_schema.data_lock_waits w ON w.REQUESTING_THREAD_ID = me.THREAD_ID
              JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID
              JOIN performance_schema.threads h ON h.THREAD_ID = w.BLOCKING_THREAD_ID
             WHERE me.PROCESSLIST_ID = %1$d AND h.PROCESSLIST_ID NOT IN (%2$s, CONNECTION_ID())
            """;

    private record Blocker(long connection, String object) {}

    private final SatelliteConnector connector;
    private final long toleratedNanos;
    private volatile List<Watched> watched = List.of();
    private volatile boolean stopped;
    private long unreachableSince;

    BlockerWatch(SatelliteConnector connector, long toleratedMs) {
        this.connector = connector;
        this.toleratedNanos = TimeUnit.MILLISECONDS.toNanos(toleratedMs);
    }

    /** From the applying thread: all of its sessions, none of which is ever ended in favour of another. */
    void watch(List<Watched> sessions) {
        watched = sessions;
    }

    void stop() {
        stopped = true;
    }

    @Override
    public void run() {
        while (!stopped) {
            try {
                Thread.sleep(LOOK_EVERY_MS);
                look();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            } catch (RuntimeException e) {
                LOG.error("event=watch-failed", e);
            }
        }
    }

    private void look() {
        List<Watched> own = watched;
        List<Watched> waiting = own.stream().filter(this::waitsTooLong).toList();
        if (waiting.isEmpty()) {
            unreachableSince = 0;
            return;
        }
        try (Connection connection = connector.connect()) {
            unreachableSince = 0;
            for (Watched session : waiting) {
                endBlockers(connection, session, own);
            }
        } catch (SQLException e) {
            abortIfUnreachable(own);
        }
    }

    private boolean waitsTooLong(Watched session) {
        long since = session.busySinceNanos();
        return since != 0 && System.nanoTime() - since > toleratedNanos;
    }

    private void endBlockers(Connection connection, Watched session, List<Watched> own) throws SQLException {
        for (Blocker blocker : blockers(connection, session, own)) {
            if (waitsTooLong(session)) {
                end(connection, blocker);
            }
        }
    }

    private static List<Blocker> blockers(Connection connection, Watched session, List<Watched> own) throws SQLException {
        String ours = own.stream().map(s -> Long.toString(s.connectionId())).collect(Collectors.joining(","));
        List<Blocker> found = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(String.format(BLOCKERS, session.connectionId(), ours))) {
            while (rows.next()) {
                found.add(new Blocker(rows.getLong(1), rows.getString(2)));
            }
        }
        return found;
    }

    private static void end(Connection connection, Blocker blocker) {
        try (Statement statement = connection.createStatement()) {
            statement.execute("KILL " + blocker.connection());
            LOG.warn("event=reader-ended connection={} object={} because=it-blocked-a-change", blocker.connection(), blocker.object());
        } catch (SQLException e) {
            LOG.debug("event=reader-already-gone connection={}", blocker.connection());
        }
    }

    private void abortIfUnreachable(List<Watched> sessions) {
        long now = System.nanoTime();
        if (unreachableSince == 0) {
            unreachableSince = now;
        } else if (now - unreachableSince > TimeUnit.MILLISECONDS.toNanos(UNREACHABLE_MS)) {
            LOG.warn("event=sessions-aborted because=the-satellite-does-not-answer");
            sessions.forEach(Watched::abort);
            unreachableSince = 0;
        }
    }
}
