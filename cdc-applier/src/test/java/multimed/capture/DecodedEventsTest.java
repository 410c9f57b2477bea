package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.Collectors;
import multimed.capture.Verdict.AsRows;
import multimed.capture.debezium.ColumnKinds;
import multimed.capture.debezium.RowSource;
import multimed.capture.debezium.ValueText;
import multimed.log.proto.RowChange;
import multimed.log.proto.Rows;
import multimed.log.proto.Value;
import multimed.process.Metrics;
import org.junit.jupiter.api.Test;

/** A real server's rows through Debezium, without a server, and without any definition of their tables. */
class DecodedEventsTest {
    private final Classifier classifier = new Classifier(CapturedEvents.COLLATIONS, "UTC");
    private final RowSource source = new RowSource(new ColumnKinds(CapturedEvents.COLLATIONS), new Metrics());

    private String decoded(MasterTransaction transaction) {
        if (!(classifier.classify(transaction) instanceof AsRows rows)) {
            return "";
        }
        RowSource.Answer answer = source.rows(transaction.events(), rows.changes().size());
        return answer.rows() == null
                ? answer.reason() + "\n"
                : answer.rows().stream().map(DecodedEventsTest::text).collect(Collectors.joining());
    }

    private static String text(Rows rows) {
        return rows.getChangesList().stream().map(c -> text(rows, c) + "\n").collect(Collectors.joining());
    }

    private static String text(Rows rows, RowChange change) {
        return rows.getTables(change.getTable()).getName() + " " + change.getKind() + text(change.getBeforeList())
                + text(change.getAfterList());
    }

    private static String text(List<Value> values) {
        return values.isEmpty() ? "" : values.stream().map(ValueText::of).collect(Collectors.joining(" ", " (", ")"));
    }

    private String decoded() {
        return CapturedEvents.transactions().stream().map(this::decoded).collect(Collectors.joining());
    }

    @Test
    void everyRowIsDecodedByTheTableMapInFrontOfIt() {
        source.caughtUp();
        assertEquals(EXPECTED, decoded());
    }

    @Test
    void whatIsFoundWhileCaptureIsBehindIsNotDecoded() {
        assertEquals("catching_up\n".repeat(8), decoded());
        source.caughtUp();
        source.behind();
        assertEquals("catching_up\n".repeat(8), decoded());
    }

    private static final String EXPECTED = """
            tä INSERT (1 héllo😀 1.10000 2026-01-02 03:04:05.678901 2026-01-01 00:00:00.123000 1.0E300 1.5 18446744073709551615 0999-12-31\
             -12:00:01.500000 00ff 255 -5 abc ü 01000000)
            tä UPDATE (1 héllo😀 1.10000 2026-01-02 03:04:05.678901 2026-01-01 00:00:00.123000 1.0E300 1.5 18446744073709551615 0999-12-31\
             -12:00:01.500000 00ff 255 -5 abc ü 01000000)\
             (1 NULL 1.10000 2026-01-02 03:04:05.678901 2026-01-01 00:00:00.123000 1.0E300 1.5 18446744073709551615 2024-02-29\
             -12:00:01.500000 00ff 255 -5 abc ü 01000000)
            p INSERT (1 1)
            ch INSERT (1 1)
            ch INSERT (2 1)
            p INSERT (7 7)
            p INSERT (56 1)
            p INSERT (102 1)
            p INSERT (200 1)
            p INSERT (202 1)
            """;
}
