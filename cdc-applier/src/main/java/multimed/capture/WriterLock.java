package multimed.capture;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HexFormat;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import multimed.master.MasterAccess;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The master's lock (GET_LOCK, which needs no privilege) that keeps a second capture from writing the same log; it waits instead.
 * An aid only: a capture that has lost it without noticing is fenced by the newer epoch in the log. Any account could hold it, so its
 * name is one that only captures can know, and who of another account has it all the same is not waited for: epochs alone decide then.
 * Held on a connection of its own, and asked for by a thread of its own, since capture's thread can be busy with one transaction for
 * minutes.
 */
final class WriterLock implements AutoCloseable {
    private static final int WAIT_SECONDS = 5;
    /** Without PROCESS an account sees its own sessions. Who held it may have gone meanwhile: it is asked for again then. */
    private static final String AWAITED = "SELECT COALESCE((SELECT USER = SUBSTRING_INDEX(USER(), '@', 1) FROM"
            + " information_schema.PROCESSLIST WHERE ID = holder), holder IS NULL) FROM (SELECT IS_USED_LOCK(?) AS holder) AS locked";
    private static final long ASK_SECONDS = 5;
    /** After this time without a question the master takes the lock from a capture that hangs or has become unreachable. */
    private static final int SILENCE_SECONDS = 30;
    private static final int NAME_BYTES = 24;
    private static final Logger log = LoggerFactory.getLogger(WriterLock.class);

    private final Connection connection;
    private final String name;
    private boolean held;
    private ScheduledExecutorService thread;

    private WriterLock(Connection connection, String name) {
        this.connection = connection;
        this.name = name;
    }

    /** Throws IllegalStateException if another capture keeps it. */
    static WriterLock take(MasterAccess access, String topic) throws SQLException {
        Connection connection = access.connect();
        WriterLock lock = new WriterLock(connection, name(topic, access.password()));
        try (Statement s = connection.createStatement()) {
            s.execute("SET SESSION wait_timeout = " + SILENCE_SECONDS);
            lock.held = lock.answersOne("SELECT GET_LOCK(?, " + WAIT_SECONDS + ")");
            if (!lock.held && lock.answersOne(AWAITED)) {
                throw new IllegalStateException("another capture writes this log: it holds the master's lock");
            }
            if (!lock.held) {
                log.warn("another account holds capture's lock on the master, not waited for");
            }
            return lock;
        } catch (SQLException | RuntimeException e) {
            lock.close();
            throw e;
        }
    }

    /** Whoever knows a lock's name can hold it. */
    static String name(String topic, String password) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest((topic + '\0' + password).getBytes(StandardCharsets.UTF_8));
            return "multimed:" + HexFormat.of().formatHex(hash, 0, NAME_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** From now on {@code lost} is called, once and on another thread, when the lock is not held any more. */
    void watch(Consumer<Exception> lost) {
        if (!held) {
            return;
        }
        thread = Executors.newSingleThreadScheduledExecutor(WriterLock::daemon);
        thread.scheduleWithFixedDelay(() -> ask(lost), ASK_SECONDS, ASK_SECONDS, TimeUnit.SECONDS);
    }

    private static Thread daemon(Runnable task) {
        Thread t = new Thread(task, "writer-lock");
        t.setDaemon(true);
        return t;
    }

    private void ask(Consumer<Exception> lost) {
        Exception why = check();
        if (why != null) {
            thread.shutdown();
            lost.accept(new IllegalStateException("the master's lock is lost: " + why.getMessage(), why));
        }
    }

    /** Why the lock is not held; null if it is. */
    Exception check() {
        try {
            return answersOne("SELECT IS_USED_LOCK(?) = CONNECTION_ID()") ? null : new IllegalStateException("another session has it");
        } catch (SQLException e) {
            return e;
        }
    }

    private boolean answersOne(String query) throws SQLException {
        try (PreparedStatement s = connection.prepareStatement(query)) {
            s.setString(1, name);
            try (ResultSet r = s.executeQuery()) {
                return r.next() && r.getInt(1) == 1;
            }
        }
    }

    @Override
    public void close() {
        if (thread != null) {
            thread.shutdownNow();
        }
        try {
            connection.close();
        } catch (SQLException e) {
            // the server ends the session, and with it the lock, when the socket is gone
        }
    }
}
