package multimed.binlog;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.time.YearMonth;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import multimed.binlog.TableMap.Column;

/**
 * In: a row event with full images and its table map. Out: how many rows it has, and whether one of them holds a date that is not
 * in the calendar (zero, partial, 31 February), or changes its primary key. Must never: walk a type whose length it does not know;
 * it throws then.
 *
 * <p>A row image is a bitmap of NULLs and then the values that are not NULL. An update has two images per row.
 */
public final class RowImages {
    private static final int[] DECIMAL_BYTES = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4};

    /** What was seen in all rows of one event. */
    public record Seen(int rows, boolean oddDate, boolean keyChange) {}

    /** One row: where it stands in the event, and the bytes of its primary key; of an update, after it. */
    record Row(int from, int to, ByteBuffer key) {}

    private final TableMap table;
    private final byte[] bytes;
    private final ByteCursor in;
    private final boolean[] key;
    private boolean oddDate;
    private boolean keyChange;

    private RowImages(RowsEvent rows, TableMap table) {
        this.table = table;
        this.bytes = rows.event().bytes();
        this.in = rows.rows();
        this.key = new boolean[table.columns().size()];
        table.primaryKey().forEach(i -> key[i] = true);
    }

    public static Seen walk(RowsEvent rows, TableMap table) {
        return of(rows, table).walk(rows.type() == EventType.UPDATE_ROWS);
    }

    static List<Row> rows(RowsEvent rows, TableMap table) {
        return of(rows, table).rows(rows.type() == EventType.UPDATE_ROWS);
    }

    private static RowImages of(RowsEvent rows, TableMap table) {
        if (!rows.allColumns() || rows.columns() != table.columns().size()) {
            throw new MalformedEventException("not a full row image");
        }
        return new RowImages(rows, table);
    }

    private List<Row> rows(boolean update) {
        List<Row> rows = new ArrayList<>();
        int[] spans = new int[2 * table.columns().size()];
        while (in.remaining() > 0) {
            int from = in.position();
            image(spans);
            if (update) {
                image(spans);
            }
            rows.add(new Row(from, in.position(), keyBytes(spans)));
        }
        return rows;
    }

    /** Each value with the length that stands before it, so that two keys can't have the same bytes. */
    private ByteBuffer keyBytes(int[] spans) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i : table.primaryKey()) {
            out.write(bytes, spans[2 * i], spans[2 * i + 1] - spans[2 * i]);
        }
        return ByteBuffer.wrap(out.toByteArray());
    }

    private Seen walk(boolean update) {
        int count = 0;
        int[] before = new int[2 * table.columns().size()];
        int[] after = new int[before.length];
        while (in.remaining() > 0) {
            image(before);
            if (update) {
                image(after);
                keyChange |= keyDiffers(before, after);
            }
            count++;
        }
        return new Seen(count, oddDate, keyChange);
    }

    /** Notes where each value begins and ends; -1 for NULL. */
    private void image(int[] spans) {
        List<Column> columns = table.columns();
        byte[] nulls = in.bytes((columns.size() + 7) / 8);
        for (int i = 0; i < columns.size(); i++) {
            boolean isNull = (nulls[i / 8] >> i % 8 & 1) != 0;
            spans[2 * i] = isNull ? -1 : in.position();
            if (!isNull) {
                value(columns.get(i));
            }
            spans[2 * i + 1] = isNull ? -1 : in.position();
        }
    }

    private boolean keyDiffers(int[] before, int[] after) {
        for (int i = 0; i < key.length; i++) {
            if (key[i] && !Arrays.equals(
                    bytes, before[2 * i], before[2 * i + 1], bytes, after[2 * i], after[2 * i + 1])) {
                return true;
            }
        }
        return false;
    }

    private void value(Column column) {
        int meta = column.meta();
        switch (column.type()) {
            case ColumnTypes.TINY, ColumnTypes.YEAR -> in.skip(1);
            case ColumnTypes.SHORT -> in.skip(2);
            case ColumnTypes.INT24 -> in.skip(3);
            case ColumnTypes.LONG -> in.skip(4);
            case ColumnTypes.LONGLONG -> in.skip(8);
            case ColumnTypes.FLOAT, ColumnTypes.DOUBLE -> in.skip(meta);
            case ColumnTypes.DECIMAL -> in.skip(decimalLength(meta >> 8, meta & 0xff));
            case ColumnTypes.VARCHAR -> in.skip(meta > 255 ? in.u16() : in.u8());
            case ColumnTypes.STRING -> in.skip(ColumnTypes.charLength(meta) > 255 ? in.u16() : in.u8());
            case ColumnTypes.BLOB, ColumnTypes.JSON, ColumnTypes.GEOMETRY, ColumnTypes.VECTOR -> in.skip((int) in.unsigned(meta));
            case ColumnTypes.ENUM, ColumnTypes.SET -> in.skip(meta & 0xff);
            case ColumnTypes.BIT -> in.skip((meta >> 8) + ((meta & 0xff) > 0 ? 1 : 0));
            case ColumnTypes.DATE -> date(in.unsigned(3));
            case ColumnTypes.TIME -> in.skip(3 + (meta + 1) / 2);
            case ColumnTypes.DATETIME -> dateTime(in.bigEndian(5), meta);
            case ColumnTypes.TIMESTAMP -> timestamp(in.bigEndian(4), meta);
            default -> throw new MalformedEventException("column type " + column.type());
        }
    }

    /** Day 5 bits, month 4 bits, year. */
    private void date(long packed) {
        calendar((int) (packed >> 9), (int) (packed >> 5 & 15), (int) (packed & 31));
    }

    /** Sign 1 bit, year * 13 + month 17 bits, day 5 bits, time 17 bits. */
    private void dateTime(long packed, int digits) {
        long yearMonth = packed >> 22 & 0x1ffff;
        calendar((int) (yearMonth / 13), (int) (yearMonth % 13), (int) (packed >> 17 & 31));
        in.skip((digits + 1) / 2);
    }

    private void calendar(int year, int month, int day) {
        boolean inCalendar = day > 0 && month > 0 && month < 13 && (day <= 28 || day <= YearMonth.of(year, month).lengthOfMonth());
        oddDate |= !inCalendar || year == 0;
    }

    private void timestamp(long seconds, int digits) {
        oddDate |= seconds == 0;
        in.skip((digits + 1) / 2);
    }

    static int decimalLength(int precision, int scale) {
        int whole = precision - scale;
        return whole / 9 * 4 + DECIMAL_BYTES[whole % 9] + scale / 9 * 4 + DECIMAL_BYTES[scale % 9];
    }
}
