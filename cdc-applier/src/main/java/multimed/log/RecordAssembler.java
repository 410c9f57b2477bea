package multimed.log;

import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.List;
import multimed.log.LogEvent.Abandoned;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;
import multimed.log.proto.LogRecord;
import multimed.log.proto.LogRecord.BodyCase;
import multimed.log.proto.Raw;

/**
 * In: the log's records, one by one, in offset order from any offset. Out: {@link LogEvent}s. Pure: no I/O, no clock.
 * Must never: let a record of a replaced capture through, join chunks of different transactions, or hide a gap.
 *
 * <p>Holds at most one binlog event that was cut over several records, with its table map. A reader that starts in the middle of a transaction
 * gets nothing of it: its first chunks are missing, so it starts with the next one.
 */
public final class RecordAssembler {
    private long epoch;
    private Gtid last;
    private Gtid open;
    private int nextChunk;
    private boolean partGiven;
    private final List<ByteString> cut = new ArrayList<>();
    private boolean started;

    /** Throws LogBrokenException if the record can't stand here; the assembler must not be used after that. */
    public List<LogEvent> accept(LogRecord record, long offset) {
        if (record.getEpoch() < epoch) {
            return List.of();
        }
        if (record.getBodyCase() == BodyCase.EPOCH_START) {
            return epochStart(record, offset);
        }
        if (started && record.getEpoch() != epoch) {
            throw new LogBrokenException("offset " + offset + ": epoch " + record.getEpoch() + " did not say that it starts");
        }
        epoch = record.getEpoch();
        return chunk(record, offset);
    }

    private List<LogEvent> epochStart(LogRecord record, long offset) {
        List<LogEvent> events = new ArrayList<>();
        if (open != null && partGiven) {
            events.add(new Abandoned(open));
        }
        if (record.getEpoch() > epoch) {
            last = null;
        }
        close();
        started = true;
        epoch = record.getEpoch();
        GtidSet before = parseSet(record, offset);
        events.add(new EpochStarted(epoch, before, record.getEpochStart().getServerUuid(), offset));
        return events;
    }

    private static GtidSet parseSet(LogRecord record, long offset) {
        try {
            return GtidSet.parse(record.getEpochStart().getGtidSet());
        } catch (IllegalArgumentException e) {
            throw new LogBrokenException("offset " + offset + ": " + e.getMessage(), e);
        }
    }

    private List<LogEvent> chunk(LogRecord record, long offset) {
        if (open == null && record.getChunk() != 0 && !started) {
            return List.of();
        }
        Gtid gtid = gtid(record.getGtid(), offset);
        if (record.getChunk() == 0) {
            begin(record, gtid, offset);
        }
        if (!gtid.equals(open) || record.getChunk() != nextChunk) {
            throw new LogBrokenException("offset " + offset + ": chunk " + record.getChunk() + " of " + gtid + " has no beginning here");
        }
        nextChunk++;
        return part(record, gtid, offset);
    }

    private void begin(LogRecord record, Gtid gtid, long offset) {
        if (open != null) {
            throw new LogBrokenException("offset " + offset + ": " + gtid + " starts inside " + open);
        }
        Gtid previous = record.getPreviousGtid().isEmpty() ? null : gtid(record.getPreviousGtid(), offset);
        if (last != null && previous != null && !last.equals(previous)) {
            throw new LogBrokenException("offset " + offset + ": " + gtid + " follows " + previous + " but stands after " + last);
        }
        started = true;
        open = gtid;
        nextChunk = 0;
        partGiven = false;
    }

    private List<LogEvent> part(LogRecord record, Gtid gtid, long offset) {
        LogRecord whole = withoutCuts(record, offset);
        if (whole == null) {
            return List.of();
        }
        Gtid previous = record.getPreviousGtid().isEmpty() ? null : gtid(record.getPreviousGtid(), offset);
        Part part = new Part(gtid, previous, whole, !partGiven, record.getLastChunk(), offset);
        partGiven = true;
        if (record.getLastChunk()) {
            last = gtid;
            close();
        }
        return List.of(part);
    }

    /** Joins an event that was cut with what precedes it in its record; null while the event is not whole. */
    private LogRecord withoutCuts(LogRecord record, long offset) {
        Raw raw = record.getRaw();
        if (cut.isEmpty() && !raw.getLastEventCut()) {
            return record;
        }
        if (raw.getEventsCount() == 0 || record.getLastChunk() && raw.getLastEventCut()) {
            throw new LogBrokenException("offset " + offset + ": a cut event does not continue");
        }
        int next = 0;
        if (!cut.isEmpty()) {
            cut.add(cut.remove(cut.size() - 1).concat(raw.getEvents(next++)));
        }
        cut.addAll(raw.getEventsList().subList(next, raw.getEventsCount()));
        if (raw.getLastEventCut()) {
            return null;
        }
        Raw whole = raw.toBuilder().clearEvents().addAllEvents(cut).build();
        cut.clear();
        return record.toBuilder().setRaw(whole).build();
    }

    private void close() {
        open = null;
        nextChunk = 0;
        partGiven = false;
        cut.clear();
    }

    private static Gtid gtid(String text, long offset) {
        try {
            return Gtid.parse(text);
        } catch (IllegalArgumentException e) {
            throw new LogBrokenException("offset " + offset + ": " + e.getMessage(), e);
        }
    }
}
