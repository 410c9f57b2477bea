package multimed.sqltext;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TableExpressionsTest {
    private static String table(String elements) {
        return "CREATE TABLE \"a `b``(\" (\n  \"id\" int NOT NULL COMMENT 'it''s \\\\',\n  " + elements
                + "\n) ENGINE=InnoDB COMMENT='AS (1/3) STORED'";
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "\"g\" decimal(20,10) GENERATED ALWAYS AS ((`a` / 3)) STORED NOT NULL COMMENT 'x'",
        "\"e\" enum('GENERATED ALWAYS AS (','/'),\n  \"g\" double GENERATED ALWAYS AS (concat(_utf8mb4'\\'',(`a` / 3))) STORED,\n  KEY \"e\" (\"e\")",
        "\"v\" double GENERATED ALWAYS AS ((`a` / 3)) VIRTUAL /*!80023 INVISIBLE */,\n  PRIMARY KEY (\"id\"),\n  KEY \"k\" (\"id\",\"v\" DESC)",
        "PRIMARY KEY (\"id\"),\n  UNIQUE KEY \"/\" (\"id\",((`a` / 3)))"})
    void a_division_whose_value_is_kept_is_a_doubt(String elements) {
        assertEquals("/", TableExpressions.doubt(table(elements), false));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "\"g\" int GENERATED ALWAYS AS (week(`d`,3)) STORED,\n  \"u\" char(36) DEFAULT (uuid()),\n  KEY \"g\" (\"g\",\"u\"(5))",
        "\"u\" varchar(9) DEFAULT '(1/3)',\n  CONSTRAINT \"c\" CHECK (((`a` / 3) > 1)),\n  CONSTRAINT \"f\" FOREIGN KEY (\"u\") REFERENCES \"p\" (\"/\")",
        "\"v\" double GENERATED ALWAYS AS ((`a` / 3)) VIRTUAL,\n  PRIMARY KEY (\"id\")"})
    void what_is_not_kept_or_is_certain_is_none(String elements) {
        assertNull(TableExpressions.doubt(table(elements), false));
    }

    @Test
    void a_virtual_column_can_come_into_a_key() {
        assertEquals("/", TableExpressions.doubt(table("\"v\" double GENERATED ALWAYS AS ((`a` / 3)) VIRTUAL"), true));
    }

    @Test
    void a_view_keeps_nothing() {
        assertNull(TableExpressions.doubt("CREATE ALGORITHM=UNDEFINED VIEW \"v\" AS select (1 / 3) AS \"x\"", true));
    }
}
