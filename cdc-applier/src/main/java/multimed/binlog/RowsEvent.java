package multimed.binlog;

import java.io.ByteArrayOutputStream;
import java.util.List;

/**
 * Head of a WRITE/UPDATE/DELETE_ROWS event (version 2): table id 6, flags 2, length of extra data 2 (itself included), extra
 * data, number of columns, bitmap of the columns present (two for an update), then the rows.
 */
public final class RowsEvent {
    public static final int STMT_END = 0x1;
    public static final int NO_FOREIGN_KEY_CHECKS = 0x2;
    /** Every column is in the image. */
    public static final int COMPLETE_ROWS = 0x8;
    /** Written by a server whose SQL layer does the foreign keys' cascades and logs them (9.6 and later). */
    public static final int SQL_FOREIGN_KEYS = 0x10;
    private static final int FLAGS_AT = BinlogEvent.HEADER + 6;

    private final BinlogEvent event;
    private final long tableId;
    private final int flags;
    private final boolean allColumns;
    private final int columns;
    private final int rowsAt;

    private RowsEvent(BinlogEvent event) {
        this.event = event;
        ByteCursor body = event.body();
        tableId = body.unsigned(6);
        flags = body.u16();
        body.skip(body.u16() - 2);
        columns = body.packedInt();
        boolean all = allSet(body, columns);
        if (event.type() == EventType.UPDATE_ROWS || event.type() == EventType.PARTIAL_UPDATE_ROWS) {
            all &= allSet(body, columns);
        }
        allColumns = all;
        rowsAt = body.position();
    }

    public static RowsEvent parse(BinlogEvent event) {
        return new RowsEvent(event);
    }

    private static boolean allSet(ByteCursor body, int columns) {
        boolean all = true;
        for (int i = 0; i < columns; i += 8) {
            int expected = (1 << Math.min(8, columns - i)) - 1;
            all &= (body.u8() & expected) == expected;
        }
        return all;
    }

    public BinlogEvent event() {
        return event;
    }

    public int type() {
        return event.type();
    }

    public long tableId() {
        return tableId;
    }

    public int flags() {
        return flags;
    }

    /** The last row event of its statement. */
    public boolean statementEnd() {
        return (flags & STMT_END) != 0;
    }

    /** Full row images: every column is in the event. */
    public boolean allColumns() {
        return allColumns;
    }

    public int columns() {
        return columns;
    }

    /** The rows themselves. */
    public ByteCursor rows() {
        return new ByteCursor(event.bytes(), rowsAt, event.length());
    }

    /**
     * Changes the bytes of an event, or of its beginning: if the master logs what foreign keys change, a replay must not change it again.
     * The server takes this flag from a statement's first event, which may be a parent's, and from there runs cascades that the
     * master did not: REPLACE deletes and inserts a parent, and leaves its children as they are.
     */
    public static void leaveForeignKeys(byte[] event) {
        if ((event[FLAGS_AT] & SQL_FOREIGN_KEYS) != 0) {
            event[FLAGS_AT] |= NO_FOREIGN_KEY_CHECKS;
        }
    }

    /** The same event with these parts of it as its rows: from and to, in pairs. */
    BinlogEvent withRows(List<int[]> kept) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(event.length());
        out.write(event.bytes(), 0, rowsAt);
        kept.forEach(part -> out.write(event.bytes(), part[0], part[1] - part[0]));
        return BinlogEvent.of(out.toByteArray()).withOwnLength();
    }

    /** Changes the bytes of an event, or of its beginning, so that it ends its statement. */
    public static void endStatement(byte[] event) {
        event[FLAGS_AT] |= STMT_END;
    }
}
