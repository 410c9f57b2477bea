package multimed.binlog;

/** Type codes of the binlog events that capture tells apart. */
public final class EventType {
    public static final int QUERY = 2;
    public static final int STOP = 3;
    public static final int ROTATE = 4;
    public static final int INTVAR = 5;
    public static final int RAND = 13;
    public static final int USER_VAR = 14;
    public static final int FORMAT_DESCRIPTION = 15;
    public static final int XID = 16;
    public static final int TABLE_MAP = 19;
    public static final int HEARTBEAT = 27;
    public static final int IGNORABLE = 28;
    public static final int ROWS_QUERY = 29;
    public static final int WRITE_ROWS = 30;
    public static final int UPDATE_ROWS = 31;
    public static final int DELETE_ROWS = 32;
    public static final int GTID = 33;
    public static final int PREVIOUS_GTIDS = 35;
    public static final int XA_PREPARE = 38;
    public static final int PARTIAL_UPDATE_ROWS = 39;
    public static final int TRANSACTION_PAYLOAD = 40;
    public static final int HEARTBEAT_V2 = 41;
    public static final int GTID_TAGGED = 42;

    private EventType() {}

    public static boolean isRows(int type) {
        return type == WRITE_ROWS || type == UPDATE_ROWS || type == DELETE_ROWS || type == PARTIAL_UPDATE_ROWS;
    }

    /** What a raw record carries. */
    public static boolean isChange(int type) {
        return type == TABLE_MAP || isRows(type);
    }

    public static boolean isGtid(int type) {
        return type == GTID || type == GTID_TAGGED;
    }
}
