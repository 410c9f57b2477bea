package multimed.capture;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.gtid.GtidSet;

/**
 * Changes that XA PREPARE brought and that XA COMMIT, another transaction of the binlog, makes effective. In: whole groups, by xid.
 * Out: the same at their commit. Lives as long as the process, over epochs. A cache: what it does not have, {@link
 * PreparedInBinlog} reads again. Must never: give out what this process did not itself write the preparation of, or hold more than
 * a bound.
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
