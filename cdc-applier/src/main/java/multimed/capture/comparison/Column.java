package multimed.capture.comparison;

import java.util.Set;

/**
 * A column that has values stored, invisible and generated ones too. Out: SQL whose text differs whenever stored values differ, and never has a comma outside of
 * what numbers and times are written with, so that such texts can be joined. Pure.
 *
 * @param type as information_schema names it
 */
record Column(String name, String type) {
    private static final Set<String> PRINTED = Set.of("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "date", "time",
            "datetime", "timestamp", "year");
    private static final Set<String> BY_NUMBER = Set.of("bit", "enum", "set");
    private static final Set<String> BY_BYTES = Set.of("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "binary",
            "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point", "linestring", "polygon", "multipoint",
            "multilinestring", "multipolygon", "geomcollection", "geometrycollection", "vector");

    /** Null for a type that is not known. No value of a column is printed as N, which stands for NULL. */
    String printed() {
        String exact = exact(ComparedTable.quoted(name));
        return exact == null ? null : "IFNULL(" + exact + ",'N')";
    }

    private String exact(String column) {
        if (PRINTED.contains(type)) {
            return column;
        }
        if (BY_NUMBER.contains(type)) {
            // As stored: two members can have the same text in a comparison, and '' as an error is not '' as a member.
            return "CAST(" + column + " AS UNSIGNED)";
        }
        if (BY_BYTES.contains(type)) {
            return "SHA2(" + column + ",256)";
        }
        return switch (type) {
            // Bit by bit: a point keeps its coordinates as they are in memory. As text a FLOAT has six digits, and one with decimals is rounded.
            case "float", "double" -> "HEX(POINT(" + column + "*1e0,0))";
            // The text does not tell the types inside; most of these take other space. The size of the value, not of the column, which may have gaps.
            case "json" -> "CONCAT(SHA2(CAST(" + column + " AS CHAR CHARACTER SET utf8mb4),256),':',JSON_STORAGE_SIZE(JSON_EXTRACT("
                    + column + ",'$')))";
            default -> null;
        };
    }
}
