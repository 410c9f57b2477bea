package multimed.apply;

import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import multimed.apply.Task.State;
import multimed.apply.sql.StatementBuilder;
import multimed.gtid.Gtid;
import multimed.log.LogBrokenException;
import multimed.log.LogEvent.Part;
import multimed.mysql.Reply;

/**
 * Executes whole transactions on several sessions at once and commits them one after the other in the order in which they
 * were submitted: a reader sees prefixes only. One thread submits; one thread talks to all sessions and owns all but the
 * inbox. With a thread per session, their handing over costs more than the work itself.
 *
 * <p>A transaction begins when those that it may conflict with are committed. COMMIT goes out when every result before it was
 * checked and the commit before it is acknowledged; it takes the session's next transaction along. A transaction that
 * holds a lock for which the oldest waits (unique keys and gaps know more conflicts than the master's clock) is rolled
 * back and executed again behind it. The first transaction that fails ends the pipeline: those before it are committed,
 * those after it are not.
 */
final class Pipeline implements AutoCloseable {
    private static final int TASKS_PER_SESSION = 32;
    private static final long FIRST_PATIENCE_MS = 20;
    private static final long LONGEST_PATIENCE_MS = 500;

    /** Whether the transaction of this connection waits for a lock. */
    interface LockCheck {
        boolean waits(long connectionId) throws SQLException;
    }

    private final List<PipelineSession> sessions;
    private final StatementBuilder builder;
    private final RowFilter filter;
    private final int packetBytes;
    private final PipelineListener listener;
    private final LockCheck lockCheck;
    private final Thread thread = new Thread(this::run, "pipeline");
    private final Selector selector;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition room = lock.newCondition();
    private final ArrayDeque<Task> inbox = new ArrayDeque<>();
    private final int capacity;
    private long submitted;
    private int inFlight;
    private boolean asleep;
    private boolean closed;
    private Gtid failedAt;
    private Exception failure;

    // owned by the thread
    private final ArrayDeque<Task> waiting = new ArrayDeque<>();
    private final ArrayDeque<Task> uncommitted = new ArrayDeque<>();
    private final ArrayDeque<PipelineSession> free = new ArrayDeque<>();
    private long committed;
    private long checkAtNanos;
    private long patienceMs = FIRST_PATIENCE_MS;

    Pipeline(List<PipelineSession> sessions, ApplyConfig config, RowFilter filter, PipelineListener listener, LockCheck lockCheck)
            throws SQLException {
        this.sessions = sessions;
        this.builder = new StatementBuilder(config.batchRows(), config.batchBytes());
        this.filter = filter;
        this.packetBytes = config.batchBytes();
        this.listener = listener;
        this.lockCheck = lockCheck;
        this.capacity = TASKS_PER_SESSION * sessions.size();
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new SQLException("no selector", "08001", e);
        }
        for (PipelineSession session : sessions) {
            session.connection().register(selector, session);
            free.add(session);
        }
        thread.setDaemon(true);
        thread.start();
    }

    // --- for the thread that submits ------------------------------------------------------------------------------

    /** @param freeOf how many of the transactions directly before it it does not conflict with */
    void submit(Part part, long freeOf) throws SQLException, ApplyFailure, InterruptedException {
        lock.lockInterruptibly();
        try {
            while (inFlight >= capacity && failure == null) {
                room.await();
            }
            throwFailure();
            long number = ++submitted;
            inFlight++;
            inbox.add(new Task(number, part, Math.max(0, number - 1 - freeOf)));
            if (asleep) {
                asleep = false;
                selector.wakeup();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns when everything submitted is committed. */
    void drain() throws SQLException, ApplyFailure, InterruptedException {
        lock.lockInterruptibly();
        try {
            while (inFlight > 0 && failure == null) {
                room.await();
            }
            throwFailure();
        } finally {
            lock.unlock();
        }
    }

    /** False while something is on its way. Throws what ended the pipeline, if something did. */
    boolean isIdle() throws SQLException, ApplyFailure {
        lock.lock();
        try {
            throwFailure();
            return inFlight == 0;
        } finally {
            lock.unlock();
        }
    }

    /** The transaction that ended the pipeline; null while none did. */
    Gtid failedAt() {
        lock.lock();
        try {
            return failedAt;
        } finally {
            lock.unlock();
        }
    }

    private void throwFailure() throws SQLException, ApplyFailure {
        if (failure instanceof SQLException e) {
            throw e;
        }
        if (failure instanceof ApplyFailure e) {
            throw e;
        }
        if (failure instanceof RuntimeException e) {
            throw failedAt == null ? e : Divergence.at(failedAt, Divergence.Reason.LOG_BROKEN, e.getMessage());
        }
    }

    /** Sessions are cut: the server rolls back what is not committed. */
    @Override
    public void close() {
        lock.lock();
        closed = true;
        lock.unlock();
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
            while (takeInbox()) {
                dispatch();
                select();
            }
        } catch (IOException | ClosedSelectorException e) {
            end(null, new SQLException("selector", "08S01", e));
        } catch (SQLException | RuntimeException e) {
            end(uncommitted.peek(), e);
        }
    }

    /** False when there is nothing more to be done: closed, or failed. */
    private boolean takeInbox() {
        lock.lock();
        try {
            waiting.addAll(inbox);
            uncommitted.addAll(inbox);
            inbox.clear();
            return !closed && failure == null;
        } finally {
            lock.unlock();
        }
    }

    private void select() throws IOException, SQLException {
        lock.lock();
        asleep = inbox.isEmpty() && !closed;
        boolean sleep = asleep;
        lock.unlock();
        if (!sleep) {
            selector.selectNow();
        } else if (blockedByOthers()) {
            selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(checkAtNanos - System.nanoTime())));
        } else {
            selector.select();
        }
        lock.lock();
        asleep = false;
        lock.unlock();
        for (SelectionKey key : selector.selectedKeys()) {
            serve(key, (PipelineSession) key.attachment());
        }
        selector.selectedKeys().clear();
        if (blockedByOthers() && System.nanoTime() >= checkAtNanos) {
            giveWay();
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
                accept(session, reply);
            }
        } catch (SQLException | java.nio.channels.CancelledKeyException e) {
            SQLException lost = e instanceof SQLException sql ? sql : new SQLException("connection lost", "08S01", e);
            if (session.task == null || uncommitted.peek() == null || uncommitted.peek().session == session) {
                throw lost;
            }
            fail(session.task, lost);
            key.cancel();
        }
    }

    private void accept(PipelineSession session, Reply reply) throws SQLException {
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
            end(uncommitted.peek(), expectation.refusal(error, Divergence.Reason.COMMIT));
            return;
        }
        if (session.task == null) {
            throw error;
        }
        ApplyFailure refusal = expectation.refusal(error, session.script.reason());
        if (refusal.retryable()) {
            rollBack(session.task, "lock");
        } else {
            fail(session.task, refusal);
        }
    }

    private void answeredAll(PipelineSession session) throws SQLException {
        Task task = session.task;
        if (task == null) {
            free.add(session);
        } else if (task.state == State.RUNNING && !session.script.done()) {
            goOn(session, task);
        } else if (task.state == State.RUNNING) {
            task.state = State.EXECUTED;
            settleOldest();
        } else if (task.state == State.ROLLED_BACK) {
            settleOldest();
        }
    }

    private void goOn(PipelineSession session, Task task) throws SQLException {
        try {
            session.sendScript(packetBytes);
            listener.sent();
        } catch (LogBrokenException e) {
            fail(task, e);
        }
    }

    /** Starts what may begin, in order. */
    private void dispatch() throws SQLException {
        while (!free.isEmpty() && ready(committed)) {
            start(free.remove(), waiting.remove());
        }
        if (!free.isEmpty() && !waiting.isEmpty()) {
            listener.conflict(waiting.peek().part);
        }
    }

    private boolean ready(long behind) {
        return !waiting.isEmpty() && waiting.peek().after <= behind;
    }

    private void start(PipelineSession session, Task task) throws SQLException {
        task.session = session;
        task.state = State.RUNNING;
        session.task = task;
        session.script = new Script(task.part.record(), builder, filter);
        goOn(session, task);
        if (uncommitted.peek() == task) {
            watchOldest();
        }
    }

    /** What can be done with the oldest now. */
    private void settleOldest() throws SQLException {
        Task oldest = uncommitted.peek();
        if (oldest == null || oldest.session == null || !oldest.session.awaitsNothing()) {
            return;
        }
        switch (oldest.state) {
            case EXECUTED -> commit(oldest);
            case ROLLED_BACK -> start(oldest.session, oldest);
            case FAILED -> end(oldest, oldest.failure);
            default -> watchOldest();
        }
    }

    private void commit(Task oldest) throws SQLException {
        PipelineSession session = oldest.session;
        oldest.state = State.COMMITTING;
        session.task = null;
        session.addCommit(() -> committed(oldest));
        if (ready(oldest.number)) {
            start(session, waiting.remove());
        } else {
            session.send();
            listener.sent();
        }
    }

    private void committed(Task task) {
        uncommitted.remove();
        committed = task.number;
        Task next = uncommitted.peek();
        listener.committed(task.part, next == null ? null : next.part);
        lock.lock();
        inFlight--;
        if (inFlight == 0 || inFlight == capacity / 2) {
            room.signal();
        }
        lock.unlock();
        watchOldest();
        try {
            if (next != null && next.state == State.FAILED) {
                end(next, next.failure);
            } else {
                settleOldest();
                dispatch();
            }
        } catch (SQLException e) {
            end(next, e);
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
        if (uncommitted.peek() == task) {
            end(task, cause);
        }
    }

    private void end(Task task, Exception cause) {
        lock.lock();
        try {
            if (failure == null && !closed) {
                failure = cause;
                failedAt = task == null ? null : task.part.gtid();
                room.signal();
                listener.ended();
            }
        } finally {
            lock.unlock();
        }
    }

    // --- locks that the master's clock does not know --------------------------------------------------------------

    private void watchOldest() {
        patienceMs = FIRST_PATIENCE_MS;
        checkAtNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMs);
    }

    /** The oldest takes its time while others are ready: they may hold what it waits for. */
    private boolean blockedByOthers() {
        Task oldest = uncommitted.peek();
        return oldest != null && oldest.state == State.RUNNING && uncommitted.stream().anyMatch(t -> t.state == State.EXECUTED);
    }

    private void giveWay() throws SQLException {
        patienceMs = Math.min(LONGEST_PATIENCE_MS, patienceMs * 2);
        checkAtNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMs);
        if (!lockCheck.waits(uncommitted.peek().session.connectionId())) {
            return;
        }
        for (Task task : List.copyOf(uncommitted)) {
            if (task.state == State.EXECUTED) {
                rollBack(task, "order");
            }
        }
    }
}
