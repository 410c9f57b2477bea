package multimed.capture.debezium;

import com.github.shyiko.mysql.binlog.event.TableMapEventData;
import com.github.shyiko.mysql.binlog.event.deserialization.DeleteRowsEventDataDeserializer;
import com.github.shyiko.mysql.binlog.event.deserialization.TableMapEventDataDeserializer;
import com.github.shyiko.mysql.binlog.event.deserialization.UpdateRowsEventDataDeserializer;
import com.github.shyiko.mysql.binlog.event.deserialization.WriteRowsEventDataDeserializer;
import com.github.shyiko.mysql.binlog.io.ByteArrayInputStream;
import io.debezium.config.CommonConnectorConfig.EventProcessingFailureHandlingMode;
import io.debezium.connector.binlog.event.RowDeserializers.DeleteRowsDeserializer;
import io.debezium.connector.binlog.event.RowDeserializers.UpdateRowsDeserializer;
import io.debezium.connector.binlog.event.RowDeserializers.WriteRowsDeserializer;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.MalformedEventException;
import multimed.binlog.TableMap;
import multimed.log.proto.ColumnType;
import multimed.log.proto.RowChange;
import multimed.log.proto.Rows;
import multimed.log.proto.Value;

/**
 * In: the table maps and row events of one transaction. Out: its changes as the log has them, decoded by Debezium's row deserializers and
 * value converters. One thread. Must never: decode a row under another schema than it was written under. That schema is the table map in
 * front of the row: nothing is kept from one transaction to the next, and no definition is read.
 *
 * <p>Debezium's connector would learn the schemas from statements: those that the master has when it starts, then those in the binlog. Its parser
 * needs half a KiB of stack for each character of a literal, and minutes for deeply nested expressions; while it parses, and after it has
 * failed, the rows of all tables would wait. And a row that it can't decode would end the connector.
 */
final class RowDecoder {
    private static final EventProcessingFailureHandlingMode FAIL = EventProcessingFailureHandlingMode.FAIL;

    private record Table(TableMap map, List<ColumnDecoder> columns) {}

    private final ColumnKinds kinds;
    private final ColumnDecoders decoders = new ColumnDecoders();
    private final TableMapEventDataDeserializer maps = new TableMapEventDataDeserializer();
    /** The deserializers look their table maps up here. */
    private final Map<Long, TableMapEventData> mapsById = new HashMap<>();
    private final WriteRowsEventDataDeserializer inserts = new WriteRowsDeserializer(mapsById, FAIL).setMayContainExtraInformation(true);
    private final UpdateRowsEventDataDeserializer updates = new UpdateRowsDeserializer(mapsById, FAIL).setMayContainExtraInformation(true);
    private final DeleteRowsEventDataDeserializer deletes = new DeleteRowsDeserializer(mapsById, FAIL).setMayContainExtraInformation(true);
    private final Map<Long, BinlogEvent> described = new HashMap<>();
    private final Map<Long, Table> tables = new HashMap<>();

    RowDecoder(ColumnKinds kinds) {
        this.kinds = kinds;
    }

    /** In parts that fit into records. */
    List<Rows> decode(List<BinlogEvent> events) throws Differs {
        RowsBuilder rows = new RowsBuilder(kinds);
        try {
            for (BinlogEvent event : events) {
                if (event.type() == EventType.TABLE_MAP) {
                    described.put(TableMap.tableId(event), event);
                    tables.remove(TableMap.tableId(event));
                } else if (EventType.isRows(event.type())) {
                    changes(event, rows);
                }
            }
        } catch (IOException | RuntimeException e) {
            throw new Differs(e.toString());
        } finally {
            mapsById.clear();
            described.clear();
            tables.clear();
        }
        return rows.build();
    }

    /** Only tables with rows need be understood. */
    private Table table(long id) throws IOException {
        Table table = tables.get(id);
        if (table == null) {
            BinlogEvent event = described.get(id);
            TableMap map = TableMap.parse(event);
            mapsById.put(id, maps.deserialize(body(event)));
            table = new Table(map, map.columns().stream().map(this::decoder).toList());
            tables.put(id, table);
        }
        return table;
    }

    private ColumnDecoder decoder(TableMap.Column column) {
        ColumnType type = kinds.kind(column);
        return decoders.of(DebeziumType.of(column, type), type);
    }

    private static ByteArrayInputStream body(BinlogEvent event) throws IOException {
        ByteArrayInputStream in = new ByteArrayInputStream(event.bytes());
        in.skip(BinlogEvent.HEADER);
        return in;
    }

    private void changes(BinlogEvent event, RowsBuilder rows) throws IOException, Differs {
        Table table = table(TableMap.tableId(event));
        switch (event.type()) {
            case EventType.WRITE_ROWS -> {
                for (Serializable[] row : inserts.deserialize(body(event)).getRows()) {
                    rows.add(table.map, RowChange.Kind.INSERT, List.of(), values(table, row));
                }
            }
            case EventType.UPDATE_ROWS -> {
                for (Map.Entry<Serializable[], Serializable[]> row : updates.deserialize(body(event)).getRows()) {
                    rows.add(table.map, RowChange.Kind.UPDATE, values(table, row.getKey()), values(table, row.getValue()));
                }
            }
            case EventType.DELETE_ROWS -> {
                for (Serializable[] row : deletes.deserialize(body(event)).getRows()) {
                    rows.add(table.map, RowChange.Kind.DELETE, values(table, row), List.of());
                }
            }
            default -> throw new MalformedEventException("row event of type " + event.type());
        }
    }

    private List<Value> values(Table table, Serializable[] row) throws Differs {
        if (row.length != table.columns.size()) {
            throw new Differs(table.map.fullName() + " has " + table.columns.size() + " columns, " + row.length + " decoded");
        }
        List<Value> values = new ArrayList<>(row.length);
        for (int i = 0; i < row.length; i++) {
            TableMap.Column column = table.map.columns().get(i);
            Value value = table.columns.get(i).decode(row[i]);
            if (!kinds.holds(column, value)) {
                throw new Differs(table.map.fullName() + " column " + column.name() + " has text outside its character set");
            }
            values.add(value);
        }
        return values;
    }
}
