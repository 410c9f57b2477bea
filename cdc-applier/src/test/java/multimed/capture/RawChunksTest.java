package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.RowsEvent;
import multimed.log.proto.Raw;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class RawChunksTest {
    /** Table maps and row events of a transaction that MySQL wrote, its statements made longer by repeating their row events. */
    private static List<BinlogEvent> longStatements(int repeats) {
        List<BinlogEvent> events = new ArrayList<>();
        for (MasterTransaction transaction : CapturedEvents.transactions()) {
            for (BinlogEvent event : transaction.events()) {
                if (event.type() == EventType.TABLE_MAP) {
                    events.add(event);
                } else if (EventType.isRows(event.type())) {
                    for (int i = event.type() == EventType.DELETE_ROWS ? repeats : 1; i < repeats; i++) {
                        byte[] open = event.bytes().clone();
                        open[BinlogEvent.HEADER + 6] &= ~RowsEvent.STMT_END;
                        events.add(BinlogEvent.of(open));
                    }
                    events.add(event);
                }
            }
        }
        return events;
    }

    @Property(tries = 200)
    void every_chunk_replays_alone_and_no_row_event_is_lost(
            @ForAll @IntRange(min = 100, max = 3000) int limit, @ForAll @IntRange(min = 1, max = 4) int repeats) {
        List<BinlogEvent> in = longStatements(repeats);
        assertEquals(in.stream().filter(e -> EventType.isRows(e.type())).map(RawChunksTest::content).toList(),
                replayed(in, limit).stream().map(RawChunksTest::content).toList());
    }

    @Property(tries = 20)
    void replace_into_a_parent_and_many_rows_leave_its_children_alone(@ForAll @IntRange(min = 100, max = 3000) int limit) {
        List<BinlogEvent> rows = replayed(longStatements(2), limit);
        assertEquals(rows.stream().map(e -> RowsEvent.parse(e).flags() >> 4 & 1).toList(),
                rows.stream().map(e -> RowsEvent.parse(e).flags() >> 1 & 1).toList());
        List<BinlogEvent> older = longStatements(2).stream()
                .map(e -> EventType.isRows(e.type()) ? flagged(e, RowsEvent.parse(e).flags() & RowsEvent.STMT_END) : e).toList();
        assertTrue(replayed(older, limit).stream().allMatch(e -> RowsEvent.parse(e).flags() <= RowsEvent.STMT_END),
                "where the binlog lacks cascades they are to be run");
    }

    @Test
    void a_row_that_a_cascade_and_then_its_statement_deleted_is_deleted_once() {
        BinlogEvent[] cascade = CapturedEvents.transactions().stream().map(t -> t.events().stream()
                .filter(e -> EventType.isChange(e.type())).toArray(BinlogEvent[]::new)).filter(e -> e.length == 4).findFirst()
                .orElseThrow();
        BinlogEvent children = cascade[2];
        BinlogEvent again = flagged(children, RowsEvent.SQL_FOREIGN_KEYS);
        BinlogEvent parent = cascade[3];
        assertEquals(List.of(content(children), content(parent)), contents(cascade[0], cascade[1], children, again, parent));
        assertEquals(List.of(content(children), content(parent)), contents(cascade[0], cascade[1], children,
                flagged(parent, RowsEvent.SQL_FOREIGN_KEYS), flagged(children, RowsEvent.SQL_FOREIGN_KEYS | RowsEvent.STMT_END)));
        BinlogEvent back = BinlogEvent.of(again.bytes().clone());
        back.bytes()[4] = EventType.WRITE_ROWS;
        assertEquals(List.of(content(children), content(back), content(children), content(parent)),
                contents(cascade[0], cascade[1], children, back, again, parent), "it was there again");
        assertEquals(List.of(content(children), content(children)), contents(cascade[1],
                flagged(children, RowsEvent.SQL_FOREIGN_KEYS | RowsEvent.STMT_END), cascade[1],
                flagged(children, RowsEvent.SQL_FOREIGN_KEYS | RowsEvent.STMT_END)), "by two statements");
    }

    private static List<ByteString> contents(BinlogEvent... events) {
        return replayed(List.of(events), 3000).stream().map(RawChunksTest::content).toList();
    }

    private static List<BinlogEvent> replayed(List<BinlogEvent> events, int limit) {
        List<Raw> chunks = new ArrayList<>();
        RawChunks raw = new RawChunks(new byte[0], "type", limit, chunks::add);
        events.forEach(raw::add);
        raw.finish();
        units(chunks).forEach(RawChunksTest::checkReplaysAlone);
        return units(chunks).stream().flatMap(List::stream).filter(e -> EventType.isRows(e.type())).toList();
    }

    private static BinlogEvent flagged(BinlogEvent event, int flags) {
        byte[] copy = event.bytes().clone();
        copy[BinlogEvent.HEADER + 6] = (byte) flags;
        return BinlogEvent.of(copy);
    }

    /** Chunks with the pieces of a cut event joined. */
    private static List<List<BinlogEvent>> units(List<Raw> chunks) {
        List<List<BinlogEvent>> units = new ArrayList<>();
        List<ByteString> open = new ArrayList<>();
        boolean cut = false;
        for (Raw chunk : chunks) {
            for (int i = 0; i < chunk.getEventsCount(); i++) {
                ByteString event = chunk.getEvents(i);
                open.add(cut && i == 0 ? open.remove(open.size() - 1).concat(event) : event);
            }
            cut = chunk.getLastEventCut();
            if (!cut) {
                units.add(open.stream().map(e -> BinlogEvent.of(e.toByteArray())).toList());
                open.clear();
            }
        }
        assertTrue(open.isEmpty());
        return units;
    }

    private static void checkReplaysAlone(List<BinlogEvent> unit) {
        List<Long> known = new ArrayList<>();
        boolean ended = true;
        for (BinlogEvent event : unit) {
            if (event.type() == EventType.TABLE_MAP) {
                known.add(event.body().unsigned(6));
                ended = false;
            } else {
                assertTrue(known.contains(RowsEvent.parse(event).tableId()));
                ended = RowsEvent.parse(event).statementEnd();
                if (ended) {
                    known.clear();
                }
            }
        }
        assertTrue(ended);
    }

    /** A row event but for the flag that ends a statement. */
    private static ByteString content(BinlogEvent event) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(event.bytes(), 0, BinlogEvent.HEADER + 6);
        out.write(event.bytes(), BinlogEvent.HEADER + 7, event.length() - BinlogEvent.HEADER - 7);
        return ByteString.copyFrom(out.toByteArray());
    }
}
