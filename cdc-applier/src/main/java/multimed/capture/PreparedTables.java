package multimed.capture;

import java.util.LinkedHashMap;
import multimed.capture.tables.WrittenTables;

/**
 * The tables of XA transactions between XA PREPARE and XA COMMIT, by xid. It begins empty with each epoch, and the oldest are forgotten
 * when there are too many: whoever asks for what it does not have must take it that everything was written.
 */
final class PreparedTables {
    private static final int MOST = 10_000;
    private static final int MOST_NAMES = 100_000;

    private final LinkedHashMap<String, WrittenTables> byXid = new LinkedHashMap<>();
    private int names;

    void put(String xid, WrittenTables tables) {
        remove(xid);
        byXid.put(xid, tables);
        names += tables.tables().size();
        while (byXid.size() > MOST || names > MOST_NAMES) {
            remove(byXid.keySet().iterator().next());
        }
    }

    /** Forgets it; ALL_ROWS if it is not known: none of them defines anything. */
    WrittenTables remove(String xid) {
        WrittenTables tables = byXid.remove(xid);
        names -= tables == null ? 0 : tables.tables().size();
        return tables == null ? WrittenTables.ALL_ROWS : tables;
    }
}
