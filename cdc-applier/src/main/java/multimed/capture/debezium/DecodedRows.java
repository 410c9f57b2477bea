package multimed.capture.debezium;

import java.nio.ByteBuffer;
import multimed.capture.debezium.DecodedTransaction.Operation;
import multimed.capture.debezium.DecodedTransaction.Row;
import multimed.gtid.Gtid;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * In: Debezium's records one by one (row changes; others don't matter). Out: each row under the GTID of its transaction. Pure but for
 * the GTID that it remembers. Debezium's own marks of a transaction's beginning and end are not asked for: they are two more records for
 * each, and capture knows from the binlog how many rows there must be.
 */
final class DecodedRows {
    private static final int FIELD_BYTES = 48;

    interface Out {
        /** @param row null: one that can't be used */
        void row(Gtid gtid, Row row);
    }

    private final Out out;
    private String text = "";
    private Gtid gtid;

    DecodedRows(Out out) {
        this.out = out;
    }

    void accept(SourceRecord record) {
        if (record.value() instanceof Struct value && value.schema().field("op") != null) {
            row(value);
        }
    }

    private void row(Struct value) {
        Struct source = value.getStruct("source");
        String of = source.getString("gtid");
        if (of == null) {
            return;
        }
        if (!of.equals(text)) {
            text = of;
            gtid = Gtid.parse(of);
        }
        Operation operation = operation(value.getString("op"));
        Struct before = value.getStruct("before");
        Struct after = value.getStruct("after");
        out.row(gtid, operation == null
                ? null
                : new Row(source.getString("db"), source.getString("table"), operation, before, after,
                        size(before) + size(after)));
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
