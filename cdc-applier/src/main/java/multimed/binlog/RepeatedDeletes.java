package multimed.binlog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * In: the table maps and row events of transactions, one by one. Out: the same events without the rows whose deletion the master has
 * logged before. A cascade deletes a row and logs that; then the statement itself deletes the same row, which InnoDB takes for done, and
 * logs it again: a row that refers to itself, or parents and children in one DELETE. A satellite would not find it. Must never: leave
 * out a deletion that is one. So a row counts as deleted only by its primary key, within one statement, and until it is written again.
 * What is in doubt stays, and costs a clone at most. Bounded.
 */
public final class RepeatedDeletes {
    private static final int MOST = 100_000;

    private record Key(long table, ByteBuffer key) {}

    private final Map<Long, TableMap> tables = new HashMap<>();
    /** By the statement so far. */
    private final Set<Key> deleted = new HashSet<>();

    public void add(TableMap table) {
        tables.put(table.tableId(), table);
    }

    /** The event itself if nothing of it is left out; null if all of it is. */
    public BinlogEvent without(BinlogEvent event) {
        RowsEvent rows = RowsEvent.parse(event);
        boolean deletes = rows.type() == EventType.DELETE_ROWS;
        BinlogEvent kept = event;
        if ((rows.flags() & RowsEvent.SQL_FOREIGN_KEYS) != 0 && (deletes || !deleted.isEmpty())) {
            kept = deletes ? deletion(rows) : written(rows);
        }
        if (rows.statementEnd()) {
            deleted.clear();
            tables.clear();
        }
        return kept;
    }

    private BinlogEvent deletion(RowsEvent rows) {
        List<int[]> kept = new ArrayList<>();
        List<RowImages.Row> all = rowsOf(rows);
        for (RowImages.Row row : all) {
            if (deleted.size() > MOST || deleted.add(new Key(rows.tableId(), row.key()))) {
                kept.add(new int[] {row.from(), row.to()});
            }
        }
        return kept.size() == all.size() ? rows.event() : kept.isEmpty() ? null : rows.withRows(kept);
    }

    private BinlogEvent written(RowsEvent rows) {
        rowsOf(rows).forEach(row -> deleted.remove(new Key(rows.tableId(), row.key())));
        return rows.event();
    }

    /** None if they can't be told apart. What has been deleted is then not known any more. */
    private List<RowImages.Row> rowsOf(RowsEvent rows) {
        TableMap table = tables.get(rows.tableId());
        if (table != null && !table.primaryKey().isEmpty() && rows.allColumns() && rows.type() != EventType.PARTIAL_UPDATE_ROWS) {
            try {
                return RowImages.rows(rows, table);
            } catch (RuntimeException e) {
                // of a type that is not walked, or not understood
            }
        }
        deleted.removeIf(key -> key.table() == rows.tableId());
        return List.of();
    }
}
