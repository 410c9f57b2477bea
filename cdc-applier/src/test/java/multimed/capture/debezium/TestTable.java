package multimed.capture.debezium;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import multimed.binlog.BinlogEvent;
import multimed.binlog.ColumnTypes;
import multimed.binlog.EventType;

/** A table whose events a server would write: its table map and its row events, put together by hand. */
final class TestTable {
    private static final int NUMERIC_BITS = 8;

    private final long id;
    private final String name;
    private final ByteArrayOutputStream types = new ByteArrayOutputStream();
    private final ByteArrayOutputStream metas = new ByteArrayOutputStream();
    private final ByteArrayOutputStream collations = new ByteArrayOutputStream();
    private final ByteArrayOutputStream names = new ByteArrayOutputStream();
    private int unsigned;
    private int numeric;

    /** Its first column, an INT, is the key. */
    TestTable(long id, String name) {
        this.id = id;
        this.name = name;
        signed(ColumnTypes.LONG);
    }

    /** At most {@value #NUMERIC_BITS} numeric columns. */
    TestTable signed(int type, int... meta) {
        numeric++;
        return column(type, meta);
    }

    TestTable unsigned(int type) {
        unsigned |= 0x80 >> numeric;
        return signed(type);
    }

    /** CHAR, VARCHAR, TEXT and their binary relatives. */
    TestTable text(int type, int collation, int... meta) {
        collations.write(collation < 251 ? new byte[] {(byte) collation} : new byte[] {(byte) 252, (byte) collation, 0}, 0,
                collation < 251 ? 1 : 3);
        return column(type, meta);
    }

    TestTable column(int type, int... meta) {
        text(names, "c" + types.size());
        types.write(type);
        for (int b : meta) {
            metas.write(b);
        }
        return this;
    }

    private static void text(ByteArrayOutputStream out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.write(bytes.length);
        out.writeBytes(bytes);
    }

    private static void field(ByteArrayOutputStream out, int field, byte[] content) {
        out.write(field);
        out.write(content.length);
        out.writeBytes(content);
    }

    BinlogEvent map() {
        ByteArrayOutputStream body = head();
        text(body, "app");
        body.write(0);
        text(body, name);
        body.write(0);
        body.write(types.size());
        body.writeBytes(types.toByteArray());
        body.write(metas.size());
        body.writeBytes(metas.toByteArray());
        body.writeBytes(new byte[(types.size() + 7) / 8]);
        field(body, 1, new byte[] {(byte) unsigned});
        if (collations.size() > 0) {
            field(body, 3, collations.toByteArray());
        }
        field(body, 4, names.toByteArray());
        field(body, 8, new byte[] {0});
        return event(EventType.TABLE_MAP, body);
    }

    private ByteArrayOutputStream head() {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int i = 0; i < 6; i++) {
            body.write((int) (id >>> 8 * i));
        }
        body.writeBytes(new byte[] {1, 0});
        return body;
    }

    /** One row; of each column its bytes, or null. */
    BinlogEvent inserted(byte[]... values) {
        return rows(EventType.WRITE_ROWS, values);
    }

    BinlogEvent deleted(byte[]... values) {
        return rows(EventType.DELETE_ROWS, values);
    }

    private BinlogEvent rows(int type, byte[]... values) {
        ByteArrayOutputStream body = head();
        body.writeBytes(new byte[] {2, 0});
        body.write(types.size());
        byte[] all = new byte[(types.size() + 7) / 8];
        Arrays.fill(all, (byte) 0xff);
        body.writeBytes(all);
        byte[] nulls = new byte[all.length];
        for (int i = 0; i < values.length; i++) {
            nulls[i / 8] |= (byte) (values[i] == null ? 1 << i % 8 : 0);
        }
        body.writeBytes(nulls);
        Arrays.stream(values).filter(Objects::nonNull).forEach(body::writeBytes);
        return event(type, body);
    }

    private static BinlogEvent event(int type, ByteArrayOutputStream body) {
        byte[] bytes = Arrays.copyOf(new byte[] {0, 0, 0, 0, (byte) type}, BinlogEvent.HEADER + body.size());
        System.arraycopy(body.toByteArray(), 0, bytes, BinlogEvent.HEADER, body.size());
        return BinlogEvent.of(bytes);
    }
}
