package multimed.capture.debezium;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import multimed.binlog.TableMap;
import multimed.log.LogTopic;
import multimed.log.proto.Column;
import multimed.log.proto.RowChange;
import multimed.log.proto.Rows;
import multimed.log.proto.Table;
import multimed.log.proto.Value;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Struct;

/**
 * In: what Debezium decoded and, change by change, which table the binlog says it belongs to. Out: the transaction as {@code Rows}
 * chunks. Pure. Must never: give rows if the two disagree in anything; it throws {@link Differs} then.
 */
final class RowsBuilder {

    /** Debezium's rows are not what the binlog's table maps lead to expect. The message is for the operator. */
    static final class Differs extends Exception {
        Differs(String message) {
            super(message);
        }
    }

    private final ColumnKinds kinds;
    private final List<Rows> chunks = new ArrayList<>();
    private final Map<Long, Integer> indexes = new HashMap<>();
    private Rows.Builder chunk = Rows.newBuilder();
    private int size;

    private RowsBuilder(ColumnKinds kinds) {
        this.kinds = kinds;
    }

    static List<Rows> build(List<TableMap> tables, List<DecodedRow> rows, ColumnKinds kinds) throws Differs {
        if (tables.size() != rows.size()) {
            throw new Differs(rows.size() + " rows decoded, " + tables.size() + " in the binlog");
        }
        RowsBuilder builder = new RowsBuilder(kinds);
        for (int i = 0; i < rows.size(); i++) {
            builder.add(tables.get(i), rows.get(i));
        }
        builder.endChunk();
        return builder.chunks;
    }

    private void add(TableMap table, DecodedRow row) throws Differs {
        if (!row.database().equals(table.database()) || !row.table().equals(table.table())) {
            throw new Differs("row of " + row.database() + "." + row.table() + ", in the binlog of " + table.fullName());
        }
        RowChange.Builder change = RowChange.newBuilder().setKind(kind(row));
        if (row.before() != null) {
            change.addAllBefore(values(table, row.before()));
        }
        if (row.after() != null) {
            change.addAllAfter(values(table, row.after()));
        }
        put(table, change);
    }

    private static RowChange.Kind kind(DecodedRow row) throws Differs {
        boolean before = row.before() != null;
        boolean after = row.after() != null;
        return switch (row.operation()) {
            case INSERT -> expect(!before && after, RowChange.Kind.INSERT);
            case UPDATE -> expect(before && after, RowChange.Kind.UPDATE);
            case DELETE -> expect(before && !after, RowChange.Kind.DELETE);
        };
    }

    private static RowChange.Kind expect(boolean images, RowChange.Kind kind) throws Differs {
        if (!images) {
            throw new Differs(kind + " without its images");
        }
        return kind;
    }

    private void put(TableMap table, RowChange.Builder builder) throws Differs {
        RowChange change = builder.setTable(indexes.getOrDefault(table.tableId(), indexes.size())).build();
        int bytes = change.getSerializedSize() + 16;
        if (bytes > LogTopic.RECORD_BYTES) {
            throw new Differs("a row longer than a record");
        }
        if (size + bytes > LogTopic.RECORD_BYTES) {
            endChunk();
            change = builder.setTable(0).build();
        }
        if (indexes.putIfAbsent(table.tableId(), change.getTable()) == null) {
            Table described = describe(table);
            chunk.addTables(described);
            size += described.getSerializedSize() + 8;
        }
        chunk.addChanges(change);
        size += bytes;
    }

    private void endChunk() {
        if (chunk.getChangesCount() > 0) {
            chunks.add(chunk.build());
        }
        chunk = Rows.newBuilder();
        indexes.clear();
        size = 0;
    }

    private Table describe(TableMap table) {
        Table.Builder described = Table.newBuilder().setDatabase(table.database()).setName(table.table());
        for (int i = 0; i < table.columns().size(); i++) {
            TableMap.Column column = table.columns().get(i);
            described.addColumns(Column.newBuilder()
                    .setName(column.name()).setKey(table.primaryKey().contains(i)).setType(kinds.kind(column)));
        }
        return described.build();
    }

    private List<Value> values(TableMap table, Struct row) throws Differs {
        List<Field> fields = row.schema().fields();
        if (fields.size() != table.columns().size()) {
            throw new Differs(table.fullName() + " has " + table.columns().size() + " columns, " + fields.size() + " decoded");
        }
        List<Value> values = new ArrayList<>(fields.size());
        for (int i = 0; i < fields.size(); i++) {
            TableMap.Column column = table.columns().get(i);
            Field field = fields.get(i);
            if (!field.name().equals(column.name())) {
                throw new Differs(table.fullName() + " column " + column.name() + " decoded as " + field.name());
            }
            Value value = Values.of(kinds.kind(column), field.schema(), row.getWithoutDefault(field.name()));
            if (!kinds.holds(column, value)) {
                throw new Differs(table.fullName() + " column " + column.name() + " has text outside its character set");
            }
            values.add(value);
        }
        return values;
    }
}
