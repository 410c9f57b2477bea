package multimed.capture;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * In: XA transactions that a part of the binlog prepares and decides (XA COMMIT, XA ROLLBACK), in its order. Out: where those were
 * prepared that it leaves undecided. Pure. Must never: take an earlier transaction for the one that has the same xid now.
 */
final class PreparedPositions {
    /** Of the GTID event of the XA PREPARE. */
    record Position(String file, long position) {}

    /** Reads one binlog file. */
    interface Reader<E extends Exception> {
        PreparedPositions read(String file) throws E;
    }

    private final Map<String, Position> undecided = new HashMap<>();
    /** Decided here, prepared before. */
    private final Set<String> decidedOnly = new HashSet<>();

    void prepared(String xid, Position position) {
        undecided.put(xid, position);
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
    Position get(String xid) {
        return undecided.get(xid);
    }

    /** What lies before these. */
    private void precededBy(PreparedPositions older) {
        older.undecided.forEach((xid, position) -> {
            if (!decidedOnly.contains(xid)) {
                undecided.putIfAbsent(xid, position);
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
