package multimed.apply;

import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;

/**
 * The satellite can't become what the master is by applying the log. It must be cloned again from a donor that contains
 * at least {@code required}, so that the clone starts after the transaction that failed.
 */
final class Divergence extends RuntimeException {
    enum Reason {
        /** A row is not there, or already there, or a statement that ran on the master fails. */
        ROW,
        STATEMENT,
        RAW,
        /** Everything was executed, and the server refuses the COMMIT. */
        COMMIT,
        /** The log no longer has, or never had, a transaction that the satellite lacks. */
        LACKING,
        /** The satellite has a transaction that the master never had. */
        FOREIGN,
        /** A piece of a table is not what it is on the master at the same place of the history. */
        COMPARISON,
        /** The log itself says so: something that it can't express. */
        REBUILD_RECORD,
        /** The log does not keep its own contract at this place. */
        LOG_BROKEN
    }

    private final Reason reason;
    private final GtidSet required;

    Divergence(Reason reason, GtidSet required, String message) {
        super(message);
        this.reason = reason;
        this.required = required;
    }

    /**
     * A donor that has this transaction has all before it. What the satellite itself has is not asked for: it may have
     * something that no donor ever had.
     */
    static Divergence at(Gtid gtid, Reason reason, String message) {
        return new Divergence(reason, GtidSet.EMPTY.add(gtid), "gtid=" + gtid + " " + message);
    }

    /**
     * Whether the satellite is only old, so that others may clone before it. One that lacks a mark can be of a history that the master has
     * lost.
     */
    boolean isOnlyOld(GtidSet executed) {
        return reason == Reason.REBUILD_RECORD || reason == Reason.LACKING && !required.minus(executed).hasMarks();
    }

    Reason reason() {
        return reason;
    }

    GtidSet required() {
        return required;
    }
}
