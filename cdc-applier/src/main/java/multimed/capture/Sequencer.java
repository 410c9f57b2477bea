package multimed.capture;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import multimed.binlog.BinlogEvent;
import multimed.binlog.BinlogReader;
import multimed.binlog.ByteCursor;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.binlog.MalformedEventException;
import multimed.binlog.QueryEvent;
import multimed.binlog.TransactionEnd;
import multimed.binlog.TransactionPayload;
import multimed.capture.Verdict.AsEmpty;
import multimed.capture.Verdict.AsRaw;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsRows;
import multimed.capture.Verdict.AsStatement;
import multimed.capture.Verdict.AsStatementThenRaw;
import multimed.capture.Verdict.AsXaCommit;
import multimed.capture.Verdict.AsXaPrepare;
import multimed.capture.Verdict.AsXaRollback;
import multimed.capture.debezium.RowSource;
import multimed.gtid.Gtid;
import multimed.log.FatalException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The heart of capture. In: the spine's events. Out: each transaction in the log, once, in the order of the binlog, in the kind that
 * the {@link Classifier} chose and that Debezium could confirm. One thread.
 *
 * <pre>
 * transaction longer than the limit         streamed raw as it comes; a rebuild if it turns out not to be replayable
 * XA transaction longer than the limit      passed over, and read again when it is committed
 * any other                                 held until complete, classified, written
 * rows, but Debezium is down, late, differs raw
 * capture is five seconds behind the master raw, without Debezium, until it is there again
 * </pre>
 */
final class Sequencer implements BinlogReader.Sink {
    private static final Logger log = LoggerFactory.getLogger(Sequencer.class);

    /** Since a transaction's commit: younger, and capture is at the master's present; older, and it is behind. */
    private static final long FRESH_MICROS = 500_000;
    private static final long BEHIND_MICROS = 5_000_000;

    private final CaptureConfig config;
    private final Classifier classifier;
    private final GeneratedColumns generatedColumns;
    private final RowSource rowSource;
    private final RecordWriter writer;
    private final EpochKeeper epoch;
    private final PreparedTransactions prepared;
    private final PreparedInBinlog preparedInBinlog;

    private byte[] formatDescription;
    private GtidEvent open;
    private TransactionEnd end;
    private List<BinlogEvent> events = new ArrayList<>();
    private LargeTransaction large;
    private boolean largeXa;
    private Gtid previous;
    private String file = "";
    private long position;

    Sequencer(CaptureConfig config, Classifier classifier, GeneratedColumns generatedColumns, RowSource rowSource,
            RecordWriter writer, EpochKeeper epoch, PreparedTransactions prepared, PreparedInBinlog preparedInBinlog) {
        this.config = config;
        this.classifier = classifier;
        this.generatedColumns = generatedColumns;
        this.rowSource = rowSource;
        this.writer = writer;
        this.epoch = epoch;
        this.prepared = prepared;
        this.preparedInBinlog = preparedInBinlog;
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
        large = start.transactionBytes() > config.largeBytes() ? largeTransaction() : null;
        largeXa = false;
    }

    private LargeTransaction largeTransaction() {
        return new LargeTransaction(open, formatDescription, "large");
    }

    /** Its length in the binlog says nothing about what is inside. */
    private void compressed(BinlogEvent event) throws Exception {
        try (TransactionPayload payload = TransactionPayload.open(event)) {
            if (large == null && payload.uncompressedBytes() > config.largeBytes()) {
                large = largeTransaction();
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
        if (large != null && isXaStart(event)) {
            large = null;
            largeXa = true;
        }
        if (large != null) {
            large.add(event, last);
        } else if (!largeXa || !isChange(event)) {
            events.add(event);
        }
        if (last) {
            finish();
        }
    }

    private static boolean isXaStart(BinlogEvent event) {
        return event.type() == EventType.QUERY && QueryEvent.parse(event).ascii().startsWith("XA START ");
    }

    private static boolean isChange(BinlogEvent event) {
        return event.type() == EventType.TABLE_MAP || EventType.isRows(event.type());
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

    private void writeOnce() throws Exception {
        if (large != null) {
            large.finish();
        } else {
            write(new MasterTransaction(open, formatDescription, events));
        }
    }

    private void write(MasterTransaction transaction) throws Exception {
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
        } else if (verdict instanceof AsEmpty && largeXa) {
            xaFromBinlog(Statements.xid(QueryEvent.parse(events.get(0))));
        } else if (verdict instanceof AsEmpty) {
            writer.empty(open, previous);
        } else if (verdict instanceof AsXaPrepare xa) {
            xaPrepare(transaction, xa);
        } else if (verdict instanceof AsXaRollback xa) {
            xaDecided(xa.xid());
            writer.empty(open, previous);
        } else if (verdict instanceof AsXaCommit xa) {
            xaCommit(xa.xid());
        } else if (verdict instanceof AsRebuild rebuild) {
            rowSource.statement(open.gtid());
            rebuild(rebuild.reason());
        }
    }

    private void xaPrepare(MasterTransaction transaction, AsXaPrepare xa) {
        xaDecided(xa.xid());
        if (!largeXa) {
            prepared.add(xa.xid(), transaction, xa.obstacle());
        }
        writer.empty(open, previous);
    }

    private PreparedTransactions.Prepared xaDecided(String xid) {
        preparedInBinlog.forget(xid);
        return prepared.take(xid);
    }

    private void xaCommit(String xid) throws Exception {
        PreparedTransactions.Prepared changes = prepared.take(xid);
        if (changes == null) {
            xaFromBinlog(xid);
        } else if (changes.obstacle() != null) {
            rebuild("XA COMMIT of what can't be replayed: " + changes.obstacle());
        } else {
            writer.raw(open.withoutClock(), previous, changes);
        }
        preparedInBinlog.forget(xid);
    }

    private void xaFromBinlog(String xid) throws Exception {
        LargeTransaction[] again = new LargeTransaction[1];
        String missing = preparedInBinlog.read(xid, open.gtid(), file, (description, event, last) -> {
            if (again[0] == null) {
                again[0] = new LargeTransaction(open.withoutClock(), description, "xa");
            }
            again[0].add(event, last);
        });
        if (missing != null) {
            epoch.repeat();
            rebuild("XA COMMIT of changes that are not at hand: " + missing);
        } else {
            again[0].finish();
        }
    }

    private void rows(MasterTransaction transaction, AsRows verdict) throws InterruptedException {
        if (!verdict.changes().stream().allMatch(generatedColumns::surelyNone)) {
            writer.raw(transaction, previous, "generated");
            return;
        }
        RowSource.Answer answer = rowSource.rows(open.gtid(), epoch.set(), verdict.changes());
        if (answer.rows() != null) {
            writer.rows(open, previous, answer.rows());
        } else {
            writer.raw(transaction, previous, answer.reason());
        }
    }

    private void rebuild(String reason) {
        log.warn("satellites will clone again gtid={} reason=\"{}\"", open.gtid(), reason);
        writer.rebuild(open, previous, reason);
    }

    /** A transaction that is not held: its row events go out as they come. */
    private final class LargeTransaction {
        private final byte[] formatDescription;
        private final RecordWriter.RawStream stream;
        private boolean started;
        private String obstacle;

        LargeTransaction(GtidEvent start, byte[] formatDescription, String reason) {
            this.formatDescription = formatDescription;
            stream = writer.rawStream(start, previous, formatDescription, reason);
        }

        void add(BinlogEvent event, boolean last) {
            if (epoch.set().contains(open.gtid())) {
                return;
            }
            if (isChange(event)) {
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
            if (obstacle == null) {
                stream.finish();
            } else {
                epoch.repeat();
                rebuild(obstacle);
            }
        }
    }
}
