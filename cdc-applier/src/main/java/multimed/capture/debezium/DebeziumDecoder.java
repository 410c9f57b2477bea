package multimed.capture.debezium;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.master.Master;
import multimed.master.MasterAccess;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run of Debezium. In: transactions of the binlog, in order: those whose rows are wanted, and every statement. Out: decoded rows.
 * It starts on threads of its own; then it decodes rows on the caller's, capture's, and parses statements on one of its own. Must
 * never: give rows of a transaction that may have been decoded with another schema than it was written under.
 *
 * <p>Debezium reads the tables' schemas when it starts, and follows the statements that it is given. What the master had committed when
 * the schemas had been read is {@link Window#unsafe()}: their rows may be older than the schemas. A statement that was committed after
 * the start and not given, since Debezium was not ready, may be in the schemas or not: the run is useless then.
 *
 * <p>To parse a statement takes Debezium milliseconds, and a second if it is long or the first one. Capture waits {@value #PATIENCE_MS}
 * ms for it; what comes after that, and before it is parsed, has no rows.
 */
final class DebeziumDecoder implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(DebeziumDecoder.class);
    private static final long MAX_BYTES = 64L * 1024 * 1024;
    /** Of statements that wait to be parsed. */
    private static final long MAX_WAITING_BYTES = 64L * 1024 * 1024;
    private static final long PATIENCE_MS = 200;

    /**
     * @param start executed on the master before Debezium began
     * @param unsafe executed on the master when the schemas had been read
     */
    private record Window(GtidSet start, GtidSet unsafe) {}

    /** Rows, or why there are none: one word. */
    record Answer(List<DecodedRow> rows, String reason) {
        static Answer without(String reason) {
            return new Answer(null, reason);
        }
    }

    private final MasterAccess access;
    private final DecodedRows rows = new DecodedRows(MAX_BYTES);
    private final FedTask task;
    /** Statements that came before it was ready, and the last one before it was there, until {@link #spoiled} has looked at them. */
    private final List<Gtid> missed = new ArrayList<>();
    private final ExecutorService parser = Executors.newSingleThreadExecutor(DebeziumDecoder::parserThread);
    /** Bytes of the events that the parser has yet to give; while there are any, only it uses Debezium and {@link #rows}. */
    private final AtomicLong waiting = new AtomicLong();
    /** The last of what the parser was given. */
    private Future<?> given;
    /** Capture has waited long enough for what the parser has. */
    private boolean impatient;
    private volatile GtidSet start = GtidSet.EMPTY;
    private volatile Window window;
    private volatile String failure;

    /** @param before the last statement that came before; it may not be executed on the master yet. Null if there was none */
    DebeziumDecoder(MasterAccess access, Gtid before) {
        this.access = access;
        if (before != null) {
            missed.add(before);
        }
        task = new FedTask(DebeziumEngines.settings(access), this::handle, this::ended);
        Thread thread = new Thread(this::runTask, "debezium");
        thread.setDaemon(true);
        thread.start();
    }

    private static Thread parserThread(Runnable work) {
        Thread thread = new Thread(work, "debezium-parser");
        thread.setDaemon(true);
        return thread;
    }

    private void runTask() {
        try (Master master = new Master(access)) {
            start = master.executed();
        } catch (SQLException | RuntimeException e) {
            ended(e);
            return;
        }
        task.run();
    }

    private boolean ready() {
        return window != null && task.feed().isConnected();
    }

    /** Why it can't be used any more, for the log; null while it runs. */
    String failure() {
        return failure;
    }

    /** Whether a statement may be in the schemas or not. */
    boolean spoiled() {
        if (!ready()) {
            return false;
        }
        boolean unknown = missed.stream().anyMatch(gtid -> !window.start().contains(gtid));
        missed.clear();
        return unknown;
    }

    /** The rows of a transaction; all statements before it were given. */
    Answer decode(Gtid gtid, List<BinlogEvent> events) {
        if (failure != null) {
            return Answer.without("debezium_down");
        }
        if (!ready() || !missed.isEmpty() || window.unsafe().contains(gtid)) {
            return Answer.without("debezium_starting");
        }
        if (!hasParsedAll()) {
            return Answer.without("debezium_busy");
        }
        for (BinlogEvent event : events) {
            if (EventType.isChange(event.type())) {
                give(event);
            }
        }
        Answer answer = answer();
        rows.clear();
        return answer;
    }

    private boolean hasParsedAll() {
        if (waiting.get() > 0 && !impatient) {
            try {
                given.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                impatient = true;
            } catch (ExecutionException e) {
                failure = rootMessage(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        return waiting.get() == 0;
    }

    private Answer answer() {
        if (failure != null) {
            return Answer.without("debezium_down");
        }
        return rows.complete() ? new Answer(rows.rows(), "") : Answer.without("debezium_incomplete");
    }

    /** Statements that may change schemas. */
    void statement(Gtid gtid, List<BinlogEvent> events) {
        if (!ready() || window.unsafe().contains(gtid)) {
            missed.add(gtid);
            return;
        }
        for (BinlogEvent event : events) {
            if (event.type() == EventType.QUERY) {
                giveInTurn(event);
            }
        }
    }

    /** The binlog goes on in another file: tables get other numbers. */
    void rotated(BinlogEvent rotate) {
        if (ready()) {
            giveInTurn(rotate);
        }
    }

    private void giveInTurn(BinlogEvent event) {
        int bytes = event.bytes().length;
        impatient &= waiting.get() > 0;
        if (waiting.addAndGet(bytes) > MAX_WAITING_BYTES) {
            failure = "statements come faster than Debezium parses them";
            return;
        }
        given = parser.submit(() -> {
            try {
                give(event);
                rows.clear();
            } finally {
                waiting.addAndGet(-bytes);
            }
        });
    }

    private void give(BinlogEvent event) {
        try {
            task.feed().feed(event);
        } catch (Exception | Error e) {
            failure = rootMessage(e);
        }
    }

    private void handle(SourceRecord record) {
        if (schemasRead(record)) {
            openWindow();
        } else if (!DebeziumEngines.NOTIFICATIONS.equals(record.topic())) {
            rows.accept(record);
        }
    }

    /** Whether this is Debezium's notice that it has read the schemas. */
    static boolean schemasRead(SourceRecord record) {
        return DebeziumEngines.NOTIFICATIONS.equals(record.topic()) && record.value() instanceof Struct notice
                && notice.getString("aggregate_type").equals("Initial Snapshot") && notice.getString("type").equals("COMPLETED");
    }

    private void openWindow() {
        try (Master master = new Master(access)) {
            window = new Window(start, master.executed());
            log.info("debezium is ready unsafe_transactions={}", window.unsafe().minus(start).count());
        } catch (SQLException | RuntimeException e) {
            failure = "master: " + e.getMessage();
        }
    }

    private void ended(Throwable error) {
        failure = error == null ? "ended" : rootMessage(error);
    }

    private static String rootMessage(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.toString() : root.getMessage().lines().findFirst().orElse("");
    }

    /** Returns at once; what the task has open is closed by its own thread. */
    @Override
    public void close() {
        parser.shutdownNow();
        task.close();
    }
}
