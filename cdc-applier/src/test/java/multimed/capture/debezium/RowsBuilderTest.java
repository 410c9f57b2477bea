package multimed.capture.debezium;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import multimed.binlog.ColumnTypes;
import multimed.binlog.TableMap;
import multimed.capture.debezium.DecodedRow.Operation;
import multimed.capture.debezium.RowsBuilder.Differs;
import multimed.master.Collations;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.junit.jupiter.api.Test;

class RowsBuilderTest {
    private static final int ASCII = 11;
    private static final int UTF8 = 255;
    private static final ColumnKinds KINDS = new ColumnKinds(new Collations(Map.of(
            ASCII, new Collations.Collation("ascii_general_ci", "ascii"), UTF8,
            new Collations.Collation("utf8mb4_0900_ai_ci", "utf8mb4"))));
    private static final Schema ROW = SchemaBuilder.struct().field("v", TextBytes.schema().build()).build();

    private static String inserted(int collation, String text) throws Differs {
        TableMap table = new TableMap(1, "app", "t", List.of(new TableMap.Column(ColumnTypes.VARCHAR, 80, false, collation, "v")), true,
                List.of(0));
        Struct row = new Struct(ROW).put("v", text.getBytes(StandardCharsets.UTF_8));
        List<DecodedRow> rows = List.of(new DecodedRow("app", "t", Operation.INSERT, null, row));
        return RowsBuilder.build(List.of(table), rows, KINDS).get(0).getChanges(0).getAfter(0).getText();
    }

    @Test
    void textThatAnAsciiColumnCanNotHoldIsRefused() throws Differs {
        assertEquals("e", inserted(ASCII, "e"));
        assertEquals("é", inserted(UTF8, "é"));
        assertThrows(Differs.class, () -> inserted(ASCII, "é"));
    }
}
