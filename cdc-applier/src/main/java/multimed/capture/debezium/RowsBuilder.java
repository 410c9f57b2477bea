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

/** In: a transaction's changes, one by one. Out: the transaction as {@code Rows} chunks, each of which fits into a record. Pure. */
final class RowsBuilder {
    private final ColumnKinds kinds;
    private final List<Rows> chunks = new ArrayList<>();
    private final Map<Long, Integer> indexes = new HashMap<>();
    private Rows.Builder chunk = Rows.newBuilder();
    private int size;

    RowsBuilder(ColumnKinds kinds) {
        this.kinds = kinds;
    }

    void add(TableMap table, RowChange.Kind kind, List<Value> before, List<Value> after) throws Differs {
        RowChange.Builder builder = RowChange.newBuilder().setKind(kind).addAllBefore(before).addAllAfter(after);
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

    List<Rows> build() {
        endChunk();
        return chunks;
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
}
