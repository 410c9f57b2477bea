package multimed.capture.debezium;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import multimed.capture.debezium.DecodedTransaction.Operation;
import multimed.capture.debezium.DecodedTransaction.Row;
import multimed.gtid.Gtid;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * In: Debezium's records one by one (transaction BEGIN and END, row changes; others don't matter). Out: decoded transactions. Pure but
 * for what it remembers. Must never: report a transaction as complete that began before the first record seen, or whose rows
 * it dropped because they were too many to keep.
 */
final class DecodedRows {
    private static final int MAX_BYTES = 64 * 1024 * 1024;
    private static final int FIELD_BYTES = 48;

    private final Consumer<DecodedTransaction> out;
    private String open;
    private List<Row> rows = new ArrayList<>();
    private long count;
    private long bytes;

    DecodedRows(Consumer<DecodedTransaction> out) {
        this.out = out;
    }

    void accept(SourceRecord record) {
        if (!(record.value() instanceof Struct value)) {
            return;
        }
        if (value.schema().field("event_count") != null) {
            boundary(value);
        } else if (value.schema().field("op") != null) {
            row(value);
        }
    }

    private void boundary(Struct value) {
        String id = value.getString("id");
        if (value.getString("status").equals("BEGIN")) {
            open = id;
        } else {
            boolean complete = id.equals(open) && value.getInt64("event_count") == count && rows.size() == count;
            out.accept(new DecodedTransaction(Gtid.parse(id), rows, rows.isEmpty() ? 0 : bytes, complete));
            open = null;
        }
        rows = new ArrayList<>();
        count = 0;
        bytes = 0;
    }

    private void row(Struct value) {
        Struct transaction = value.getStruct("transaction");
        if (transaction == null || !transaction.getString("id").equals(open)) {
            return;
        }
        count++;
        Operation operation = operation(value.getString("op"));
        Struct before = value.getStruct("before");
        Struct after = value.getStruct("after");
        bytes += size(before) + size(after);
        if (operation != null && bytes <= MAX_BYTES) {
            Struct source = value.getStruct("source");
            rows.add(new Row(source.getString("db"), source.getString("table"), operation, before, after));
        } else {
            rows.clear();
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
