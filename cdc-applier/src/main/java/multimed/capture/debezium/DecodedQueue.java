package multimed.capture.debezium;

import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import multimed.capture.debezium.DecodedTransaction.Row;
import multimed.gtid.Gtid;

/**
 * Hands decoded rows from Debezium's thread to capture's, by transactions, in order. Bounded by memory, so that Debezium waits when it is
 * ahead; the newest transaction may always grow up to that bound, so that neither side waits for the other. Lock: one, for everything.
 * Must never: keep a part of a transaction as if it were all of it, when the rest was dropped.
 */
final class DecodedQueue {
    private static final long MAX_BYTES = 64L * 1024 * 1024;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** The last one may still grow. */
    private final ArrayDeque<DecodedTransaction> queue = new ArrayDeque<>();
    private long bytes;
    private boolean closed;
    /** What capture's thread waits for; null: it does not wait. */
    private Wanted awaited;

    /** So many rows of a transaction. */
    private record Wanted(Gtid gtid, int rows) {}

    /**
     * Waits for room; returns at once when closed.
     *
     * @param row null: one that can't be used
     */
    void add(Gtid gtid, Row row) throws InterruptedException {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            DecodedTransaction newest = queue.peekLast();
            if (newest == null || !newest.gtid().equals(gtid)) {
                newest = new DecodedTransaction(gtid);
                queue.add(newest);
            }
            if (row == null || newest.bytes() + row.bytes() > MAX_BYTES) {
                bytes -= newest.bytes();
                newest.drop();
            } else {
                newest.add(row);
                bytes += newest.complete() ? row.bytes() : 0;
            }
            if (awaited != null && isReady(awaited)) {
                changed.signalAll();
            }
            while (!closed && queue.size() > 1 && bytes > MAX_BYTES) {
                changed.await();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether the oldest is another transaction, has all its rows, or will not get the others. */
    private boolean isReady(Wanted wanted) {
        DecodedTransaction oldest = queue.peek();
        return oldest != null && (!oldest.gtid().equals(wanted.gtid()) || oldest.rows().size() >= wanted.rows()
                || !oldest.complete() || queue.size() > 1);
    }

    /**
     * The oldest, without taking it; null if none comes within the time, or closed. If it is the wanted one, with as many rows, unless it
     * will not get them.
     */
    DecodedTransaction peek(Gtid wanted, int rows, long millis) throws InterruptedException {
        long left = TimeUnit.MILLISECONDS.toNanos(millis);
        lock.lock();
        try {
            awaited = new Wanted(wanted, rows);
            while (!closed && left > 0 && !isReady(awaited)) {
                left = changed.awaitNanos(left);
            }
            return !closed && isReady(awaited) ? queue.peek() : null;
        } finally {
            awaited = null;
            lock.unlock();
        }
    }

    void remove() {
        lock.lock();
        try {
            bytes -= queue.remove().bytes();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void close() {
        lock.lock();
        try {
            closed = true;
            queue.clear();
            bytes = 0;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
