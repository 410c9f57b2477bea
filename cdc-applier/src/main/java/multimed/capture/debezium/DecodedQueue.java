package multimed.capture.debezium;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Hands decoded transactions from Debezium's thread to capture's, in order. Bounded by memory, so that Debezium waits when it is
 * ahead; one transaction always fits, so that neither side waits for the other. Lock: one, for everything.
 */
final class DecodedQueue {
    private static final long MAX_BYTES = 64L * 1024 * 1024;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<DecodedTransaction> queue = new ArrayDeque<>();
    private long bytes;
    private boolean closed;

    /** Waits for room; returns at once when closed. */
    void put(DecodedTransaction transaction) throws InterruptedException {
        lock.lock();
        try {
            while (!closed && !queue.isEmpty() && bytes + transaction.bytes() > MAX_BYTES) {
                changed.await();
            }
            queue.add(transaction);
            bytes += transaction.bytes();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The oldest, without taking it; null if none comes within the time, or closed. */
    DecodedTransaction peek(long millis) throws InterruptedException {
        long left = TimeUnit.MILLISECONDS.toNanos(millis);
        lock.lock();
        try {
            while (!closed && queue.isEmpty() && left > 0) {
                left = changed.awaitNanos(left);
            }
            return queue.peek();
        } finally {
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
