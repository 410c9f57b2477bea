package multimed.apply;

import java.util.concurrent.TimeUnit;

/** When to ask the satellite whether the oldest transaction waits for a lock: rarely, since each time costs a login. */
final class LockWaitTimer {
    private static final long FIRST_WAIT_MS = 20;
    private static final long LONGEST_WAIT_MS = 500;

    private long waitMs;
    private long dueAtNanos;

    /** Another transaction is the oldest now, or it has begun only now. */
    void restart() {
        waitMs = FIRST_WAIT_MS;
        schedule();
    }

    /** It was asked: twice as long until the next time. */
    void backOff() {
        waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
        schedule();
    }

    private void schedule() {
        dueAtNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
    }

    boolean isDue() {
        return System.nanoTime() >= dueAtNanos;
    }

    long millisLeft() {
        return TimeUnit.NANOSECONDS.toMillis(dueAtNanos - System.nanoTime());
    }
}
