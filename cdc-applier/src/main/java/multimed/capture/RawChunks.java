package multimed.capture;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.RepeatedDeletes;
import multimed.binlog.RowsEvent;
import multimed.binlog.TableMap;
import multimed.log.proto.Raw;

/**
 * In: the table maps and row events of one transaction, one by one. Out: chunks of bounded size, each of which replays alone: it
 * repeats the table maps of the statement it is in the middle of, and its last row event ends the statement. Where the master logs what
 * foreign keys change, a replay leaves them alone, and finds no deletion twice. Holds one chunk. Must never: separate a row event
 * from its table maps, but an event too large for a chunk is cut into pieces.
 */
final class RawChunks {
    private final ByteString formatDescription;
    private final String reason;
    private final int limit;
    private final Consumer<Raw> out;
    private Map<String, String> session = Map.of();
    private final Map<Long, ByteString> statementMaps = new LinkedHashMap<>();
    private final RepeatedDeletes repeated = new RepeatedDeletes();
    private final List<ByteString> events = new ArrayList<>();
    /** The last row event, whose statement has more; it is in {@code events}, too. */
    private byte[] openRow;
    private boolean mapsInChunk;
    private int size;

    RawChunks(byte[] formatDescription, String reason, int limit, Consumer<Raw> out) {
        this.formatDescription = ByteString.copyFrom(formatDescription);
        this.reason = reason;
        this.limit = limit;
        this.out = out;
    }

    /** Before the first event. */
    void session(Map<String, String> settings) {
        session = settings;
    }

    void add(BinlogEvent event) {
        if (event.type() == EventType.TABLE_MAP) {
            TableMap table = TableMap.parse(event);
            repeated.add(table);
            statementMaps.put(table.tableId(), ByteString.copyFrom(event.bytes()));
        } else if (EventType.isRows(event.type())) {
            BinlogEvent once = repeated.without(event);
            if (once != null) {
                rows(once);
            }
            if (RowsEvent.parse(event).statementEnd()) {
                endStatement();
            }
        } else {
            throw new IllegalArgumentException("event type " + event.type() + " does not replay");
        }
    }

    private void rows(BinlogEvent event) {
        if (size > 0 && size + event.length() > limit) {
            flush();
        }
        if (!mapsInChunk) {
            statementMaps.values().forEach(this::push);
            mapsInChunk = true;
        }
        if (event.length() > limit) {
            cut(event.bytes());
        } else {
            byte[] copy = event.bytes().clone();
            RowsEvent.leaveForeignKeys(copy);
            push(UnsafeByteOperations.unsafeWrap(copy));
            openRow = copy;
        }
    }

    private void endStatement() {
        closeRow();
        statementMaps.clear();
    }

    /** The last row event ends its statement; what follows needs the table maps again. */
    private void closeRow() {
        if (openRow != null) {
            RowsEvent.endStatement(openRow);
        }
        openRow = null;
        mapsInChunk = false;
    }

    private void push(ByteString event) {
        events.add(event);
        size += event.size();
    }

    private void cut(byte[] event) {
        for (int from = 0; from < event.length; from += limit) {
            int to = Math.min(event.length, from + limit);
            byte[] piece = Arrays.copyOfRange(event, from, to);
            if (from == 0) {
                RowsEvent.endStatement(piece);
                RowsEvent.leaveForeignKeys(piece);
            }
            push(UnsafeByteOperations.unsafeWrap(piece));
            give(to < event.length);
        }
        openRow = null;
        mapsInChunk = false;
    }

    /** Passes on the last chunk; the transaction has no more events. */
    void finish() {
        if (size > 0) {
            flush();
        }
    }

    private void flush() {
        closeRow();
        give(false);
    }

    private void give(boolean cut) {
        out.accept(Raw.newBuilder().setFormatDescription(formatDescription).setReason(reason).putAllSession(session)
                .addAllEvents(events).setLastEventCut(cut).build());
        events.clear();
        size = 0;
    }
}
