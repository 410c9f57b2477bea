package multimed.apply.sql;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import multimed.log.LogBrokenException;
import multimed.log.proto.RowChange;
import multimed.log.proto.RowChange.Kind;
import multimed.log.proto.Rows;
import multimed.log.proto.Value;

/**
 * In: a record's row changes. Out: SQL statements with the number of rows that each must hit, in the same order; only
 * consecutive inserts into one table are joined. Pure. Must never: reorder, or touch a row by anything but its primary key.
 */
public final class StatementBuilder {
    private final int maxRows;
    private final int maxBytes;

    /** A multi-row INSERT takes no further row once it has {@code maxRows} rows or {@code maxBytes} bytes. */
    public StatementBuilder(int maxRows, int maxBytes) {
        this.maxRows = maxRows;
        this.maxBytes = maxBytes;
    }

    /** Made one by one as they are asked for, so that a large record is never there twice. */
    public Iterator<RowStatement> statements(Rows rows) {
        TableSql[] tables = new TableSql[rows.getTablesCount()];
        for (int i = 0; i < tables.length; i++) {
            tables[i] = new TableSql(rows.getTables(i));
        }
        List<RowChange> changes = rows.getChangesList();
        return new Iterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < changes.size();
            }

            @Override
            public RowStatement next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                RowChange change = changes.get(next);
                TableSql table = table(tables, change);
                boolean insert = change.getKind() == Kind.INSERT;
                RowStatement statement = insert ? insert(table, changes, next) : single(table, change);
                next += statement.changes();
                return statement;
            }
        };
    }

    private static TableSql table(TableSql[] tables, RowChange change) {
        int i = change.getTable();
        if (i < 0 || i >= tables.length) {
            throw new LogBrokenException("a change refers to table " + i + " of " + tables.length);
        }
        return tables[i];
    }

    private RowStatement insert(TableSql table, List<RowChange> changes, int first) {
        SqlBuffer sql = new SqlBuffer();
        table.insertHead(sql);
        int next = first;
        do {
            if (next > first) {
                sql.add(',');
            }
            table.tuple(sql, changes.get(next++).getAfterList());
        } while (next < changes.size() && next - first < maxRows && sql.length() < maxBytes
                && joins(changes.get(first), changes.get(next)));
        List<Value> row = changes.get(first).getAfterList();
        return new RowStatement(sql.toBytes(), next - first, true, () -> "insert " + table.describe(row));
    }

    private static boolean joins(RowChange first, RowChange next) {
        return next.getKind() == Kind.INSERT && next.getTable() == first.getTable();
    }

    private static RowStatement single(TableSql table, RowChange change) {
        SqlBuffer sql = new SqlBuffer();
        List<Value> before = change.getBeforeList();
        switch (change.getKind()) {
            case UPDATE -> table.update(sql, before, change.getAfterList());
            case DELETE -> table.delete(sql, before);
            default -> throw new LogBrokenException("a change of kind " + change.getKind());
        }
        String verb = change.getKind() == Kind.UPDATE ? "update " : "delete ";
        return new RowStatement(sql.toBytes(), 1, false, () -> verb + table.describe(before));
    }
}
