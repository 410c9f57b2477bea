package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import multimed.apply.sql.StatementBuilder;
import multimed.log.proto.LogRecord;
import multimed.log.proto.Raw;
import org.junit.jupiter.api.Test;

class ScriptTest {
    private static final String GTID = "aaaaaaaa-0000-0000-0000-000000000001:7";

    private static List<String> statements(LogRecord.Builder record) {
        Packet packet = new Packet();
        new Script(record.setGtid(GTID).build(), new StatementBuilder(1, 1), new RowFilter(0)).addTo(packet, 1, null, false);
        return packet.expectations().stream().map(expectation -> expectation.about().get()).toList();
    }

    /** It stands behind the record's settings, and those of a raw record before may still be set: 1774 in utf16, and a clone. */
    @Test
    void theGtidIsReadWhateverTheConnectionsCharacterSetIs() {
        Raw raw = Raw.newBuilder().putSession("collation_connection", "ucs2_general_ci").build();
        assertEquals(List.of("SET timestamp=DEFAULT,collation_connection=_utf8mb4'ucs2_general_ci'", "SET gtid_next=_utf8mb4'" + GTID + "'",
                "row events"), statements(LogRecord.newBuilder().setRaw(raw)));
    }
}
