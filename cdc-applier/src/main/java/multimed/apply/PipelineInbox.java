package multimed.apply;

import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import multimed.gtid.Gtid;
import multimed.log.LogEvent.Part;

/**
 * Between the thread that submits transactions and the pipeline's own: what was submitted and not yet taken, how many are not yet
 * committed, and what ended the pipeline. Lock: one, for everything.
 */
final class PipelineInbox {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Task> tasks = new ArrayDeque<>();
    private final int capacity;
    private final Runnable wakeUp;
    private long submitted;
    private int inFlight;
    private boolean asleep;
    private boolean closed;
    private Gtid failedAt;
    private Exception failure;

    /**
     * @param capacity how many transactions may be submitted and not yet committed
     * @param wakeUp wakes the pipeline's thread when something was submitted
     */
    PipelineInbox(int capacity, Runnable wakeUp) {
        this.capacity = capacity;
        this.wakeUp = wakeUp;
    }

    // --- for the thread that submits ------------------------------------------------------------------------------

    /** Waits while the inbox is full. */
    void submit(Part part, long sinceParent) throws SQLException, ApplyFailure, InterruptedException {
        lock.lockInterruptibly();
        try {
            while (inFlight >= capacity && failure == null) {
                changed.await();
            }
            throwFailure();
            long number = ++submitted;
            inFlight++;
            tasks.add(new Task(number, part, Math.max(0, number - 1 - sinceParent)));
            if (asleep) {
                asleep = false;
                wakeUp.run();
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
                changed.await();
            }
            throwFailure();
        } finally {
            lock.unlock();
        }
    }

    /** False while something is not committed. Throws what ended the pipeline, if something did. */
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

    /** What fails from now on is the consequence of closing, and not told. */
    void close() {
        lock.lock();
        closed = true;
        lock.unlock();
    }

    // --- for the pipeline's thread --------------------------------------------------------------------------------

    /** Hands over what was submitted. False when the pipeline must end: closed, or failed. */
    boolean take(Consumer<Task> taken) {
        lock.lock();
        try {
            tasks.forEach(taken);
            tasks.clear();
            return !closed && failure == null;
        } finally {
            lock.unlock();
        }
    }

    /** True if there is nothing to take: the thread may sleep, and whoever submits wakes it. */
    boolean sleepIfEmpty() {
        lock.lock();
        try {
            asleep = tasks.isEmpty() && !closed;
            return asleep;
        } finally {
            lock.unlock();
        }
    }

    void awake() {
        lock.lock();
        asleep = false;
        lock.unlock();
    }

    void committedOne() {
        lock.lock();
        inFlight--;
        if (inFlight == 0 || inFlight == capacity / 2) {
            changed.signal();
        }
        lock.unlock();
    }

    /**
     * The pipeline ends. True if this is its first failure, and it was not closed.
     *
     * @param gtid of the transaction that failed, or null
     */
    boolean fail(Gtid gtid, Exception cause) {
        lock.lock();
        try {
            if (failure != null || closed) {
                return false;
            }
            failure = cause;
            failedAt = gtid;
            changed.signal();
            return true;
        } finally {
            lock.unlock();
        }
    }
}
