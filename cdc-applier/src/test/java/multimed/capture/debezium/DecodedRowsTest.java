package multimed.capture.debezium;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import multimed.capture.debezium.DecodedRow.Operation;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import org.junit.jupiter.api.Test;

class DecodedRowsTest {
    private static final Schema ROW = SchemaBuilder.struct().optional().field("v", Schema.STRING_SCHEMA).build();
    private static final Schema SOURCE = SchemaBuilder.struct().field("db", Schema.STRING_SCHEMA).field("table", Schema.STRING_SCHEMA)
            .build();
    private static final Schema ENVELOPE = SchemaBuilder.struct().field("op", Schema.STRING_SCHEMA).field("source", SOURCE)
            .field("before", ROW).field("after", ROW).build();

    private final DecodedRows rows = new DecodedRows(1000);

    private void accept(String op, String table, String before, String after) {
        Struct value = new Struct(ENVELOPE).put("op", op).put("source", new Struct(SOURCE).put("db", "app").put("table", table))
                .put("before", image(before)).put("after", image(after));
        rows.accept(new SourceRecord(null, null, "topic", ENVELOPE, value));
    }

    private static Struct image(String value) {
        return value == null ? null : new Struct(ROW).put("v", value);
    }

    @Test
    void rowsComeInOrderWithTheirImages() {
        accept("c", "a", null, "1");
        accept("u", "b", "1", "2");
        accept("d", "a", "2", null);
        assertTrue(rows.complete());
        assertEquals(new DecodedRow("app", "a", Operation.INSERT, null, image("1")), rows.rows().get(0));
        assertEquals(new DecodedRow("app", "b", Operation.UPDATE, image("1"), image("2")), rows.rows().get(1));
        assertEquals(new DecodedRow("app", "a", Operation.DELETE, image("2"), null), rows.rows().get(2));
    }

    @Test
    void recordsThatAreNoRowsDoNotMatter() {
        rows.accept(new SourceRecord(null, null, "topic", SOURCE, new Struct(SOURCE).put("db", "app").put("table", "a")));
        rows.accept(new SourceRecord(null, null, "topic", null, null));
        assertTrue(rows.complete());
        assertTrue(rows.rows().isEmpty());
    }

    @Test
    void aTransactionThatIsTooLargeLosesAllOfItsRows() {
        accept("c", "a", null, "1");
        accept("c", "a", null, "x".repeat(500));
        assertFalse(rows.complete());
        assertTrue(rows.rows().isEmpty());
        accept("c", "a", null, "2");
        assertFalse(rows.complete());
        assertTrue(rows.rows().isEmpty());
    }

    @Test
    void soDoesOneWithAnOperationThatIsNotKnown() {
        accept("c", "a", null, "1");
        accept("t", "a", null, null);
        assertFalse(rows.complete());
        assertTrue(rows.rows().isEmpty());
    }

    @Test
    void theNextTransactionStartsAnew() {
        accept("t", "a", null, null);
        rows.clear();
        accept("c", "a", null, "1");
        assertTrue(rows.complete());
        assertEquals(1, rows.rows().size());
    }
}
