package multimed.capture.debezium;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import multimed.capture.debezium.DecodedRow.Operation;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * In: Debezium's records of one transaction (row changes; others don't matter). Out: its rows. Bounded by memory. Used by one thread.
 * Must never: keep a part of a transaction as if it were all of it, when the rest was dropped.
 */
final class DecodedRows {
    private static final int FIELD_BYTES = 48;

    private final long maxBytes;
    private List<DecodedRow> rows = new ArrayList<>();
    private long bytes;
    private boolean complete = true;

    DecodedRows(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Before a transaction. */
    void clear() {
        rows = new ArrayList<>();
        bytes = 0;
        complete = true;
    }

    /** False: it has a row that can't be used, or too many to keep. */
    boolean complete() {
        return complete;
    }

    List<DecodedRow> rows() {
        return rows;
    }

    void accept(SourceRecord record) {
        if (complete && record.value() instanceof Struct value && value.schema().field("op") != null) {
            row(value);
        }
    }

    private void row(Struct value) {
        Struct source = value.getStruct("source");
        Operation operation = operation(value.getString("op"));
        Struct before = value.getStruct("before");
        Struct after = value.getStruct("after");
        bytes += size(before) + size(after);
        if (operation == null || bytes > maxBytes) {
            rows = List.of();
            complete = false;
        } else {
            rows.add(new DecodedRow(source.getString("db"), source.getString("table"), operation, before, after));
        }
    }

    private static Operation operation(String op) {
        return switch (op) {
            case "c" -> Operation.INSERT;
            case "u" -> Operation.UPDATE;
            case "d" -> Operation.DELETE;
            default -> null;
        };
    }

    /** A rough upper estimate of the memory that the values take. */
    private static long size(Struct struct) {
        if (struct == null) {
            return 0;
        }
        long size = 0;
        for (var field : struct.schema().fields()) {
            Object value = struct.getWithoutDefault(field.name());
            size += FIELD_BYTES;
            if (value instanceof String s) {
                size += 2L * s.length();
            } else if (value instanceof byte[] b) {
                size += b.length;
            } else if (value instanceof ByteBuffer b) {
                size += b.capacity();
            }
        }
        return size;
    }
}
