package multimed.capture;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.gtid.GtidSet;

/**
 * Keeps the changes of prepared XA transactions: the binlog has them at XA PREPARE, and without them, as another transaction, XA
 * COMMIT. In: prepared transactions, by xid. Out: the same at their commit. Lives as long as the process, over epochs. It is a
 * cache: {@link PreparedInBinlog} reads again what is not in it. Must never: return changes whose XA PREPARE this process did not
 * itself write into the log, or hold more than its limit.
 */
final class PreparedTransactions {
    private static final long MAX_BYTES = 64L * 1024 * 1024;

    /** @param unsafe why the changes can't be replayed, or null; there are no events then */
    record Prepared(byte[] formatDescription, Map<String, String> session, List<BinlogEvent> changes, String unsafe) {
        long bytes() {
            return changes.stream().mapToLong(BinlogEvent::length).sum();
        }
    }

    private final Map<String, Prepared> byXid = new HashMap<>();
    private GtidSet upTo = GtidSet.EMPTY;
    private long bytes;

    /** A new epoch goes on from {@code set}: if somebody else wrote meanwhile, an xid can mean another transaction. */
    void resumeFrom(GtidSet set) {
        if (!set.equals(upTo)) {
            byXid.clear();
            bytes = 0;
            upTo = set;
        }
    }

    /** The log contains {@code set} now. */
    void writtenUpTo(GtidSet set) {
        upTo = set;
    }

    void add(String xid, MasterTransaction group, String unsafe) {
        List<BinlogEvent> changes = unsafe != null
                ? List.of()
                : group.events().stream().filter(each -> EventType.isChange(each.type())).toList();
        Prepared prepared = new Prepared(group.formatDescription(), RowSession.of(group.events()), changes, unsafe);
        if (bytes + prepared.bytes() > MAX_BYTES) {
            return;
        }
        bytes += prepared.bytes();
        byXid.put(xid, prepared);
    }

    /** Forgets it; null if it was prepared before this process began, or was too much. */
    Prepared take(String xid) {
        Prepared prepared = byXid.remove(xid);
        bytes -= prepared == null ? 0 : prepared.bytes();
        return prepared;
    }
}
