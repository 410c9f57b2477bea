package multimed.capture.comparison;

import java.util.concurrent.TimeUnit;
import multimed.gtid.Gtid;
import multimed.log.proto.Check;

/**
 * Hands a check from the comparison's thread to capture's, which writes it into the record of the transaction that was committed for it. In: a
 * GTID and its check, before the commit; then, whether the rows were locked all the time. Out: the check, if they were. One at a time. Must
 * never: give a check whose rows may have changed before the commit.
 *
 * <p>Capture can read the transaction before the master has answered the commit. Then it waits, but not for long: without its check the
 * transaction is an empty one, as after a restart of capture.
 */
public final class Checks {
    private static final long DECISION_NANOS = TimeUnit.SECONDS.toNanos(1);

    private enum State { NONE, OFFERED, HELD }

    private Gtid gtid;
    private Check check;
    private State state = State.NONE;

    synchronized void offer(Gtid of, Check offered) {
        gtid = of;
        check = offered;
        state = State.OFFERED;
    }

    /** Says whether the locks were held at the commit; returns whether capture takes the check. */
    synchronized boolean decide(boolean held) {
        state = held && state == State.OFFERED ? State.HELD : State.NONE;
        notifyAll();
        return state == State.HELD;
    }

    /** On capture's thread. Null: the transaction compares nothing. */
    public synchronized Check take(Gtid of) throws InterruptedException {
        if (state == State.NONE || !of.equals(gtid)) {
            return null;
        }
        await(State.OFFERED, DECISION_NANOS);
        Check taken = state == State.HELD ? check : null;
        state = State.NONE;
        notifyAll();
        return taken;
    }

    /** Returns when capture has taken the last one. Capture may be behind; after this time it will not take it any more. */
    synchronized void awaitTaken(long mostNanos) throws InterruptedException {
        await(State.HELD, mostNanos);
        state = State.NONE;
    }

    private void await(State from, long mostNanos) throws InterruptedException {
        long deadline = System.nanoTime() + mostNanos;
        for (long left = mostNanos; state == from && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
    }
}
