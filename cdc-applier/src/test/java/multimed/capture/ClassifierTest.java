package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.RowsEvent;
import multimed.binlog.TransactionEnd;
import multimed.capture.Verdict.AsRaw;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsRows;
import multimed.capture.Verdict.AsStatement;
import org.junit.jupiter.api.Test;

class ClassifierTest {
    private final Classifier classifier = new Classifier(CapturedEvents.COLLATIONS, "UTC");

    private static String brief(Verdict verdict) {
        if (verdict instanceof AsRows rows) {
            return "rows " + rows.changes().size();
        } else if (verdict instanceof AsRaw raw) {
            return "raw " + raw.reason();
        } else if (verdict instanceof AsStatement statement) {
            return "statement " + statement.statement().getSql().toStringUtf8().split("[ (]")[0].toLowerCase();
        } else if (verdict instanceof AsRebuild rebuild) {
            return "rebuild " + rebuild.reason().split(":")[0];
        }
        return verdict.getClass().getSimpleName().substring(2).toLowerCase();
    }

    @Test
    void every_captured_transaction_goes_the_way_that_keeps_it_exact() {
        String verdicts = CapturedEvents.transactions().stream().map(t -> brief(classifier.classify(t)))
                .collect(Collectors.joining("\n"));
        assertEquals(EXPECTED.strip(), verdicts);
    }

    @Test
    void every_captured_transaction_ends_with_its_last_event() {
        for (MasterTransaction transaction : CapturedEvents.transactions()) {
            TransactionEnd end = new TransactionEnd();
            List<Boolean> last = transaction.events().stream().map(end::isLast).toList();
            assertEquals(last.size() - 1, last.indexOf(true), transaction.start().gtid().toString());
        }
    }

    @Test
    void a_statement_carries_the_settings_it_was_issued_under() {
        var statement = (AsStatement) CapturedEvents.transactions().stream().map(classifier::classify)
                .filter(v -> brief(v).equals("statement create") && ((AsStatement) v).statement().getSql().toStringUtf8().contains(" tz("))
                .findFirst().orElseThrow();
        var session = statement.statement().getSessionMap();
        assertEquals("+05:00", session.get("time_zone"));
        assertEquals("utf8mb4", session.get("character_set_client"));
        assertEquals("utf8mb4_0900_ai_ci", session.get("collation_server"));
        assertEquals("1", session.get("foreign_key_checks"));
        assertEquals("w2", statement.statement().getDatabase());
        assertTrue(session.get("sql_mode").matches("[0-9]+"));
    }

    @Test
    void many_changes_go_raw() {
        MasterTransaction one = CapturedEvents.transactions().stream().filter(t -> brief(classifier.classify(t)).equals("rows 1"))
                .findFirst().orElseThrow();
        assertEquals("rows 100", brief(classifier.classify(repeated(one, 100))));
        assertEquals("raw many_rows", brief(classifier.classify(repeated(one, 101))));
    }

    @Test
    void a_deletion_that_is_logged_twice_does_not_go_as_rows() {
        MasterTransaction cascade = CapturedEvents.transactions().stream()
                .filter(t -> brief(classifier.classify(t)).equals("raw flags")).findFirst().orElseThrow();
        List<BinlogEvent> events = cascade.events().stream().filter(e -> !EventType.isRows(e.type()) || e.type() == EventType.DELETE_ROWS
                && RowsEvent.parse(e).statementEnd()).flatMap(e -> {
                    byte[] open = e.bytes().clone();
                    open[BinlogEvent.HEADER + 6] &= ~RowsEvent.STMT_END;
                    return EventType.isRows(e.type()) ? Stream.of(BinlogEvent.of(open), e) : Stream.of(e);
                }).toList();
        assertEquals("raw logged_twice",
                brief(classifier.classify(new MasterTransaction(cascade.start(), cascade.formatDescription(), events))));
    }

    private String briefOf(BinlogEvent... events) {
        MasterTransaction one = CapturedEvents.transactions().get(0);
        return brief(classifier.classify(new MasterTransaction(one.start(), one.formatDescription(), List.of(events))));
    }

    /** At each start of capture the same transaction would come again. */
    @Test
    void a_transaction_on_which_the_parser_fails_does_not_end_capture_again_and_again() {
        assertEquals("rebuild event not understood", briefOf(TestQuery.event("XA COMMIT ")));
        assertEquals("rebuild event not understood", briefOf());
    }

    /** Its text says where the transaction ends; without that the next one could not be told from it. */
    @Test
    void status_variables_that_are_not_understood_hide_no_end() {
        BinlogEvent broken = new TestQuery().brokenStatus().eventOf("CREATE TABLE t (a INT)");
        assertTrue(new TransactionEnd().isLast(broken));
        assertEquals("rebuild event not understood", briefOf(broken));
    }

    /** A raw record's events are parsed again when it is written. */
    @Test
    void a_broken_row_event_behind_one_that_goes_raw_is_a_rebuild() {
        MasterTransaction many = repeated(CapturedEvents.transactions().stream()
                .filter(t -> brief(classifier.classify(t)).equals("rows 1")).findFirst().orElseThrow(), 101);
        List<BinlogEvent> events = new ArrayList<>(many.events());
        BinlogEvent last = events.get(events.size() - 2);
        events.add(events.size() - 1, BinlogEvent.of(Arrays.copyOf(last.bytes(), BinlogEvent.HEADER + 7)));
        assertEquals("rebuild event not understood", briefOf(events.toArray(BinlogEvent[]::new)));
    }

    /** A transaction of one row event, with that event so many times. */
    private static MasterTransaction repeated(MasterTransaction one, int times) {
        List<BinlogEvent> events = one.events().stream()
                .flatMap(e -> Collections.nCopies(EventType.isRows(e.type()) ? times : 1, e).stream()).toList();
        return new MasterTransaction(one.start(), one.formatDescription(), events);
    }

    private static final String EXPECTED = """
            statement create
            statement alter
            rows 1
            rows 1
            raw key_change
            raw odd_date
            statement create
            raw type
            raw partial_json
            statement create
            raw no_key
            statement create
            statement create
            rows 1
            rows 2
            raw flags
            statement create
            raw type
            rows 1
            raw row_image
            rows 1
            xaprepare
            xacommit
            raw xa
            statementthenraw
            rebuild statement inside a transaction
            rows 1
            rows 2
            statement create
            statement create
            raw system_schema
            statement truncate
            """;
}
