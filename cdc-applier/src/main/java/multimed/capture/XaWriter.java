package multimed.capture;

import multimed.binlog.GtidEvent;
import multimed.capture.Verdict.AsXaPrepare;
import multimed.gtid.Gtid;

/**
 * Writes XA transactions into the log. XA PREPARE brings the changes, and becomes an empty transaction; XA COMMIT comes without
 * them and is written with the changes that were kept, or that are read from the binlog again. Must never: write another
 * transaction's changes.
 */
final class XaWriter {
    private final PreparedTransactions prepared;
    private final PreparedInBinlog preparedInBinlog;
    private final RecordWriter writer;
    private final LargeTransaction.Factory large;
    private final EpochKeeper epoch;

    XaWriter(PreparedTransactions prepared, PreparedInBinlog preparedInBinlog, RecordWriter writer, LargeTransaction.Factory large,
            EpochKeeper epoch) {
        this.prepared = prepared;
        this.preparedInBinlog = preparedInBinlog;
        this.writer = writer;
        this.large = large;
        this.epoch = epoch;
    }

    /** @param complete whether the transaction has its changes, and they can be kept */
    void prepare(MasterTransaction transaction, Gtid previous, AsXaPrepare xa, boolean complete) {
        forget(xa.xid());
        if (complete) {
            prepared.add(xa.xid(), transaction, xa.unsafe());
        }
        writer.empty(transaction.start(), previous);
    }

    void rollback(GtidEvent start, Gtid previous, String xid) {
        forget(xid);
        writer.empty(start, previous);
    }

    private void forget(String xid) {
        preparedInBinlog.forget(xid);
        prepared.take(xid);
    }

    /** @param file the binlog file that has the XA COMMIT */
    void commit(GtidEvent start, Gtid previous, String xid, String file) throws Exception {
        PreparedTransactions.Prepared changes = prepared.take(xid);
        if (changes == null) {
            fromBinlog(start, previous, xid, file);
        } else if (changes.unsafe() != null) {
            writer.rebuild(start, previous, "XA COMMIT of what can't be replayed: " + changes.unsafe());
        } else {
            writer.raw(start, previous, changes);
        }
        preparedInBinlog.forget(xid);
    }

    /** The changes that were prepared under the xid, read from the binlog again. */
    void fromBinlog(GtidEvent start, Gtid previous, String xid, String file) throws Exception {
        LargeTransaction[] again = new LargeTransaction[1];
        String missing = preparedInBinlog.read(xid, start.gtid(), file, (description, event, last) -> {
            if (again[0] == null) {
                again[0] = large.begin(start, previous, description, RecordWriter.XA);
            }
            again[0].add(event, last);
        });
        if (missing != null) {
            epoch.repeat();
            writer.rebuild(start, previous, "XA COMMIT of changes that are not at hand: " + missing);
        } else {
            again[0].finish();
        }
    }
}
