package multimed.apply;

import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import multimed.gtid.Gtid;
import multimed.log.LogEvent.Part;
import multimed.mysql.Reply;

/**
 * Executes whole transactions on several sessions at once and commits them one after the other in the order in which they
 * were submitted: a reader sees prefixes only. One thread submits; one thread talks to all sessions and owns them and the
 * {@link CommitQueue}. With a thread per session, the hand-over between threads costs more than the work itself.
 *
 * <p>The first transaction that fails ends the pipeline: those before it are committed, those after it are not.
 */
final class Pipeline implements AutoCloseable {
    private static final int TASKS_PER_SESSION = 32;

    /** Whether the transaction of this connection waits for a lock. */
    interface LockCheck {
        boolean waits(long connectionId) throws SQLException;
    }

    private final List<PipelineSession> sessions;
    private final PipelineListener listener;
    private final LockCheck lockCheck;
    private final Thread thread = new Thread(this::run, "pipeline");
    private final Selector selector;
    private final PipelineInbox inbox;
    private final CommitQueue queue;
    private final LockWaitTimer timer = new LockWaitTimer();

    Pipeline(List<PipelineSession> sessions, ApplyConfig config, RowFilter filter, PipelineListener listener, LockCheck lockCheck)
            throws SQLException {
        this.sessions = sessions;
        this.listener = listener;
        this.lockCheck = lockCheck;
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new SQLException("no selector", "08001", e);
        }
        inbox = new PipelineInbox(TASKS_PER_SESSION * sessions.size(), selector::wakeup);
        queue = new CommitQueue(sessions, config, filter, new Owner());
        for (PipelineSession session : sessions) {
            session.connection().register(selector, session);
        }
        thread.setDaemon(true);
        thread.start();
    }

    // --- for the thread that submits ------------------------------------------------------------------------------

    /** @param sinceParent see {@link LogicalClock#sinceCommitParent} */
    void submit(Part part, long sinceParent) throws SQLException, ApplyFailure, InterruptedException {
        inbox.submit(part, sinceParent);
    }

    /** Returns when everything submitted is committed. */
    void drain() throws SQLException, ApplyFailure, InterruptedException {
        inbox.drain();
    }

    /** False while something is not committed. Throws what ended the pipeline, if something did. */
    boolean isIdle() throws SQLException, ApplyFailure {
        return inbox.isIdle();
    }

    /** The transaction that ended the pipeline; null while none did. */
    Gtid failedAt() {
        return inbox.failedAt();
    }

    /** Closes the connections: the server rolls back what is not committed. */
    @Override
    public void close() {
        inbox.close();
        sessions.forEach(PipelineSession::abort);
        selector.wakeup();
        try {
            thread.join(TimeUnit.SECONDS.toMillis(5));
            selector.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            // nothing is left to be told
        }
    }

    // --- the thread -----------------------------------------------------------------------------------------------

    private void run() {
        try {
            while (inbox.take(queue::add)) {
                queue.dispatch();
                select();
            }
        } catch (IOException | ClosedSelectorException e) {
            end(null, new SQLException("selector", "08S01", e));
        } catch (SQLException | RuntimeException e) {
            end(queue.oldest(), e);
        }
    }

    private void select() throws IOException, SQLException {
        if (!inbox.sleepIfEmpty()) {
            selector.selectNow();
        } else if (queue.oldestMayBeBlocked()) {
            selector.select(Math.max(1, timer.millisLeft()));
        } else {
            selector.select();
        }
        inbox.awake();
        for (SelectionKey key : selector.selectedKeys()) {
            serve(key, (PipelineSession) key.attachment());
        }
        selector.selectedKeys().clear();
        if (queue.oldestMayBeBlocked() && timer.isDue()) {
            timer.backOff();
            if (lockCheck.waits(queue.oldest().session.connectionId())) {
                queue.rollBackExecuted();
            }
        }
    }

    private void serve(SelectionKey key, PipelineSession session) throws SQLException {
        try {
            if (key.isWritable()) {
                session.connection().write();
            }
            if (key.isReadable()) {
                session.connection().read();
            }
            for (Reply reply = session.reply(); reply != null; reply = session.reply()) {
                queue.accept(session, reply);
            }
        } catch (SQLException | CancelledKeyException e) {
            queue.lost(session, e instanceof SQLException sql ? sql : new SQLException("connection lost", "08S01", e));
            key.cancel();
        }
    }

    private void end(Task task, Exception cause) {
        if (inbox.fail(task == null ? null : task.part.gtid(), cause)) {
            listener.ended();
        }
    }

    /** Hears of what happens in the queue, on the pipeline's thread. */
    private final class Owner implements CommitQueue.Listener {
        @Override
        public void oldestChanged() {
            timer.restart();
        }

        @Override
        public void committed(Task task, Task next) {
            listener.committed(task.part, next == null ? null : next.part);
            inbox.committedOne();
        }

        @Override
        public void ended(Task task, Exception cause) {
            end(task, cause);
        }

        @Override
        public void sent() {
            listener.sent();
        }

        @Override
        public void conflict(Task task) {
            listener.conflict(task.part);
        }

        @Override
        public void retried(String reason) {
            listener.retried(reason);
        }
    }
}
