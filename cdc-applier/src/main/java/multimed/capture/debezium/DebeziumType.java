package multimed.capture.debezium;

import io.debezium.relational.Column;
import java.sql.Types;
import multimed.binlog.ColumnTypes;
import multimed.binlog.TableMap;
import multimed.log.proto.ColumnType;

/**
 * A column's type in Debezium's words, as far as its values depend on it. In: a column of a table map. Out: what Debezium would make of its
 * definition, so that it needs to read none. Pure.
 */
record DebeziumType(String name, int jdbcType, int length, Integer scale) {
    private static final int NO_LENGTH = Column.UNSET_INT_VALUE;
    /** Text, too: its bytes as they are. The table map says its character set. */
    private static final DebeziumType BYTES = plain("VARBINARY", Types.VARBINARY);

    /** @param type of the same column in the log */
    static DebeziumType of(TableMap.Column column, ColumnType type) {
        return switch (type) {
            case SIGNED -> integer(column.type(), "");
            case UNSIGNED -> integer(column.type(), " UNSIGNED");
            case FLOAT -> plain("FLOAT", Types.FLOAT);
            case DOUBLE -> plain("DOUBLE", Types.DOUBLE);
            case DECIMAL -> new DebeziumType("DECIMAL", Types.DECIMAL, column.meta() >> 8, column.meta() & 0xff);
            case TEXT -> BYTES;
            case BINARY -> column.type() == ColumnTypes.STRING ? padded(ColumnTypes.charLength(column.meta())) : BYTES;
            case DATE -> plain("DATE", Types.DATE);
            case TIME -> new DebeziumType("TIME", Types.TIME, column.meta(), null);
            case DATETIME -> new DebeziumType("DATETIME", Types.TIMESTAMP, column.meta(), null);
            case TIMESTAMP -> new DebeziumType("TIMESTAMP", Types.TIMESTAMP_WITH_TIMEZONE, column.meta(), null);
            default -> throw new IllegalArgumentException("column type " + type);
        };
    }

    private static DebeziumType plain(String name, int jdbcType) {
        return new DebeziumType(name, jdbcType, NO_LENGTH, null);
    }

    /** The binlog leaves out the zero bytes at the end. */
    private static DebeziumType padded(int length) {
        return new DebeziumType("BINARY", Types.BINARY, length, null);
    }

    private static DebeziumType integer(int type, String sign) {
        return switch (type) {
            case ColumnTypes.TINY -> plain("TINYINT" + sign, Types.SMALLINT);
            case ColumnTypes.SHORT -> plain("SMALLINT" + sign, Types.SMALLINT);
            case ColumnTypes.INT24 -> plain("MEDIUMINT" + sign, Types.INTEGER);
            case ColumnTypes.LONG -> plain("INT" + sign, Types.INTEGER);
            case ColumnTypes.LONGLONG -> plain("BIGINT" + sign, Types.BIGINT);
            default -> throw new IllegalArgumentException("column type " + type);
        };
    }

    /** Not optional: Debezium makes NULL of what it can't convert into an optional column. */
    Column column() {
        return Column.editor().name(name).position(1).type(name).jdbcType(jdbcType).length(length).scale(scale).optional(false).create();
    }
}
