package multimed.capture.tables;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import multimed.binlog.TableName;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;

/** What goes over a connection, as TABLE_STREAM.md has it: length 4, kind 1, body; integers are big endian. Pure. */
final class Frames {
    static final int VERSION = 1;
    static final int HELLO = 1;
    static final int TRANSACTION = 2;
    static final int HEARTBEAT = 3;
    static final int CATALOG = 4;
    static final int MARK = 5;
    private static final int ALL = 1;
    private static final int ALL_ROWS = 2;
    private static final int VIEW = 1;
    private static final int FUNCTION = 2;
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
            set(before, out);
            out.writeByte(MARK);
        });
    }

    static byte[] mark(long number, long clock) {
        return frame(MARK, out -> {
            out.writeLong(number);
            out.writeLong(clock);
        });
    }

    static byte[] catalog(Catalog catalog) {
        return frame(CATALOG, out -> {
            set(catalog.before(), out);
            set(catalog.after(), out);
            out.writeByte(catalog.lowerCase() ? 1 : 0);
            out.writeInt(catalog.views().size());
            for (var view : catalog.views().entrySet()) {
                name(view.getKey(), out);
                out.writeByte(view.getValue().isEmpty() ? 1 : 0);
                names(view.getValue(), out);
            }
            out.writeInt(catalog.cascades().size());
            for (Catalog.Cascade cascade : catalog.cascades()) {
                name(cascade.child(), out);
                name(cascade.parent(), out);
            }
            names(catalog.tables(), out);
            definitions(catalog, out);
        });
    }

    /** Behind what every reader of catalogs knows, so that earlier ones skip it. */
    private static void definitions(Catalog catalog, DataOutputStream out) throws IOException {
        out.writeInt(catalog.definitions().size());
        for (Catalog.Definition each : catalog.definitions()) {
            out.writeByte(each.function() ? FUNCTION : VIEW);
            name(each.name(), out);
            out.writeInt(each.parameters().size());
            for (String parameter : each.parameters()) {
                string(parameter, out);
            }
            text(each.text(), out);
        }
    }

    static byte[] transaction(Gtid gtid, long commitTimeMicros, WrittenTables written) {
        return frame(TRANSACTION, out -> {
            string(gtid.toString(), out);
            out.writeLong(commitTimeMicros);
            out.writeByte(written.all() ? written.keepsNames() ? ALL_ROWS : ALL : 0);
            if (!written.all() || !written.keepsNames()) {
                names(written.tables(), out);
            }
        });
    }

    private static void names(Collection<TableName> tables, DataOutputStream out) throws IOException {
        out.writeInt(tables.size());
        for (TableName table : tables) {
            name(table, out);
        }
    }

    private static void name(TableName table, DataOutputStream out) throws IOException {
        string(table.schema(), out);
        string(table.table(), out);
    }

    private static void set(GtidSet set, DataOutputStream out) throws IOException {
        text(set.toString(), out);
    }

    private static void text(String text, DataOutputStream out) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
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
