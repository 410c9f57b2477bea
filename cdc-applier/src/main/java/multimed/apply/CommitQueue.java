package multimed.apply;

import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.List;
import multimed.apply.Task.State;
import multimed.apply.sql.StatementBuilder;
import multimed.log.LogBrokenException;
import multimed.mysql.Reply;

/**
 * The pipeline's transactions, and which may begin and commit. In: tasks in the log's order, and the sessions' replies. Out:
 * statements on free sessions. Used by the pipeline's thread only.
 *
 * <p>A transaction begins when its commit parent is committed. COMMIT goes out when every result before it was checked and the
 * commit before it is acknowledged; it takes the session's next transaction along. A transaction that begins when all before it are
 * committed sends COMMIT along with its last statements, if the server vouches for their results. A transaction that holds a lock for which the
 * oldest waits (unique keys and gaps know more conflicts than the master's logical clock) is rolled back and executed again behind
 * it.
 */
final class CommitQueue {
    /** Told of what happens, on the pipeline's thread. */
    interface Listener {
        /** Another transaction is the oldest, or the oldest goes on. */
        void oldestChanged();

        /** @param next the oldest that is not committed, or null */
        void committed(Task task, Task next);

        /** @param task the transaction that failed, or null */
        void ended(Task task, Exception cause);

        /** A packet of statements went out. */
        void sent();

        /** A session is free, but this transaction must wait for its commit parent. */
        void conflict(Task task);

        void retried(String reason);
    }

    private final StatementBuilder builder;
    private final RowFilter filter;
    private final int packetBytes;
    private final Listener listener;
    /** Not yet begun. */
    private final ArrayDeque<Task> waiting = new ArrayDeque<>();
    /** Begun or not. */
    private final ArrayDeque<Task> uncommitted = new ArrayDeque<>();
    private final ArrayDeque<PipelineSession> free;
    private long committed;

    CommitQueue(List<PipelineSession> sessions, ApplyConfig config, RowFilter filter, Listener listener) {
        this.builder = new StatementBuilder(config.batchRows(), config.batchBytes());
        this.filter = filter;
        this.packetBytes = config.batchBytes();
        this.listener = listener;
        this.free = new ArrayDeque<>(sessions);
    }

    void add(Task task) {
        waiting.add(task);
        uncommitted.add(task);
    }

    /** Null if all is committed. */
    Task oldest() {
        return uncommitted.peek();
    }

    /** Starts what may begin, in order. */
    void dispatch() throws SQLException {
        while (!free.isEmpty() && mayBegin(committed)) {
            start(free.remove(), waiting.remove());
        }
        if (!free.isEmpty() && !waiting.isEmpty()) {
            listener.conflict(waiting.peek());
        }
    }

    /** Whether the next may begin when all up to this one are committed. */
    private boolean mayBegin(long upTo) {
        return !waiting.isEmpty() && waiting.peek().commitParent <= upTo;
    }

    private void start(PipelineSession session, Task task) throws SQLException {
        task.session = session;
        task.state = State.RUNNING;
        session.task = task;
        session.script = new Script(task.part.record(), builder, filter);
        sendNext(session, task);
        if (oldest() == task) {
            listener.oldestChanged();
        }
    }

    private void sendNext(PipelineSession session, Task task) throws SQLException {
        try {
            session.sendScript(packetBytes, oldest() == task ? () -> committedAlong(session, task) : null);
            listener.sent();
        } catch (LogBrokenException e) {
            fail(task, e);
        }
    }

    void accept(PipelineSession session, Reply reply) throws SQLException {
        Packet.Expectation expectation = session.answered(reply);
        if (reply.error() != null) {
            refused(session, expectation, reply.error());
            return;
        }
        if (!expectation.holds(reply.rows())) {
            fail(session.task, expectation.miss(reply.rows(), session.script.reason()));
        }
        expectation.done().run();
        if (session.awaitsNothing()) {
            answeredAll(session);
        }
    }

    private void refused(PipelineSession session, Packet.Expectation expectation, SQLException error) throws SQLException {
        if (expectation.isCommit()) {
            listener.ended(oldest(), expectation.refusal(error, Divergence.Reason.COMMIT));
            return;
        }
        if (session.task == null) {
            throw error;
        }
        ApplyFailure refusal = expectation.refusal(error, session.script.reason());
        if (refusal.retryable() && !refusal.outOfMemory()) {
            rollBack(session.task, refusal.retry());
        } else {
            fail(session.task, refusal);
        }
    }

    private void answeredAll(PipelineSession session) throws SQLException {
        Task task = session.task;
        if (task == null) {
            free.add(session);
        } else if (task.state == State.RUNNING && !session.script.done()) {
            sendNext(session, task);
        } else if (task.state == State.RUNNING) {
            task.state = State.EXECUTED;
            settleOldest();
        } else if (task.state == State.ROLLED_BACK) {
            settleOldest();
        }
    }

    /** What can be done with the oldest now. */
    private void settleOldest() throws SQLException {
        Task oldest = oldest();
        if (oldest == null || oldest.session == null || !oldest.session.awaitsNothing()) {
            return;
        }
        switch (oldest.state) {
            case EXECUTED -> commit(oldest);
            case ROLLED_BACK -> start(oldest.session, oldest);
            case FAILED -> listener.ended(oldest, oldest.failure);
            default -> listener.oldestChanged();
        }
    }

    private void commit(Task oldest) throws SQLException {
        PipelineSession session = oldest.session;
        oldest.state = State.COMMITTING;
        session.task = null;
        session.addCommit(() -> committed(oldest));
        if (mayBegin(oldest.number)) {
            start(session, waiting.remove());
        } else {
            session.send();
            listener.sent();
        }
    }

    private void committedAlong(PipelineSession session, Task task) {
        session.task = null;
        if (task.state != State.FAILED) {
            committed(task);
        }
    }

    private void committed(Task task) {
        uncommitted.remove();
        committed = task.number;
        Task next = oldest();
        listener.committed(task, next);
        listener.oldestChanged();
        try {
            if (next != null && next.state == State.FAILED) {
                listener.ended(next, next.failure);
            } else {
                settleOldest();
                dispatch();
            }
        } catch (SQLException e) {
            listener.ended(next, e);
        }
    }

    private void rollBack(Task task, String reason) throws SQLException {
        listener.retried(reason);
        task.state = State.ROLLED_BACK;
        task.session.rollBack();
    }

    private void fail(Task task, Exception cause) {
        if (task.state != State.FAILED) {
            task.state = State.FAILED;
            task.failure = cause;
        }
        if (oldest() == task) {
            listener.ended(task, cause);
        }
    }

    /** A session is gone. Throws if the oldest transaction is lost with it, or what it committed is not known. */
    void lost(PipelineSession session, SQLException error) throws SQLException {
        if (session.task == null || oldest() == null || oldest().session == session) {
            throw error;
        }
        fail(session.task, error);
    }

    // --- locks that the master's logical clock does not know ------------------------------------------------------

    /** The oldest still runs while others have executed all: they may hold a lock that it waits for. */
    boolean oldestMayBeBlocked() {
        Task oldest = oldest();
        return oldest != null && oldest.state == State.RUNNING && uncommitted.stream().anyMatch(t -> t.state == State.EXECUTED);
    }

    /** Frees the locks of all that wait for their turn to commit. */
    void rollBackExecuted() throws SQLException {
        for (Task task : List.copyOf(uncommitted)) {
            if (task.state == State.EXECUTED) {
                rollBack(task, "order");
            }
        }
    }
}
