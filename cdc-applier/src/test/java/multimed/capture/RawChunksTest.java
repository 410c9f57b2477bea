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

class RawChunksTest {
    /** Table maps and row events of a transaction that MySQL wrote, its statements made longer by repeating their row events. */
    private static List<BinlogEvent> longStatements(int repeats) {
        List<BinlogEvent> events = new ArrayList<>();
        for (MasterTransaction transaction : CapturedEvents.transactions()) {
            for (BinlogEvent event : transaction.events()) {
                if (event.type() == EventType.TABLE_MAP) {
                    events.add(event);
                } else if (EventType.isRows(event.type())) {
                    for (int i = 1; i < repeats; i++) {
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
        List<Raw> chunks = new ArrayList<>();
        RawChunks raw = new RawChunks(new byte[0], "type", limit, chunks::add);
        in.forEach(raw::add);
        raw.finish();
        List<BinlogEvent> rows = new ArrayList<>();
        for (List<BinlogEvent> unit : units(chunks)) {
            checkReplaysAlone(unit);
            unit.stream().filter(e -> EventType.isRows(e.type())).forEach(rows::add);
        }
        assertEquals(in.stream().filter(e -> EventType.isRows(e.type())).map(RawChunksTest::content).toList(),
                rows.stream().map(RawChunksTest::content).toList());
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
