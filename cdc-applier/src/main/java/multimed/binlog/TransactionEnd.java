package multimed.binlog;

import java.util.Locale;

/**
 * In: the events of one transaction after its GTID event, in order. Out: whether one is the last. A statement without BEGIN is
 * the last event itself; after BEGIN or XA START the last is XID, COMMIT, ROLLBACK or XA PREPARE.
 */
public final class TransactionEnd {
    private boolean group;
    private boolean first = true;

    public boolean isLast(BinlogEvent event) {
        boolean last = switch (event.type()) {
            case EventType.QUERY -> query(QueryEvent.ascii(event));
            case EventType.XID, EventType.XA_PREPARE, EventType.TRANSACTION_PAYLOAD -> true;
            default -> first && !group && !goesBeforeStatement(event);
        };
        first &= goesBeforeStatement(event);
        return last;
    }

    /** INTVAR, RAND, USER_VAR and ROWS_QUERY prepare the statement after them. */
    private static boolean goesBeforeStatement(BinlogEvent event) {
        return switch (event.type()) {
            case EventType.INTVAR, EventType.RAND, EventType.USER_VAR, EventType.ROWS_QUERY, EventType.IGNORABLE -> true;
            default -> event.ignorable();
        };
    }

    private boolean query(String sql) {
        if (!group) {
            group = sql.equals("BEGIN") || sql.startsWith("XA START");
            return !group;
        }
        String upper = sql.toUpperCase(Locale.ROOT);
        return upper.equals("COMMIT") || upper.equals("ROLLBACK");
    }
}
