package multimed.log;

import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.List;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogEvent.Abandoned;
import multimed.log.LogEvent.Broken;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;
import multimed.log.proto.LogRecord;
import multimed.log.proto.LogRecord.BodyCase;
import multimed.log.proto.Raw;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * In: the log's records, one by one, in offset order from any offset. Out: {@link LogEvent}s. Pure: no I/O, no clock. Must never:
 * let a record of a replaced capture through, join chunks of different transactions, or hide a gap.
 *
 * <p>Holds at most one binlog event that was cut over several records, with its table map. A reader that starts in the middle of a
 * transaction gets nothing of it: its first chunks are missing, so it starts with the next one.
 *
 * <p>An epoch ends at the first record that can't stand where it stands: the rest of it is ignored up to the next start of an epoch
 * that is not lower. The capture that comes next goes on from what lies before that record.
 */
public final class RecordAssembler {
    private long epoch;
    private Gtid last;
    /** The set that the epoch's start names; used while no transaction has come since. */
    private GtidSet before;
    private Gtid open;
    private int nextChunk;
    private boolean partGiven;
    private final List<ByteString> cut = new ArrayList<>();
    private boolean started;
    /**
     * The start of a higher epoch was seen, so that the epoch in force is known. Before that, records can be of a replaced capture.
     */
    private boolean certain;
    private boolean broken;

    /** What a record of the topic means to a reader, also one that cannot be parsed. */
    public List<LogEvent> read(ConsumerRecord<byte[], byte[]> record) {
        LogRecord parsed;
        try {
            parsed = LogTopic.parse(record);
        } catch (LogBrokenException e) {
            return unreadable(e.getMessage(), record.offset());
        }
        return accept(parsed, record.offset());
    }

    /** What the record means to a reader. */
    public List<LogEvent> accept(LogRecord record, long offset) {
        if (record.getEpoch() < epoch) {
            return List.of();
        }
        try {
            return record.getBodyCase() == BodyCase.EPOCH_START ? epochStart(record, offset) : transaction(record, offset);
        } catch (LogBrokenException e) {
            epoch = record.getEpoch();
            return unreadable(e.getMessage(), offset);
        }
    }

    /** Whether the epoch in force is known, and not only taken from the records that this reader began among. */
    public boolean certain() {
        return certain;
    }

    /** Instead of a record that can't be read. */
    public List<LogEvent> unreadable(String what, long offset) {
        List<LogEvent> events = broken ? new ArrayList<>() : abandoned();
        if (!broken) {
            events.add(new Broken(what, offset));
        }
        broken = true;
        started = true;
        close();
        return events;
    }

    private List<LogEvent> abandoned() {
        List<LogEvent> events = new ArrayList<>();
        if (open != null && partGiven) {
            events.add(new Abandoned(open));
        }
        return events;
    }

    private List<LogEvent> epochStart(LogRecord record, long offset) {
        GtidSet lies = parseSet(record, offset);
        List<LogEvent> events = abandoned();
        if (record.getEpoch() > epoch) {
            certain = started;
        }
        if (record.getEpoch() > epoch || broken) {
            last = null;
        }
        close();
        started = true;
        broken = false;
        epoch = record.getEpoch();
        before = lies;
        events.add(new EpochStarted(epoch, lies, record.getEpochStart().getServerUuid(), offset));
        return events;
    }

    private List<LogEvent> transaction(LogRecord record, long offset) {
        if (record.getEpoch() == epoch && broken) {
            return List.of();
        }
        List<LogEvent> events = new ArrayList<>();
        if (started && record.getEpoch() != epoch) {
            if (certain) {
                throw new LogBrokenException("offset " + offset + ": epoch " + record.getEpoch() + " did not say that it starts");
            }
            events.addAll(beginAnew());
        }
        epoch = record.getEpoch();
        events.addAll(chunk(record, offset));
        return events;
    }

    /** The records so far were a replaced capture's; the epoch in force started before this reader's first record. */
    private List<LogEvent> beginAnew() {
        List<LogEvent> events = abandoned();
        close();
        last = null;
        before = null;
        started = false;
        broken = false;
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
        if (previous != null && !isLast(previous)) {
            throw new LogBrokenException("offset " + offset + ": " + gtid + " follows " + previous + " but stands after "
                    + (last != null ? last : "the epoch's start"));
        }
        started = true;
        open = gtid;
        nextChunk = 0;
        partGiven = false;
    }

    /** Whether this transaction is the last one before, as far as the reader knows. */
    private boolean isLast(Gtid previous) {
        return last != null ? last.equals(previous) : before == null || before.contains(previous);
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
