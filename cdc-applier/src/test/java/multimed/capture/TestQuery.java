package multimed.capture;

import java.io.ByteArrayOutputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import multimed.binlog.BinlogEvent;
import multimed.binlog.QueryEvent;

/** A query event, put together as a server does. */
final class TestQuery {
    static final int ANSI_QUOTES = 1 << 2;
    static final int NO_BACKSLASH_ESCAPES = 1 << 20;

    private final ByteArrayOutputStream status = new ByteArrayOutputStream();
    private int flags;

    TestQuery mode(int mode) {
        status.write(1);
        number(mode, 8);
        return this;
    }

    /** As numbers of collations. */
    TestQuery charset(int client, int connection) {
        status.write(4);
        number(client, 2);
        number(connection, 2);
        number(255, 2);
        return this;
    }

    TestQuery timeZone(String zone) {
        status.write(5);
        text(zone);
        return this;
    }

    TestQuery invoker(String user, String host) {
        status.write(11);
        text(user);
        text(host);
        return this;
    }

    TestQuery atomic() {
        status.write(17);
        number(1, 8);
        return this;
    }

    TestQuery threadSpecific() {
        flags = 4;
        return this;
    }

    /** The time zone's length is beyond the end. */
    TestQuery brokenStatus() {
        status.write(5);
        status.write(200);
        return this;
    }

    private void number(long value, int bytes) {
        for (int i = 0; i < bytes; i++) {
            status.write((int) (value >>> 8 * i));
        }
    }

    private void text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        status.write(bytes.length);
        status.writeBytes(bytes);
    }

    QueryEvent of(String sql) {
        return of(sql, "UTF-8");
    }

    QueryEvent of(String sql, String javaCharset) {
        return of(sql.getBytes(Charset.forName(javaCharset)));
    }

    static BinlogEvent event(String sql) {
        return new TestQuery().eventOf(sql);
    }

    BinlogEvent eventOf(String sql) {
        return eventOf(sql.getBytes(StandardCharsets.UTF_8));
    }

    QueryEvent of(byte[] sql) {
        return QueryEvent.parse(eventOf(sql));
    }

    private BinlogEvent eventOf(byte[] sql) {
        byte[] header = new byte[BinlogEvent.HEADER];
        header[4] = 2;
        header[17] = (byte) flags;
        ByteArrayOutputStream event = new ByteArrayOutputStream();
        event.writeBytes(header);
        event.writeBytes(new byte[11]);
        event.write(status.size());
        event.write(status.size() >> 8);
        event.writeBytes(status.toByteArray());
        event.write(0);
        event.writeBytes(sql);
        return BinlogEvent.of(event.toByteArray());
    }
}
