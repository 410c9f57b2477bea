package multimed.capture.debezium;

import com.google.protobuf.ByteString;
import multimed.binlog.ColumnTypes;
import multimed.binlog.TableMap;
import multimed.binlog.TableMap.Column;
import multimed.log.proto.ColumnType;
import multimed.log.proto.Value;
import multimed.master.Collations;

/** Which columns rows carry exactly, and as what. Everything not named here goes raw. */
public final class ColumnKinds {
    private final Collations collations;

    public ColumnKinds(Collations collations) {
        this.collations = collations;
    }

    /** Why the table's changes can't go as rows, in one word; null if they can. */
    public String doubt(TableMap table) {
        if (!table.namesKnown()) {
            return "no_metadata";
        }
        if (table.primaryKey().isEmpty()) {
            return "no_key";
        }
        for (Column column : table.columns()) {
            if (kind(column) == ColumnType.COLUMN_TYPE_UNSPECIFIED) {
                return "type";
            }
        }
        return null;
    }

    ColumnType kind(Column column) {
        return switch (column.type()) {
            case ColumnTypes.TINY, ColumnTypes.SHORT, ColumnTypes.INT24, ColumnTypes.LONG, ColumnTypes.LONGLONG ->
                column.unsigned() ? ColumnType.UNSIGNED : ColumnType.SIGNED;
            case ColumnTypes.FLOAT -> ColumnType.FLOAT;
            case ColumnTypes.DOUBLE -> ColumnType.DOUBLE;
            case ColumnTypes.DECIMAL -> ColumnType.DECIMAL;
            case ColumnTypes.STRING, ColumnTypes.VARCHAR, ColumnTypes.BLOB -> text(column);
            case ColumnTypes.DATE -> ColumnType.DATE;
            case ColumnTypes.TIME -> ColumnType.TIME;
            case ColumnTypes.DATETIME -> ColumnType.DATETIME;
            case ColumnTypes.TIMESTAMP -> ColumnType.TIMESTAMP;
            default -> ColumnType.COLUMN_TYPE_UNSPECIFIED;
        };
    }

    /** Servers before 5.5 let any bytes into ascii, and a column may still have them. */
    boolean holds(Column column, Value value) {
        return !collations.isAscii(column.collation()) || isAscii(value.getTextBytes());
    }

    private static boolean isAscii(ByteString text) {
        for (int i = 0; i < text.size(); i++) {
            if (text.byteAt(i) < 0) {
                return false;
            }
        }
        return true;
    }

    private ColumnType text(Column column) {
        if (column.collation() == Collations.BINARY) {
            return ColumnType.BINARY;
        }
        return collations.exactInUtf8(column.collation()) ? ColumnType.TEXT : ColumnType.COLUMN_TYPE_UNSPECIFIED;
    }
}
