package multimed.log;

import multimed.gtid.GtidSet;
import multimed.log.LogTail.State;

/**
 * An epoch that a capture wants to start, and the transactions that it knows to lie before it. Pure. Must never: hold while the log
 * before the start has a higher epoch, or a transaction that the set lacks.
 */
public record EpochClaim(long number, GtidSet set) {
    public static EpochClaim after(State tail, GtidSet set) {
        return new EpochClaim(EpochNumber.above(tail.epoch()), set);
    }

    /** @param before the log's state before this epoch's start */
    public boolean holds(State before) {
        return before.epoch() < number && (before.set() == null || set.containsAll(before.set()));
    }

    /** What to say instead of a claim that does not hold. */
    public EpochClaim next(State before) {
        GtidSet all = before.set() == null ? set : set.union(before.set());
        return new EpochClaim(EpochNumber.above(Math.max(number, before.epoch())), all);
    }
}
