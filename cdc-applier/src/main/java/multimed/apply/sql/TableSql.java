package multimed.apply.sql;

import java.util.ArrayList;
import java.util.List;
import multimed.log.LogBrokenException;
import multimed.log.proto.Column;
import multimed.log.proto.Table;
import multimed.log.proto.Value;

/** The fixed parts of one table's statements. Pure; made once per table and record. */
final class TableSql {
    private final Table table;
    private final byte[] insertHead;
    private final byte[] updateHead;
    private final byte[] deleteHead;
    private final byte[][] assignments;
    private final List<Integer> keys = new ArrayList<>();

    TableSql(Table table) {
        this.table = table;
        int columns = table.getColumnsCount();
        if (columns == 0) {
            throw new LogBrokenException("table " + name() + " has no columns");
        }
        assignments = new byte[columns][];
        SqlBuffer list = new SqlBuffer();
        for (int i = 0; i < columns; i++) {
            Column column = table.getColumns(i);
            list.add(i == 0 ? "" : ",").addIdentifier(column.getName());
            assignments[i] = new SqlBuffer().addIdentifier(column.getName()).add('=').toBytes();
            if (column.getKey()) {
                keys.add(i);
            }
        }
        insertHead = qualified("INSERT INTO ").add(" (").add(list.toBytes()).add(") VALUES ").toBytes();
        updateHead = qualified("UPDATE ").add(" SET ").toBytes();
        deleteHead = qualified("DELETE FROM ").toBytes();
    }

    private SqlBuffer qualified(String verb) {
        return new SqlBuffer().add(verb).addIdentifier(table.getDatabase()).add('.').addIdentifier(table.getName());
    }

    String name() {
        return table.getDatabase() + "." + table.getName();
    }

    void insertHead(SqlBuffer sql) {
        sql.add(insertHead);
    }

    /** (v,v,…). */
    void tuple(SqlBuffer sql, List<Value> row) {
        checkWidth(row);
        sql.add('(');
        for (int i = 0; i < row.size(); i++) {
            if (i > 0) {
                sql.add(',');
            }
            Literals.add(sql, table.getColumns(i), row.get(i));
        }
        sql.add(')');
    }

    /**
     * Sets every column: one left out could be changed by its ON UPDATE clause. Key columns only where their bytes differ
     * (a key can change its letters' case and stay equal to itself).
     */
    void update(SqlBuffer sql, List<Value> before, List<Value> after) {
        checkWidth(before);
        checkWidth(after);
        sql.add(updateHead);
        int set = 0;
        for (int i = 0; i < after.size(); i++) {
            if (!table.getColumns(i).getKey() || !before.get(i).equals(after.get(i))) {
                assign(sql, i, after.get(i), set++ == 0 ? "" : ",");
            }
        }
        if (set == 0) {
            assign(sql, 0, after.get(0), "");
        }
        where(sql, before);
    }

    void delete(SqlBuffer sql, List<Value> before) {
        checkWidth(before);
        sql.add(deleteHead);
        where(sql, before);
    }

    private void where(SqlBuffer sql, List<Value> row) {
        if (keys.isEmpty()) {
            throw new LogBrokenException("table " + name() + " has no key");
        }
        String joint = " WHERE ";
        for (int i : keys) {
            if (row.get(i).getKindCase() == Value.KindCase.KIND_NOT_SET) {
                throw new LogBrokenException("table " + name() + ": NULL in its key");
            }
            assign(sql, i, row.get(i), joint);
            joint = " AND ";
        }
    }

    private void assign(SqlBuffer sql, int column, Value value, String joint) {
        sql.add(joint).add(assignments[column]);
        Literals.add(sql, table.getColumns(column), value);
    }

    private void checkWidth(List<Value> row) {
        if (row.size() != assignments.length) {
            throw new LogBrokenException("table " + name() + ": " + row.size() + " values for " + assignments.length + " columns");
        }
    }

    /** `db.table key a=1,b=x`, cut to a readable length. */
    String describe(List<Value> row) {
        StringBuilder out = new StringBuilder("table=").append(name()).append(" key=");
        for (int i : keys) {
            SqlBuffer value = new SqlBuffer();
            Literals.add(value, table.getColumns(i), row.get(i));
            String text = new String(value.toBytes(), java.nio.charset.StandardCharsets.UTF_8);
            out.append(i == keys.get(0) ? "" : ",").append(table.getColumns(i).getName()).append('=')
                    .append(text.length() > 60 ? text.substring(0, 60) + "…" : text);
        }
        return out.toString();
    }
}
