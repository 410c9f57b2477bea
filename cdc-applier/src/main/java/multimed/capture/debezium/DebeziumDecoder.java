package multimed.capture.debezium;

import java.sql.SQLException;
import java.util.function.Predicate;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.master.Master;
import multimed.master.MasterAccess;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run of Debezium's engine, on threads of its own. In: the master's binlog from now on. Out: {@link #take}: a transaction's
 * decoded rows. Must never: give rows of a transaction that may have been decoded with a schema newer than itself.
 *
 * <p>Debezium begins at a binlog position and reads the tables' schemas a little later. What the master had committed when that was
 * done is {@link Window#unsafe()}; if a DDL lies between the two, even later rows may be decoded wrongly and the run is useless.
 */
final class DebeziumDecoder implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(DebeziumDecoder.class);

    /**
     * @param start executed on the master before Debezium began
     * @param unsafe executed on the master when the schemas had been read
     */
    record Window(GtidSet start, GtidSet unsafe) {
        /** Whether a DDL with this GTID spoils the run. */
        boolean spoiledBy(Gtid ddl) {
            return unsafe.contains(ddl) && !start.contains(ddl);
        }
    }

    /** Rows, or why there are none: one word. */
    record Answer(DecodedTransaction transaction, String reason) {
        static Answer without(String reason) {
            return new Answer(null, reason);
        }
    }

    private final MasterAccess access;
    private final long waitMs;
    private final DecodedQueue queue = new DecodedQueue();
    private final DecodedRows rows = new DecodedRows(this::put);
    private final DebeziumTask engine;
    private volatile GtidSet start = GtidSet.EMPTY;
    private volatile Window window;
    private volatile String failure;

    DebeziumDecoder(MasterAccess access, long waitMs) {
        this.access = access;
        this.waitMs = waitMs;
        engine = DebeziumEngines.create(access, this::handle, this::ended);
        Thread thread = new Thread(this::runEngine, "debezium");
        thread.setDaemon(true);
        thread.start();
    }

    private void runEngine() {
        try (Master master = new Master(access)) {
            start = master.executed();
        } catch (SQLException | RuntimeException e) {
            ended(e);
            return;
        }
        engine.run();
    }

    /** Null until the schemas have been read. */
    Window window() {
        return window;
    }

    /** Why it can't be used any more, for the log; null while it runs. */
    String failure() {
        return failure;
    }

    /**
     * Waits for a transaction that the master's binlog has.
     *
     * @param rows how many row changes it has there
     * @param before whether a GTID lies before the wanted one in the binlog
     */
    Answer take(Gtid wanted, int rows, Predicate<Gtid> before) throws InterruptedException {
        if (failure != null) {
            return Answer.without("debezium_down");
        }
        if (window == null || window.unsafe().contains(wanted)) {
            return Answer.without("debezium_starting");
        }
        long deadline = System.nanoTime() + waitMs * 1_000_000;
        while (true) {
            DecodedTransaction next = queue.peek(wanted, rows, Math.max(0, (deadline - System.nanoTime()) / 1_000_000));
            if (next == null) {
                return Answer.without(failure != null ? "debezium_down" : fail("late", "debezium_late"));
            }
            if (next.gtid().equals(wanted)) {
                queue.remove();
                return next.complete() ? new Answer(next, "") : Answer.without("debezium_incomplete");
            }
            if (!before.test(next.gtid())) {
                return Answer.without("debezium_silent");
            }
            queue.remove();
        }
    }

    private String fail(String why, String reason) {
        failure = why;
        return reason;
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

    private void put(Gtid gtid, DecodedTransaction.Row row) {
        try {
            queue.add(gtid, row);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void ended(Throwable error) {
        failure = error == null ? "ended" : rootMessage(error);
        queue.close();
    }

    private static String rootMessage(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return String.valueOf(root.getMessage()).lines().findFirst().orElse("");
    }

    /** Returns at once; what the task has open is closed by its own thread. */
    @Override
    public void close() {
        queue.close();
        engine.close();
    }
}
