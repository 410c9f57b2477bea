package multimed.capture;

import java.util.Locale;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.binlog.QueryEvent;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsStatementThenRaw;
import multimed.gtid.Gtid;

/**
 * A transaction that is not held in memory. In: its events, one by one. Out: its row events in the log as they come, or a rebuild
 * if it turns out that they can't be replayed. Must never: complete the transaction in the log before {@link #finish}.
 */
final class LargeTransaction {
    /** What all of them are made with. */
    record Factory(Classifier classifier, RecordWriter writer, EpochKeeper epoch) {
        /** @param reason of the raw records, as LOG.md lists them */
        LargeTransaction begin(GtidEvent start, Gtid previous, byte[] formatDescription, String reason) {
            return new LargeTransaction(this, start, previous, formatDescription, reason);
        }
    }

    private final Factory with;
    private final GtidEvent start;
    private final Gtid previous;
    private final byte[] formatDescription;
    private final RecordWriter.RawStream stream;
    private boolean started;
    /** Why it can't be replayed; null while it can. */
    private String unsafe;

    private LargeTransaction(Factory with, GtidEvent start, Gtid previous, byte[] formatDescription, String reason) {
        this.with = with;
        this.start = start;
        this.previous = previous;
        this.formatDescription = formatDescription;
        stream = with.writer.rawStream(start, previous, formatDescription, reason);
    }

    void add(BinlogEvent event, boolean last) {
        if (with.epoch.set().contains(start.gtid()) || unsafe != null || !isUnderstood(event)) {
            return;
        }
        if (EventType.isChange(event.type())) {
            started = true;
            stream.add(event);
        } else if (!started && with.classifier.isOpening(event)) {
            started = true;
            open(event);
        } else {
            if (!started && event.type() == EventType.QUERY) {
                stream.session(RowSession.of(event));
            }
            unsafe = whyUnsafe(event, last);
        }
    }

    /** Whether its own bytes can't make fail what is done with it. */
    private boolean isUnderstood(BinlogEvent event) {
        try {
            Classifier.parse(event);
            if (!started) {
                with.classifier.isOpening(event);
            }
        } catch (RuntimeException | StackOverflowError e) {
            unsafe = Classifier.notUnderstood(start.gtid(), e).reason();
        }
        return unsafe == null;
    }

    private void open(BinlogEvent event) {
        Verdict verdict = with.classifier.opening(start.gtid(), event, formatDescription);
        if (verdict instanceof AsStatementThenRaw opening) {
            stream.open(opening.statement());
        } else {
            unsafe = ((AsRebuild) verdict).reason();
        }
    }

    private static String whyUnsafe(BinlogEvent event, boolean last) {
        if (event.type() == EventType.ROWS_QUERY || event.ignorable() || event.type() == EventType.XID
                || event.type() == EventType.XA_PREPARE) {
            return null;
        }
        if (event.type() != EventType.QUERY) {
            return "large transaction with event type " + event.type();
        }
        QueryEvent query = QueryEvent.parse(event);
        String sql = query.ascii().toUpperCase(Locale.ROOT);
        boolean harmless = sql.equals("BEGIN") || last && sql.equals("COMMIT") || sql.startsWith("SAVEPOINT ")
                || sql.startsWith("XA START ") || sql.startsWith("XA END ");
        return harmless ? null : "large transaction with " + Statements.shortened(query);
    }

    void finish() {
        if (unsafe == null) {
            stream.finish();
        } else {
            with.epoch.repeat();
            with.writer.rebuild(start, previous, unsafe);
        }
    }
}
