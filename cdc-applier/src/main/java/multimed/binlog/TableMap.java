package multimed.binlog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Names the table and the column types that row events refer to by table id. Names, signedness, character sets and the
 * primary key are there only if the master runs with binlog_row_metadata=FULL.
 *
 * @param namesKnown the metadata is complete
 * @param primaryKey indexes of the key's columns; empty if there is none, or if it covers only a prefix of a column
 */
public record TableMap(long tableId, String database, String table, List<Column> columns, boolean namesKnown, List<Integer> primaryKey) {

    /**
     * @param type MySQL's type code as in the event, ENUM and SET told apart from CHAR
     * @param meta the type's metadata: length of a VARCHAR, bytes of a BLOB's length, fractional digits, precision and scale …
     * @param collation number of the collation of a character column, 63 for binary, 0 if unknown
     */
    public record Column(int type, int meta, boolean unsigned, int collation, String name) {}

    private static final int SIGNEDNESS = 1;
    private static final int DEFAULT_CHARSET = 2;
    private static final int COLUMN_CHARSET = 3;
    private static final int COLUMN_NAME = 4;
    private static final int SIMPLE_PRIMARY_KEY = 8;

    public String fullName() {
        return database + "." + table;
    }

    /** Only the id, of a table map or of a row event: both begin with it. */
    public static long tableId(BinlogEvent event) {
        return event.body().unsigned(6);
    }

    /** Only the name, whatever the columns are. */
    public static TableName name(BinlogEvent event) {
        ByteCursor body = event.body();
        body.skip(8);
        return new TableName(name(body), name(body));
    }

    public static TableMap parse(BinlogEvent event) {
        ByteCursor body = event.body();
        long tableId = body.unsigned(6);
        body.skip(2);
        String database = name(body);
        String table = name(body);
        byte[] types = body.bytes(body.packedInt());
        int[] metas = metas(types, body.part(body.packedInt()));
        body.skip((types.length + 7) / 8);
        Map<Integer, ByteCursor> optional = optional(body);
        return new TableMap(
                tableId, database, table, columns(types, metas, optional),
                optional.containsKey(COLUMN_NAME) && optional.size() > 1,
                primaryKey(optional.get(SIMPLE_PRIMARY_KEY)));
    }

    private static String name(ByteCursor body) {
        String name = body.text(body.u8());
        body.skip(1);
        return name;
    }

    private static int[] metas(byte[] types, ByteCursor in) {
        int[] metas = new int[types.length];
        for (int i = 0; i < types.length; i++) {
            metas[i] = switch (types[i] & 0xff) {
                case ColumnTypes.FLOAT, ColumnTypes.DOUBLE, ColumnTypes.BLOB, ColumnTypes.JSON, ColumnTypes.GEOMETRY,
                        ColumnTypes.VECTOR, ColumnTypes.TIME, ColumnTypes.DATETIME, ColumnTypes.TIMESTAMP ->
                    in.u8();
                case ColumnTypes.BIT, ColumnTypes.VARCHAR -> in.u16();
                case ColumnTypes.DECIMAL, ColumnTypes.STRING, ColumnTypes.VAR_STRING, ColumnTypes.ENUM, ColumnTypes.SET ->
                    (int) in.bigEndian(2);
                default -> 0;
            };
        }
        if (in.remaining() != 0) {
            throw new MalformedEventException("table map with unknown column types");
        }
        return metas;
    }

    /** The optional metadata, field by field: type 1, length packed, content. */
    private static Map<Integer, ByteCursor> optional(ByteCursor body) {
        Map<Integer, ByteCursor> fields = new HashMap<>();
        while (body.remaining() > 0) {
            int field = body.u8();
            fields.put(field, body.part(body.packedInt()));
        }
        return fields;
    }

    private static List<Column> columns(byte[] types, int[] metas, Map<Integer, ByteCursor> optional) {
        int[] real = new int[types.length];
        int numeric = 0;
        int character = 0;
        for (int i = 0; i < types.length; i++) {
            real[i] = ColumnTypes.real(types[i] & 0xff, metas[i]);
            numeric += ColumnTypes.isNumeric(real[i]) ? 1 : 0;
            character += ColumnTypes.isCharacter(real[i]) ? 1 : 0;
        }
        boolean[] unsigned = bits(optional.get(SIGNEDNESS), numeric);
        int[] collations = collations(optional, character);
        List<Column> columns = new ArrayList<>();
        int nextNumeric = 0;
        int nextCharacter = 0;
        for (int i = 0; i < types.length; i++) {
            boolean isUnsigned = ColumnTypes.isNumeric(real[i]) && unsigned[nextNumeric++];
            int collation = ColumnTypes.isCharacter(real[i]) ? collations[nextCharacter++] : 0;
            columns.add(new Column(real[i], metas[i], isUnsigned, collation, columnName(optional.get(COLUMN_NAME))));
        }
        return columns;
    }

    private static boolean[] bits(ByteCursor in, int count) {
        boolean[] bits = new boolean[count];
        int current = 0;
        for (int i = 0; in != null && i < count; i++) {
            current = i % 8 == 0 ? in.u8() : current;
            bits[i] = (current & 0x80 >> i % 8) != 0;
        }
        return bits;
    }

    /** Either one default and the exceptions as pairs (index among character columns, collation), or one per column. */
    private static int[] collations(Map<Integer, ByteCursor> optional, int count) {
        int[] collations = new int[count];
        ByteCursor byDefault = optional.get(DEFAULT_CHARSET);
        ByteCursor each = optional.get(COLUMN_CHARSET);
        if (byDefault != null) {
            Arrays.fill(collations, byDefault.packedInt());
            while (byDefault.remaining() > 0) {
                collations[byDefault.packedInt()] = byDefault.packedInt();
            }
        } else if (each != null) {
            for (int i = 0; i < count; i++) {
                collations[i] = each.packedInt();
            }
        }
        return collations;
    }

    private static String columnName(ByteCursor names) {
        return names == null ? "" : names.text(names.packedInt());
    }

    private static List<Integer> primaryKey(ByteCursor in) {
        List<Integer> key = new ArrayList<>();
        while (in != null && in.remaining() > 0) {
            key.add(in.packedInt());
        }
        return List.copyOf(key);
    }
}
