package multimed.capture.tables;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import multimed.binlog.TableName;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;

/** What goes over a connection, as TABLE_STREAM.md has it: length 4, kind 1, body; integers are big endian. Pure. */
final class Frames {
    static final int VERSION = 1;
    static final int HELLO = 1;
    static final int TRANSACTION = 2;
    static final int HEARTBEAT = 3;
    /** A longer transaction counts as having written everything. */
    static final int LONGEST_TRANSACTION = 64 * 1024;

    private interface Body {
        void writeTo(DataOutputStream out) throws IOException;
    }

    private Frames() {}

    static byte[] hello(String serverUuid, GtidSet before) {
        return frame(HELLO, out -> {
            out.writeShort(VERSION);
            string(serverUuid, out);
            byte[] text = before.toString().getBytes(StandardCharsets.UTF_8);
            out.writeInt(text.length);
            out.write(text);
        });
    }

    static byte[] transaction(Gtid gtid, long commitTimeMicros, WrittenTables written) {
        return frame(TRANSACTION, out -> {
            string(gtid.toString(), out);
            out.writeLong(commitTimeMicros);
            out.writeByte(written.all() ? 1 : 0);
            if (!written.all()) {
                tables(written, out);
            }
        });
    }

    private static void tables(WrittenTables written, DataOutputStream out) throws IOException {
        out.writeInt(written.tables().size());
        for (TableName table : written.tables()) {
            string(table.schema(), out);
            string(table.table(), out);
        }
    }

    static byte[] heartbeat() {
        return frame(HEARTBEAT, out -> {});
    }

    private static byte[] frame(int kind, Body body) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(0);
            out.writeByte(kind);
            body.writeTo(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        byte[] frame = bytes.toByteArray();
        ByteBuffer.wrap(frame).putInt(frame.length - Integer.BYTES);
        return frame;
    }

    /** Names and GTIDs are far shorter than the 65 535 bytes that the length can say. */
    private static void string(String text, DataOutputStream out) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeShort(bytes.length);
        out.write(bytes);
    }
}
