package multimed.capture.comparison;

import java.util.Set;

/**
 * A part of a primary key. In: its column. Out: SQL that reads a value, and a literal that is that value to a comparison with the column, so
 * that the server finds its place in the index. Pure.
 *
 * <p>Not usable: a prefix of a column, which does not order rows. ENUM and SET, which an index orders by number and a comparison by text.
 * FLOAT and DOUBLE, whose literals are not exact.
 *
 * @param type as information_schema names it
 * @param charset null but for text
 * @param prefix whether the key has only the column's beginning
 */
record KeyPart(String column, String type, String charset, String collation, boolean descending, boolean prefix) {
    private static final Set<String> NUMBERS = Set.of("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year");
    private static final Set<String> TIMES = Set.of("date", "time", "datetime", "timestamp");
    private static final Set<String> TEXTS = Set.of("char", "varchar");
    private static final Set<String> BYTES = Set.of("binary", "varbinary");

    boolean isUsable() {
        boolean known = NUMBERS.contains(type) || TIMES.contains(type) || TEXTS.contains(type) || BYTES.contains(type)
                || type.equals("bit");
        return known && !prefix;
    }

    String quoted() {
        return ComparedTable.quoted(column);
    }

    /** What {@link #literal} takes. */
    String selected() {
        if (TEXTS.contains(type) || BYTES.contains(type)) {
            return "HEX(" + quoted() + ")";
        }
        return "CAST(" + quoted() + (type.equals("bit") ? " AS UNSIGNED)" : " AS CHAR)");
    }

    String literal(String selected) {
        if (TEXTS.contains(type)) {
            return "_" + charset + " x'" + selected + "' COLLATE " + collation;
        }
        if (BYTES.contains(type)) {
            return "x'" + selected + "'";
        }
        return TIMES.contains(type) ? "'" + selected + "'" : selected;
    }
}
