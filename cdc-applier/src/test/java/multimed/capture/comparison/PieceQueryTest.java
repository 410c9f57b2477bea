package multimed.capture.comparison;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the queries say; that servers understand it and that it is exact, ComparisonIT tests. */
class PieceQueryTest {
    private static KeyPart key(String column, String type) {
        return new KeyPart(column, type, "utf8mb4", "utf8mb4_0900_ai_ci", false, false);
    }

    private static KeyPart descending(String column) {
        return new KeyPart(column, "int", null, null, true, false);
    }

    private static PieceQuery query(KeyPart... key) {
        return new PieceQuery(new ComparedTable("app", "a`b", 1, 1, List.of(key)), List.of(new Column("id", "int")));
    }

    private static String where(PieceQuery query, List<String> after, List<String> upTo) {
        String text = query.onSatellite(new Piece(after, upTo, false));
        int at = text.indexOf(" WHERE ");
        return at < 0 ? "" : text.substring(at + 7);
    }

    @Test
    void allOfATable() {
        PieceQuery query = query(key("id", "int"));
        String what = "CONCAT(COUNT(*),':',HEX(BIT_XOR(UNHEX(SHA2(CONCAT_WS(',',IFNULL(`id`,'N')),256))))) FROM `app`.`a``b` FORCE INDEX (PRIMARY)";
        Piece all = new Piece(null, null, false);
        assertEquals("SELECT /*+ MAX_EXECUTION_TIME(1000) */ " + what + " FOR SHARE NOWAIT", query.onMaster(all));
        assertEquals("SELECT /*+ MAX_EXECUTION_TIME(1000) */ " + what + " FOR SHARE", query.onMaster(new Piece(null, null, true)));
        assertEquals("SELECT /*+ MAX_EXECUTION_TIME(10000) */ " + what, query.onSatellite(all), "takes no locks");
    }

    @Test
    void boundsOfOneColumn() {
        PieceQuery query = query(key("id", "int"));
        assertEquals("`id`>5", where(query, List.of("5"), null));
        assertEquals("`id`<=9", where(query, null, List.of("9")));
        assertEquals("`id`>5 AND `id`<=9", where(query, List.of("5"), List.of("9")));
        assertEquals("`id`<5 AND `id`>=3", where(query(descending("id")), List.of("5"), List.of("3")));
    }

    @Test
    void boundsOfSeveralColumns() {
        PieceQuery query = query(key("a", "int"), descending("b"), key("c", "int"));
        assertEquals("`a`>=1 AND (`a`>1 OR `a`=1 AND (`b`<2 OR `b`=2 AND `c`>3))", where(query, List.of("1", "2", "3"), null));
        assertEquals("`a`<=1 AND (`a`<1 OR `a`=1 AND (`b`>2 OR `b`=2 AND `c`<=3))", where(query, null, List.of("1", "2", "3")));
    }

    @Test
    void keysInTheOrderOfTheIndex() {
        PieceQuery query = query(key("a", "varchar"), descending("b"));
        assertTrue(query.nth(500, null, null).endsWith("HEX(`a`),CAST(`b` AS CHAR) FROM `app`.`a``b` FORCE INDEX (PRIMARY)"
                + " ORDER BY `a`,`b` DESC LIMIT 1 OFFSET 499"), query.nth(500, null, null));
        assertTrue(query.last().endsWith(" ORDER BY `a` DESC,`b` LIMIT 1"), query.last());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "int      | CAST(`k` AS CHAR)     | -7                         | -7",
        "bigint   | CAST(`k` AS CHAR)     | 18446744073709551615       | 18446744073709551615",
        "decimal  | CAST(`k` AS CHAR)     | -12.50                     | -12.50",
        "year     | CAST(`k` AS CHAR)     | 2024                       | 2024",
        "bit      | CAST(`k` AS UNSIGNED) | 255                        | 255",
        "datetime | CAST(`k` AS CHAR)     | 2024-01-02 03:04:05.678901 | '2024-01-02 03:04:05.678901'",
        "time     | CAST(`k` AS CHAR)     | -838:59:59                 | '-838:59:59'",
        "varchar  | HEX(`k`)              | C3BC27                     | _utf8mb4 x'C3BC27' COLLATE utf8mb4_0900_ai_ci",
        "binary   | HEX(`k`)              | 00FF                       | x'00FF'"})
    void aKeysLiteral(String type, String selected, String value, String literal) {
        assertTrue(key("k", type).isUsable());
        assertEquals(selected, key("k", type).selected());
        assertEquals(literal, key("k", type).literal(value));
    }

    @ParameterizedTest
    @ValueSource(strings = {"enum", "set", "float", "double", "blob", "json", "somethingnew", ""})
    void aKeyThatIsNotUsable(String type) {
        assertFalse(key("k", type).isUsable());
        assertFalse(new ComparedTable("a", "t", 1, 1, List.of(key("i", "int"), key("k", type))).hasUsableKey());
    }

    @Test
    void aKeyOnAPrefixOrNoneIsNotUsable() {
        assertFalse(new KeyPart("k", "varchar", "utf8mb4", "utf8mb4_bin", false, true).isUsable());
        assertFalse(new ComparedTable("a", "t", 1, 1, List.of()).hasUsableKey());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "bigint    | IFNULL(`c`,'N')",
        "timestamp | IFNULL(`c`,'N')",
        "decimal   | IFNULL(`c`,'N')",
        "float     | IFNULL(HEX(POINT(`c`*1e0,0)),'N')",
        "double    | IFNULL(HEX(POINT(`c`*1e0,0)),'N')",
        "enum      | IFNULL(CAST(`c` AS UNSIGNED),'N')",
        "set       | IFNULL(CAST(`c` AS UNSIGNED),'N')",
        "bit       | IFNULL(CAST(`c` AS UNSIGNED),'N')",
        "char      | IFNULL(SHA2(`c`,256),'N')",
        "longblob  | IFNULL(SHA2(`c`,256),'N')",
        "point     | IFNULL(SHA2(`c`,256),'N')",
        "vector    | IFNULL(SHA2(`c`,256),'N')"})
    void aColumn(String type, String printed) {
        assertEquals(printed, new Column("c", type).printed());
    }

    @Test
    void aDocumentIsItsTextAndItsSize() {
        assertEquals("IFNULL(CONCAT(SHA2(CAST(`c` AS CHAR CHARACTER SET utf8mb4),256),':',JSON_STORAGE_SIZE(JSON_EXTRACT(`c`,'$'))),'N')",
                new Column("c", "json").printed());
    }

    @Test
    void aColumnOfAnUnknownTypeIsRefused() {
        ComparedTable table = new ComparedTable("a", "t", 1, 1, List.of(key("i", "int")));
        List<Column> columns = List.of(new Column("c", "somethingnew"));
        assertThrows(IllegalArgumentException.class, () -> new PieceQuery(table, columns));
    }

    @Test
    void whatAnOperatorReadsIsShort() {
        PieceQuery query = query(key("id", "varchar"));
        assertEquals("app.a`b after x'41' up to x'42'", query.describe(new Piece(List.of("x'41'"), List.of("x'42'"), false)));
        assertEquals("app.a`b", query.describe(new Piece(null, null, false)));
        assertEquals(301, query.describe(new Piece(null, List.of("4".repeat(3000)), false)).length());
    }
}
