package multimed.capture;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import multimed.binlog.BinlogEvent;
import multimed.binlog.ByteCursor;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.binlog.MalformedEventException;
import multimed.binlog.QueryEvent;
import multimed.binlog.TransactionPayload;
import multimed.capture.DebeziumDecoder.Answer;
import multimed.capture.RowsBuilder.Differs;
import multimed.capture.Verdict.AsEmpty;
import multimed.capture.Verdict.AsRaw;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsRows;
import multimed.capture.Verdict.AsStatement;
import multimed.capture.Verdict.AsStatementThenRaw;
import multimed.capture.Verdict.AsXaCommit;
import multimed.capture.Verdict.AsXaPrepare;
import multimed.capture.Verdict.AsXaRollback;
import multimed.log.Gtid;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The heart of capture. In: the spine's events. Out: each transaction in the log, once, in the order of the binlog, in the kind that
 * the {@link Classifier} chose and that Debezium could confirm. One thread.
 *
 * <pre>
 * transaction longer than the limit         streamed raw as it comes; a rebuild if it turns out not to be replayable
 * any other                                 held until complete, classified, written
 * rows, but Debezium is down, late, differs raw
 * capture is five seconds behind the master raw, without Debezium, until it is there again
 * </pre>
 */
final class Sequencer implements Spine.Sink {
    private static final Logger log = LoggerFactory.getLogger(Sequencer.class);

    /** Since a transaction's commit: younger, and capture is at the master's present; older, and it is behind. */
    private static final long FRESH_MICROS = 500_000;
    private static final long BEHIND_MICROS = 5_000_000;

    private final CaptureConfig config;
    private final Classifier classifier;
    private final ColumnKinds kinds;
    private final GeneratedColumns generatedColumns;
    private final RowSource rowSource;
    private final TransactionWriter writer;
    private final EpochKeeper epoch;
    private final PreparedTransactions prepared;

    private byte[] formatDescription;
    private GtidEvent open;
    private TransactionEnd end;
    private List<BinlogEvent> events = new ArrayList<>();
    private LargeTransaction large;
    private Gtid previous;
    private String file = "";
    private long position;

    Sequencer(CaptureConfig config, Classifier classifier, ColumnKinds kinds, GeneratedColumns generatedColumns, RowSource rowSource,
            TransactionWriter writer, EpochKeeper epoch, PreparedTransactions prepared) {
        this.config = config;
        this.classifier = classifier;
        this.kinds = kinds;
        this.generatedColumns = generatedColumns;
        this.rowSource = rowSource;
        this.writer = writer;
        this.epoch = epoch;
        this.prepared = prepared;
    }

    @Override
    public void event(BinlogEvent event) throws Exception {
        int type = event.type();
        if (type == EventType.FORMAT_DESCRIPTION) {
            formatDescription = event.bytes();
        } else if (type == EventType.ROTATE) {
            rotate(event);
        } else if (type == EventType.HEARTBEAT || type == EventType.HEARTBEAT_V2) {
            idle();
        } else if (EventType.isGtid(type)) {
            begin(GtidEvent.parse(event));
        } else if (open != null && type == EventType.TRANSACTION_PAYLOAD) {
            compressed(event);
        } else if (open != null) {
            content(event);
        } else if (type != EventType.PREVIOUS_GTIDS && !event.ignorable() && type != EventType.STOP) {
            throw new FatalException("event type " + type + " outside a transaction: is gtid_mode ON on the master?");
        }
        if (!event.artificial() && event.endPosition() > 0) {
            position = event.endPosition();
        }
        if (open == null) {
            epoch.passed(file, position);
        }
    }

    private void rotate(BinlogEvent event) {
        ByteCursor body = event.body();
        position = body.unsigned(8);
        file = body.text(body.remaining());
    }

    /** A heartbeat: the master has nothing more. */
    private void idle() throws Exception {
        rowSource.caughtUp();
        if (open == null) {
            epoch.tick();
        }
    }

    private void begin(GtidEvent start) {
        if (open != null) {
            throw new MalformedEventException(open.gtid() + " has no end in the binlog");
        }
        long age = System.currentTimeMillis() * 1000 - start.committedHereMicros();
        if (age < FRESH_MICROS) {
            rowSource.caughtUp();
        } else if (age > BEHIND_MICROS) {
            rowSource.behind();
        }
        open = start;
        end = new TransactionEnd();
        events = new ArrayList<>();
        large = start.transactionBytes() > config.largeBytes() ? new LargeTransaction() : null;
    }

    /** Its length in the binlog says nothing about what is inside. */
    private void compressed(BinlogEvent event) throws Exception {
        try (TransactionPayload payload = TransactionPayload.open(event)) {
            if (large == null && payload.uncompressedBytes() > config.largeBytes()) {
                large = new LargeTransaction();
            }
            for (BinlogEvent inside = payload.next(); inside != null; inside = payload.next()) {
                content(inside);
            }
        }
        if (open != null) {
            throw new MalformedEventException(open.gtid() + " does not end in its payload");
        }
    }

    private void content(BinlogEvent event) throws Exception {
        boolean last = end.isLast(event);
        if (large != null) {
            large.add(event, last);
        } else {
            events.add(event);
        }
        if (last) {
            finish();
        }
    }

    private void finish() throws Exception {
        Gtid gtid = open.gtid();
        if (epoch.set().contains(gtid)) {
            log.warn("the master sent a transaction again, ignored gtid={}", gtid);
        } else {
            TestFault.Kind fault = config.testFault().at(gtid);
            if (fault == TestFault.Kind.REPEAT && large == null) {
                writeOnce();
            }
            if (fault != TestFault.Kind.LOSE && fault != TestFault.Kind.HIDE) {
                writeOnce();
            }
            previous = fault == TestFault.Kind.HIDE ? previous : gtid;
            epoch.written(gtid);
            prepared.writtenUpTo(epoch.set());
        }
        open = null;
        large = null;
        events = List.of();
    }

    private void writeOnce() throws InterruptedException {
        if (large != null) {
            large.finish();
        } else {
            write(new MasterTransaction(open, formatDescription, events));
        }
    }

    private void write(MasterTransaction transaction) throws InterruptedException {
        Verdict verdict = classifier.classify(transaction);
        if (verdict instanceof AsRows rows) {
            rows(transaction, rows);
        } else if (verdict instanceof AsRaw raw) {
            writer.raw(transaction, previous, raw.reason());
        } else if (verdict instanceof AsStatement statement) {
            rowSource.statement(open.gtid());
            writer.statement(open, previous, statement);
        } else if (verdict instanceof AsStatementThenRaw opening) {
            rowSource.statement(open.gtid());
            writer.statementThenRaw(transaction, previous, opening.statement());
        } else if (verdict instanceof AsEmpty) {
            writer.empty(open, previous);
        } else if (verdict instanceof AsXaPrepare xa) {
            prepared.add(xa.xid(), transaction, xa.obstacle());
            writer.empty(open, previous);
        } else if (verdict instanceof AsXaRollback xa) {
            prepared.take(xa.xid());
            writer.empty(open, previous);
        } else if (verdict instanceof AsXaCommit xa) {
            xaCommit(prepared.take(xa.xid()));
        } else if (verdict instanceof AsRebuild rebuild) {
            rowSource.statement(open.gtid());
            rebuild(rebuild.reason());
        }
    }

    private void xaCommit(PreparedTransactions.Prepared changes) {
        String obstacle = changes == null ? "prepared before capture was started" : changes.obstacle();
        if (obstacle != null) {
            rebuild("XA COMMIT of changes that are not at hand: " + obstacle);
        } else {
            writer.raw(open, previous, changes);
        }
    }

    private void rows(MasterTransaction transaction, AsRows verdict) throws InterruptedException {
        if (!verdict.changes().stream().allMatch(generatedColumns::surelyNone)) {
            writer.raw(transaction, previous, "generated");
            return;
        }
        Answer answer = rowSource.take(open.gtid(), epoch.set());
        String reason = answer.reason();
        if (answer.transaction() != null) {
            try {
                writer.rows(open, previous, RowsBuilder.build(verdict.changes(), answer.transaction().rows(), kinds));
                return;
            } catch (Differs e) {
                log.debug("debezium differs gtid={} what=\"{}\"", open.gtid(), e.getMessage());
                reason = "debezium_differs";
            }
        }
        writer.raw(transaction, previous, reason);
    }

    private void rebuild(String reason) {
        log.warn("satellites will clone again gtid={} reason=\"{}\"", open.gtid(), reason);
        writer.rebuild(open, previous, reason);
    }

    /** A transaction that is not held: its row events go out as they come. */
    private final class LargeTransaction {
        private final TransactionWriter.RawStream stream = writer.rawStream(open, previous, formatDescription, "large");
        private boolean started;
        private String obstacle;

        void add(BinlogEvent event, boolean last) {
            if (epoch.set().contains(open.gtid())) {
                return;
            }
            if (EventType.isRows(event.type()) || event.type() == EventType.TABLE_MAP) {
                started = true;
                if (obstacle == null) {
                    stream.add(event);
                }
            } else if (!started && classifier.isOpening(event)) {
                started = true;
                open(classifier.opening(event, formatDescription));
            } else {
                if (!started && event.type() == EventType.QUERY) {
                    stream.session(RowSession.of(event));
                }
                obstacle = obstacle != null ? obstacle : obstacle(event, last);
            }
        }

        private void open(Verdict verdict) {
            rowSource.statement(open.gtid());
            if (verdict instanceof AsStatementThenRaw opening) {
                stream.open(opening.statement());
            } else {
                obstacle = ((AsRebuild) verdict).reason();
            }
        }

        private String obstacle(BinlogEvent event, boolean last) {
            if (event.type() == EventType.ROWS_QUERY || event.ignorable() || event.type() == EventType.XID) {
                return null;
            }
            if (event.type() != EventType.QUERY) {
                return "large transaction with event type " + event.type();
            }
            QueryEvent query = QueryEvent.parse(event);
            String sql = query.ascii().toUpperCase(Locale.ROOT);
            boolean harmless = sql.equals("BEGIN") || last && sql.equals("COMMIT") || sql.startsWith("SAVEPOINT ");
            return harmless ? null : "large transaction with " + Statements.shortened(query);
        }

        void finish() {
            if (obstacle == null) {
                stream.finish();
            } else {
                epoch.repeat();
                rebuild(obstacle);
            }
        }
    }
}
