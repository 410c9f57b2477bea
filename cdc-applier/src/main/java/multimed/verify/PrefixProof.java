package multimed.verify;

import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;

/**
 * In: a satellite's gtid_executed, and then the log in order. Out: whether the set is a prefix of that order. Pure.
 * Must never: take a set for a prefix that has a transaction and lacks one before it, or one that the log does not have.
 */
final class PrefixProof implements LogProof.Listener {
    private final String name;
    private final GtidSet executed;
    private String lacking;
    private long behind;
    private String difference;

    PrefixProof(String name, GtidSet executed) {
        this.name = name;
        this.executed = executed;
    }

    @Override
    public void start(GtidSet before) {
        if (!executed.containsAll(before)) {
            difference = "lacks " + before.minus(executed) + ", which lies before the log";
        }
    }

    @Override
    public void transaction(Gtid gtid) {
        if (!executed.contains(gtid)) {
            lacking = lacking == null ? gtid.toString() : lacking;
            behind++;
        } else if (lacking != null) {
            differs("has " + gtid + " but lacks " + lacking + " before it");
        }
    }

    /** Their order among themselves is not known. */
    @Override
    public void withoutRecord(GtidSet gtids) {
        GtidSet left = gtids.minus(executed);
        if (lacking != null && left.count() < gtids.count()) {
            differs("has some of " + gtids + " but lacks " + lacking + " before them");
        }
        lacking = lacking == null && !left.isEmpty() ? left.toString() : lacking;
        behind += left.count();
    }

    private void differs(String what) {
        difference = difference == null ? what : difference;
    }

    /** After the whole log was told. */
    void end(GtidSet log) {
        if (!log.containsAll(executed)) {
            differs("has " + executed.minus(log) + ", which the master and the log lack");
        }
    }

    String name() {
        return name;
    }

    GtidSet executed() {
        return executed;
    }

    String difference() {
        return difference;
    }

    String counts() {
        return "a prefix of that order with " + executed.count() + " GTIDs, " + behind + " behind the log";
    }
}
