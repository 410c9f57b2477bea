package multimed.apply.sql;

import multimed.log.LogBrokenException;
import multimed.log.proto.Column;
import multimed.log.proto.ColumnType;
import multimed.log.proto.Value;

/**
 * In: a value of the log and its column. Out: an SQL literal that MySQL stores, and compares with the column, as exactly
 * this value. Must never: let text become SQL, or guess when value and column don't fit.
 */
final class Literals {
    private Literals() {}

    static void add(SqlBuffer sql, Column column, Value value) {
        switch (value.getKindCase()) {
            case KIND_NOT_SET -> sql.add("NULL");
            case SIGNED -> sql.add(Long.toString(expect(column, ColumnType.SIGNED, value).getSigned()));
            case UNSIGNED -> sql.add(Long.toUnsignedString(expect(column, ColumnType.UNSIGNED, value).getUnsigned()));
            case REAL -> sql.add(real(column, value.getReal()));
            case TEXT -> text(sql, column, value);
            case BYTES -> sql.add("_binary").addQuoted(expect(column, ColumnType.BINARY, value).getBytes());
        }
    }

    /** With an exponent always: without one MySQL would read a DECIMAL, and a zero would lose its sign. */
    private static String real(Column column, double value) {
        boolean fits = column.getType() == ColumnType.FLOAT || column.getType() == ColumnType.DOUBLE;
        if (!fits || Double.isNaN(value) || Double.isInfinite(value)) {
            throw mismatch(column, "real " + value);
        }
        String text = Double.toString(value);
        return text.indexOf('E') < 0 ? text + "E0" : text;
    }

    private static void text(SqlBuffer sql, Column column, Value value) {
        switch (column.getType()) {
            case DECIMAL -> sql.add(decimal(column, value.getText()));
            case TEXT, DATE, TIME, DATETIME, TIMESTAMP -> sql.addQuoted(value.getTextBytes());
            default -> throw mismatch(column, "text");
        }
    }

    /** Unquoted, since a quoted number would be compared with the column as a DOUBLE. */
    private static String decimal(Column column, String text) {
        if (!text.matches("-?[0-9]+(\\.[0-9]+)?")) {
            throw mismatch(column, "a decimal that is not in plain notation");
        }
        return text;
    }

    private static Value expect(Column column, ColumnType type, Value value) {
        if (column.getType() != type) {
            throw mismatch(column, value.getKindCase().toString());
        }
        return value;
    }

    private static LogBrokenException mismatch(Column column, String what) {
        return new LogBrokenException("column " + column.getName() + " of type " + column.getType() + " carries " + what);
    }
}
