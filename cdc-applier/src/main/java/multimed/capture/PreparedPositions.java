package multimed.capture;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * In: XA transactions that a part of the binlog prepares and decides (XA COMMIT, XA ROLLBACK), in its order. Out: where those were prepared
 * that it leaves undecided. Pure. Must never: take an earlier transaction for the one that has the same xid now.
 */
final class PreparedPositions {
    /** Of the GTID event of the XA PREPARE. */
    record Place(String file, long position) {}

    /** Reads one binlog file. */
    interface Reader<E extends Exception> {
        PreparedPositions read(String file) throws E;
    }

    private final Map<String, Place> undecided = new HashMap<>();
    /** Decided here, prepared before. */
    private final Set<String> decidedOnly = new HashSet<>();

    void prepared(String xid, Place place) {
        undecided.put(xid, place);
    }

    void decided(String xid) {
        if (undecided.remove(xid) == null) {
            decidedOnly.add(xid);
        }
    }

    void forget(String xid) {
        undecided.remove(xid);
    }

    /** Null if it was not prepared here, or is decided. */
    Place get(String xid) {
        return undecided.get(xid);
    }

    /** What lies before these. */
    private void precededBy(PreparedPositions older) {
        older.undecided.forEach((xid, place) -> {
            if (!decidedOnly.contains(xid)) {
                undecided.putIfAbsent(xid, place);
            }
        });
        decidedOnly.addAll(older.decidedOnly);
    }

    /** Reads files from the last one back until one prepares the xid. */
    static <E extends Exception> PreparedPositions search(String xid, List<String> files, Reader<E> reader) throws E {
        PreparedPositions all = new PreparedPositions();
        for (int i = files.size() - 1; i >= 0 && all.get(xid) == null; i--) {
            all.precededBy(reader.read(files.get(i)));
        }
        return all;
    }
}
