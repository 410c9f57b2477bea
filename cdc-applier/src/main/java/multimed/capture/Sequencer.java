package multimed.capture;

import java.util.ArrayList;
import java.util.List;
import multimed.binlog.BinlogEvent;
import multimed.binlog.BinlogReader;
import multimed.binlog.ByteCursor;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.binlog.MalformedEventException;
import multimed.binlog.QueryEvent;
import multimed.binlog.TransactionEnd;
import multimed.binlog.TransactionPayload;
import multimed.capture.debezium.RowSource;
import multimed.capture.tables.TableStream;
import multimed.gtid.Gtid;
import multimed.log.FatalException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: the binlog reader's events, as they were read ahead. Out: each transaction handed on once, in the order of the binlog. One
 * thread, capture's.
 *
 * <pre>
 * transaction longer than the limit         streamed raw as it comes; a rebuild if it turns out not to be replayable
 * XA transaction longer than the limit      its changes are not held, and read again when it is committed
 * any other                                 held until complete, then classified and written
 * capture is five seconds behind the master raw, without Debezium, until it has caught up
 * </pre>
 */
final class Sequencer implements BinlogReader.Sink {
    private static final Logger log = LoggerFactory.getLogger(Sequencer.class);

    /** A transaction that was committed less than this ago shows that capture has caught up with the master. */
    private static final long CAUGHT_UP_MICROS = 500_000;
    /** One that was committed more than this ago shows that capture is behind. */
    private static final long BEHIND_MICROS = 5_000_000;

    private final CaptureConfig config;
    private final VerdictWriter writer;
    private final LargeTransaction.Factory largeTransactions;
    private final RowSource rowSource;
    private final EpochKeeper epoch;
    private final PreparedTransactions prepared;
    private final TableStream tableStream;

    private byte[] formatDescription;
    private GtidEvent open;
    private TransactionEnd end;
    private List<BinlogEvent> events = new ArrayList<>();
    private LargeTransaction large;
    private boolean largeXa;
    private Gtid previous;
    private String file = "";
    private long position;

    Sequencer(CaptureConfig config, VerdictWriter writer, LargeTransaction.Factory largeTransactions, RowSource rowSource,
            EpochKeeper epoch, PreparedTransactions prepared, TableStream tableStream) {
        this.config = config;
        this.writer = writer;
        this.largeTransactions = largeTransactions;
        this.rowSource = rowSource;
        this.epoch = epoch;
        this.prepared = prepared;
        this.tableStream = tableStream;
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
        if (open == null && epoch.passed(file, position)) {
            tableStream.restart(epoch.set());
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
        long age = System.currentTimeMillis() * 1000 - start.commitTimeMicros();
        if (age < CAUGHT_UP_MICROS) {
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
        return largeTransactions.begin(open, previous, formatDescription, "large");
    }

    /** Its length in the binlog does not tell the length of what is inside. */
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
        } else if (!largeXa || !EventType.isChange(event.type())) {
            events.add(event);
        }
        if (last) {
            finish();
        }
    }

    private static boolean isXaStart(BinlogEvent event) {
        return event.type() == EventType.QUERY && QueryEvent.ascii(event).startsWith("XA START ");
    }

    private void finish() throws Exception {
        Gtid gtid = open.gtid();
        TestFault.Kind fault = config.testFault().at(gtid);
        if (epoch.set().contains(gtid)) {
            log.warn("the master sent a transaction again, ignored gtid={}", gtid);
        } else {
            tableStream.settle();
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
            writer.write(new MasterTransaction(open, formatDescription, events), previous, file, largeXa);
        }
    }
}
