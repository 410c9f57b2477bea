package multimed.verify;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogEvent;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;
import multimed.log.LogTail.Newest;
import multimed.log.RecordAssembler;
import multimed.log.proto.LogRecord;

/**
 * In: the log's records from its beginning. Out: the first place where it breaks its contract, if any, and the transactions behind
 * its first epoch start, each passed once and in order to the listeners. Pure. Must never: take a transaction for complete whose
 * last chunk is missing, or hide what an epoch start left out. Memory: sets of GTIDs, and one event that was cut.
 */
final class LogProof {
    /** What a reader of the log learns, in order. */
    interface Listener {
        void start(GtidSet before) throws Exception;

        void transaction(Gtid gtid) throws Exception;

        /** An epoch start says that these lie before it, and no record came for them. */
        void withoutRecord(GtidSet gtids) throws Exception;
    }

    private final List<? extends Listener> listeners;
    private final RecordAssembler assembler = new RecordAssembler();
    private final Map<Gtid.Source, Long> highest = new HashMap<>();
    private GtidSet early = GtidSet.EMPTY;
    private GtidSet set;
    private GtidSet withoutRecord = GtidSet.EMPTY;
    private long epoch;
    private long epochs;
    private long transactions;
    private long replaced;
    private long abandoned;
    private long mended;
    private String tooEarly;
    private String broken;
    private String difference;
    private Newest newest;

    LogProof(List<? extends Listener> listeners) {
        this.listeners = listeners;
    }

    /** The next record; nothing after the first difference is looked at. Throws only what a listener throws. */
    void accept(LogRecord record, long offset) throws Exception {
        if (difference != null) {
            return;
        }
        if (record.getEpoch() < epoch) {
            replaced++;
            return;
        }
        if (epoch > 0 && record.getEpoch() > epoch && !record.hasEpochStart()) {
            difference = "offset " + offset + ": epoch " + record.getEpoch() + " did not say that it starts";
            return;
        }
        events(assembler.accept(record, offset), offset);
    }

    /** Instead of a record that can't be read. */
    void unreadable(String what, long offset) throws Exception {
        if (difference == null) {
            events(assembler.unreadable(what, offset), offset);
        }
    }

    private void events(List<LogEvent> events, long offset) throws Exception {
        for (LogEvent event : events) {
            event(event, offset);
        }
    }

    private void event(LogEvent event, long offset) throws Exception {
        if (event instanceof EpochStarted started) {
            started(started);
        } else if (event instanceof Part part && part.last()) {
            transaction(part.gtid(), offset);
            newest = new Newest(part.gtid(), part.record().getCommitTimeUs());
        } else if (event instanceof LogEvent.Abandoned) {
            abandoned++;
        } else if (event instanceof LogEvent.Broken breach) {
            broken = breach.what();
        }
    }

    private void started(EpochStarted started) throws Exception {
        epochs += started.epoch() > epoch ? 1 : 0;
        epoch = started.epoch();
        mended += broken == null ? 0 : 1;
        broken = null;
        if (set == null) {
            begin(started);
            return;
        }
        if (!started.before().containsAll(set)) {
            // A capture that found out so starts once more, before it writes anything.
            tooEarly = "offset " + started.offset() + ": epoch " + epoch + " starts without " + set.minus(started.before())
                    + ", which the log has before it";
            return;
        }
        tooEarly = null;
        GtidSet left = started.before().minus(set);
        if (!left.isEmpty()) {
            withoutRecord = withoutRecord.union(left);
            set = started.before();
            for (Listener listener : listeners) {
                listener.withoutRecord(left);
            }
        }
    }

    private void begin(EpochStarted started) throws Exception {
        if (!started.before().containsAll(early)) {
            difference = "offset " + started.offset() + ": epoch " + epoch + " starts without " + early.minus(started.before())
                    + ", which the log has before it";
            return;
        }
        set = started.before();
        for (Listener listener : listeners) {
            listener.start(set);
        }
    }

    private void transaction(Gtid gtid, long offset) throws Exception {
        if (tooEarly != null) {
            difference = tooEarly;
            return;
        }
        if ((set == null ? early : set).contains(gtid)) {
            difference = "offset " + offset + ": " + gtid + " is in the log twice";
            return;
        }
        if (set == null) {
            early = early.add(gtid);
            return;
        }
        set = set.add(gtid);
        transactions++;
        highest.merge(gtid.source(), gtid.number(), Math::max);
        for (Listener listener : listeners) {
            listener.transaction(gtid);
        }
    }

    /** Everything that the log accounts for so far; null before its first epoch start. */
    GtidSet set() {
        return set;
    }

    /** The last transaction so far; null before the first. */
    Newest newest() {
        return newest;
    }

    /** Where the log breaks its contract; null if nowhere, or if readers go on with an epoch that started after it. */
    String difference() {
        return difference == null ? broken : difference;
    }

    /** Whether nothing that may still come makes it hold. */
    boolean failed() {
        return difference != null;
    }

    /** Of GTIDs that the log lacks, those with a later one of the same source in the log: they will not come any more. */
    GtidSet passedOver(GtidSet lacking) {
        GtidSet behind = lacking;
        for (Map.Entry<Gtid.Source, Long> each : highest.entrySet()) {
            behind = behind.minus(GtidSet.parse(each.getKey() + ":1-" + each.getValue()));
        }
        return lacking.minus(behind);
    }

    GtidSet withoutRecord() {
        return withoutRecord;
    }

    /** Numbers for a report. */
    String counts() {
        return transactions + " transactions in " + epochs + (epochs == 1 ? " epoch" : " epochs")
                + ", each once, whole, and naming its predecessor; "
                + withoutRecord.count() + " accounted for without record, " + abandoned + " unfinished and come again, "
                + mended + " places broken and gone on from by an epoch, " + replaced + " records of replaced captures";
    }
}
