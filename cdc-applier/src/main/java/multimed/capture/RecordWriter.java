package multimed.capture;

import java.util.List;
import java.util.Map;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.capture.Verdict.AsStatement;
import multimed.gtid.Gtid;
import multimed.log.LogTopic;
import multimed.log.LogWriter;
import multimed.log.proto.Check;
import multimed.log.proto.Empty;
import multimed.log.proto.LogRecord;
import multimed.log.proto.Rebuild;
import multimed.log.proto.Rows;
import multimed.log.proto.Statement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import multimed.process.Metric;
import multimed.process.Metrics;

/**
 * In: whole transactions and how they are to go. Out: their records in the log. Must never: write anything but exactly one
 * complete transaction per call.
 */
final class RecordWriter {
    private static final Logger logger = LoggerFactory.getLogger(RecordWriter.class);

    /** Reason of an XA transaction's raw records. The master's clock knows its rows by its XA PREPARE; in the log they come later. */
    static final String XA = "xa";

    private final LogWriter log;
    private final Metrics metrics;

    RecordWriter(LogWriter log, Metrics metrics) {
        this.log = log;
        this.metrics = metrics;
    }

    void statement(GtidEvent start, Gtid previous, AsStatement verdict) {
        write(start, previous, LogRecord.newBuilder().setStatement(verdict.statement()), "statement");
    }

    void empty(GtidEvent start, Gtid previous) {
        empty(start, previous, null);
    }

    /** @param check what is to be compared at this place; null: nothing */
    void empty(GtidEvent start, Gtid previous, Check check) {
        Empty empty = check == null ? Empty.getDefaultInstance() : Empty.newBuilder().setCheck(check).build();
        write(start, previous, LogRecord.newBuilder().setEmpty(empty), "empty");
    }

    void rebuild(GtidEvent start, Gtid previous, String reason) {
        logger.warn("satellites will clone again gtid={} reason=\"{}\"", start.gtid(), reason);
        metrics.add(Metric.CAPTURE_REBUILD, 1);
        write(start, previous, LogRecord.newBuilder().setRebuild(Rebuild.newBuilder().setReason(reason)), "rebuild");
    }

    void rows(GtidEvent start, Gtid previous, List<Rows> chunks) {
        Chunks records = new Chunks(start, previous);
        chunks.forEach(c -> records.add(LogRecord.newBuilder().setRows(c)));
        records.finish("rows");
    }

    /** The events of a transaction that has been read completely. */
    void raw(MasterTransaction transaction, Gtid previous, String reason) {
        RawStream stream = rawStream(transaction.start(), previous, transaction.formatDescription(), reason);
        stream.session(RowSession.of(transaction.events()));
        transaction.events().forEach(stream::addIfChange);
        stream.finish();
    }

    /** Events that came in an earlier transaction of the binlog. */
    void raw(GtidEvent start, Gtid previous, PreparedTransactions.Prepared changes) {
        RawStream stream = rawStream(start, previous, changes.formatDescription(), XA);
        stream.session(changes.session());
        changes.changes().forEach(stream::add);
        stream.finish();
    }

    /** A statement that opens the transaction, then the transaction's row events. */
    void statementThenRaw(MasterTransaction transaction, Gtid previous, Statement statement) {
        RawStream stream = rawStream(transaction.start(), previous, transaction.formatDescription(), "create_select");
        stream.open(statement);
        transaction.events().forEach(stream::addIfChange);
        stream.finish();
    }

    /** For a transaction too large to be held. */
    RawStream rawStream(GtidEvent start, Gtid previous, byte[] formatDescription, String reason) {
        return new RawStream(new Chunks(reason.equals(XA) ? start.withoutClock() : start, previous), formatDescription, reason);
    }

    private void write(GtidEvent start, Gtid previous, LogRecord.Builder record, String kind) {
        Chunks records = new Chunks(start, previous);
        records.add(record);
        records.finish(kind);
    }

    /** Takes table maps and row events; nothing is complete before {@link #finish}. */
    final class RawStream {
        private final Chunks records;
        private final RawChunks chunks;
        private final String reason;

        private RawStream(Chunks records, byte[] formatDescription, String reason) {
            this.records = records;
            this.reason = reason;
            chunks = new RawChunks(
                    formatDescription, reason, LogTopic.RECORD_BYTES, raw -> records.add(LogRecord.newBuilder().setRaw(raw)));
        }

        /** Before the first event. */
        void session(Map<String, String> settings) {
            chunks.session(settings);
        }

        /** Before the first event. */
        void open(Statement statement) {
            records.add(LogRecord.newBuilder().setStatement(statement));
        }

        void add(BinlogEvent event) {
            chunks.add(event);
        }

        private void addIfChange(BinlogEvent event) {
            if (EventType.isChange(event.type())) {
                add(event);
            }
        }

        void finish() {
            chunks.finish();
            if (records.isEmpty()) {
                records.add(LogRecord.newBuilder().setEmpty(Empty.getDefaultInstance()));
                records.finish("empty");
            } else {
                metrics.add(Metric.CAPTURE_RAW, reason, 1);
                records.finish("raw");
            }
        }
    }

    /** Numbers the records of one transaction; keeps one back to be able to mark the last. */
    private final class Chunks {
        private final GtidEvent start;
        private final Gtid previous;
        private LogRecord.Builder held;
        private int next;

        Chunks(GtidEvent start, Gtid previous) {
            this.start = start;
            this.previous = previous;
            metrics.observe(Metric.CAPTURE_READY, (System.currentTimeMillis() * 1000 - start.commitTimeMicros()) / 1e6);
        }

        boolean isEmpty() {
            return held == null;
        }

        void add(LogRecord.Builder record) {
            give();
            held = record.setChunk(next++);
        }

        void finish(String kind) {
            held.setLastChunk(true);
            give();
            metrics.add(Metric.CAPTURE_TRANSACTIONS, kind, 1);
        }

        private void give() {
            if (held != null) {
                held.setSequenceNumber(start.sequenceNumber()).setLastCommitted(start.lastCommitted());
                log.append(held, start.gtid(), previous, start.commitTimeMicros());
                held = null;
            }
        }
    }
}
