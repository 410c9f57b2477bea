package multimed.verify;

import java.sql.SQLException;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;

/**
 * In: the log's transactions, and the GTIDs of the master's binlogs, both in their order. Out: the first place where they differ.
 * Pure. Must never: count a transaction as compared whose binlog was purged.
 */
final class OrderProof implements LogProof.Listener {
    /** The GTIDs in the master's binlogs, in commit order. */
    interface Binlog {
        /** Starts reading; returns what lies before the oldest place that can be read. */
        GtidSet open(GtidSet before) throws SQLException;

        /** The next one; null at the end. */
        Gtid next() throws SQLException;
    }

    private final Binlog binlog;
    private GtidSet purged;
    private GtidSet known;
    private long compared;
    private long gone;
    private String difference;

    OrderProof(Binlog binlog) {
        this.binlog = binlog;
    }

    @Override
    public void start(GtidSet before) throws SQLException {
        purged = binlog.open(before);
        known = before;
    }

    @Override
    public void transaction(Gtid gtid) throws SQLException {
        if (difference != null) {
            return;
        }
        if (purged.contains(gtid)) {
            gone++;
            return;
        }
        Gtid expected = nextUnknown();
        if (!gtid.equals(expected)) {
            difference = "the log has " + gtid + " where the master's binlog has " + (expected == null ? "nothing" : expected);
        }
        compared++;
    }

    private Gtid nextUnknown() throws SQLException {
        Gtid next = binlog.next();
        while (next != null && known.contains(next)) {
            next = binlog.next();
        }
        return next;
    }

    @Override
    public void withoutRecord(GtidSet gtids) {
        known = known.union(gtids);
    }

    String difference() {
        return difference;
    }

    String counts() {
        return compared + " transactions in the order of the master's binlogs; " + gone + " not compared, their binlogs are purged";
    }
}
