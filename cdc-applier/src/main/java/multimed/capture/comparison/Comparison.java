package multimed.capture.comparison;

import com.google.protobuf.ByteString;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import multimed.gtid.Gtid;
import multimed.log.proto.Check;
import multimed.master.Master;
import multimed.master.MasterAccess;
import multimed.process.Metric;
import multimed.process.Metrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares all tables, a piece at a time: has the master answer a query about a piece while its rows are locked, and commits a transaction
 * without changes meanwhile, whose record brings query and answer to the satellites. So the answer is what the piece is at that very place of the
 * history. In: a pass, which says what comes next and when. Out: checks. A thread of its own, with two sessions on the master, which are open only
 * while they are used. Must never: let go of the locks before the commit is answered and yet have the check count, or hold a GTID that it does
 * not commit: the gate waits for those that are owned.
 */
public final class Comparison implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Comparison.class);
    /** Deadlock, a lock wait that took too long, a lock that can't be had at once. */
    private static final Set<Integer> LOCKED = Set.of(1205, 1213, 3572);
    private static final int QUERY_TIMEOUT = 3024;
    private static final long RETRY_SECONDS = 5;
    /** Who rests for longer leaves the master. */
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long BEHIND_NANOS = TimeUnit.MINUTES.toNanos(10);
    private static final int NAMES = 20;

    private final MasterAccess access;
    private final Checks checks;
    private final Pass pass;
    private final Metrics metrics;
    private final Thread thread = new Thread(this::run, "comparison");
    private volatile boolean closed;
    private volatile MasterRows rows;
    private Master master;
    private Gtid.Source source;
    /** What was logged last; null: all went well since. */
    private String trouble;

    private record Locked(PieceQuery query, Piece piece, String answer, long sinceNanos) {
        long rows() {
            return Long.parseLong(answer.substring(0, answer.indexOf(':')));
        }

        Check check() {
            return Check.newBuilder().setQuery(ByteString.copyFromUtf8(query.onSatellite(piece))).setExpected(answer)
                    .putAllSession(MasterRows.SETTINGS).setPiece(query.describe(piece)).build();
        }
    }

    /** Begins, or goes on with the pass. */
    public Comparison(MasterAccess access, Checks checks, Pass pass, Metrics metrics) {
        this.access = access;
        this.checks = checks;
        this.pass = pass;
        this.metrics = metrics;
        thread.setDaemon(true);
        if (pass.isWanted()) {
            thread.start();
        }
    }

    private void run() {
        try {
            while (!closed && step()) {
                continue;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            log.error("comparison ended until capture's next epoch", e);
        } finally {
            disconnect();
        }
    }

    /** False if this master can't be compared with. */
    private boolean step() throws InterruptedException {
        try {
            rest(pass.nanosUntilDue());
            checks.awaitTaken(BEHIND_NANOS);
            return compareNext();
        } catch (SQLException e) {
            interrupted(String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
        return true;
    }

    /** Who fails rests as well. */
    private boolean compareNext() throws SQLException {
        long began = System.nanoTime();
        try {
            connect();
            if (source == null) {
                cannotCompare();
                return false;
            }
            if (pass.isOver()) {
                begin();
            } else {
                piece();
            }
            trouble = null;
            return true;
        } finally {
            pass.rest(System.nanoTime() - began);
        }
    }

    private void cannotCompare() {
        if (pass.isPossible()) {
            log.warn("tables are not compared: the master names no boots, so checks can have no GTIDs of their own");
        }
        pass.impossible();
    }

    /** The same piece comes again. */
    private void interrupted(String what) throws InterruptedException {
        if (!what.equals(trouble)) {
            log.warn("comparison interrupted error=\"{}\"", what);
        }
        trouble = what;
        disconnect();
        TimeUnit.SECONDS.sleep(RETRY_SECONDS);
    }

    private void rest(long nanos) throws InterruptedException {
        if (nanos > IDLE_NANOS) {
            disconnect();
        }
        TimeUnit.NANOSECONDS.sleep(nanos);
    }

    private void connect() throws SQLException {
        if (rows == null) {
            disconnect();
            master = new Master(access);
            source = master.checks();
            rows = new MasterRows(access);
        }
    }

    private void disconnect() {
        if (rows != null) {
            rows.close();
            rows = null;
        }
        if (master != null) {
            master.close();
            master = null;
        }
    }

    private void begin() throws SQLException {
        List<ComparedTable> unusable = pass.begin(rows.tables());
        if (!unusable.isEmpty()) {
            log.info("tables without a primary key that can be used are not compared count={} tables={}", unusable.size(),
                    unusable.stream().limit(NAMES).map(ComparedTable::fullName).collect(Collectors.joining(",")));
        }
        report();
    }

    private void piece() throws SQLException {
        Gtid gtid = new Gtid(source, master.executed().last(source) + 1);
        Locked locked = lock();
        if (locked != null) {
            commit(gtid, locked);
        }
        report();
        if (pass.isOver()) {
            metrics.set(Metric.COMPARISON_PASSED, System.currentTimeMillis() / 1e3);
            log.info("all tables were compared skipped={}", pass.skipped());
        }
    }

    /** Null if that can't be done now. */
    private Locked lock() throws SQLException {
        Piece piece = null;
        try {
            Pass.Open open = open();
            piece = open.walk().next(rows.keys(open.query()));
            long since = System.nanoTime();
            return new Locked(open.query(), piece, rows.lock(open.query(), piece), since);
        } catch (IllegalArgumentException e) {
            skip(e.getMessage());
        } catch (SQLException e) {
            failed(piece, e);
        }
        return null;
    }

    private Pass.Open open() throws SQLException {
        return pass.open() != null ? pass.open() : pass.open(new PieceQuery(pass.table(), rows.columns(pass.table())));
    }

    private void failed(Piece piece, SQLException e) throws SQLException {
        if (e.getSQLState() == null || e.getSQLState().startsWith("08")) {
            throw e;
        }
        ComparedTable table = pass.table();
        if (piece == null || !isPassing(e)) {
            skip(e.getErrorCode() + " " + e.getMessage());
        } else if (pass.blocked(piece)) {
            givenUp(table, "its rows are locked");
        }
    }

    /** Whether a smaller piece may be had. */
    private boolean isPassing(SQLException e) {
        boolean canShrink = e.getErrorCode() == QUERY_TIMEOUT && pass.open().walk().size() > 1;
        return canShrink || LOCKED.contains(e.getErrorCode());
    }

    /** Dropped or altered since, or of no use in another way. */
    private void skip(String why) {
        log.warn("table is not compared in this pass table={} reason=\"{}\"", pass.table().fullName(), why);
        pass.skip();
    }

    private void givenUp(ComparedTable table, String why) {
        log.debug("piece is not compared table={} reason=\"{}\"", table.fullName(), why);
        metrics.add(Metric.COMPARISON_GIVEN_UP, 1);
    }

    /** What fails here, or comes to light only afterwards, may have let go of the locks: the check does not count then. */
    private void commit(Gtid gtid, Locked locked) throws SQLException {
        checks.offer(gtid, locked.check());
        boolean held = false;
        boolean counts;
        try {
            master.commitNothingAsFirst(gtid);
            rows.release();
            held = true;
        } finally {
            counts = checks.decide(held);
        }
        if (counts) {
            metrics.add(Metric.COMPARISON_ROWS, locked.rows());
        } else {
            givenUp(locked.query().table(), "capture did not wait for it");
        }
        pass.compared(locked.piece(), locked.rows(), System.nanoTime() - locked.sinceNanos());
    }

    private void report() {
        metrics.set(Metric.COMPARISON_PROGRESS, pass.progress());
        metrics.set(Metric.COMPARISON_SKIPPED, pass.skipped());
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        MasterRows current = rows;
        if (current != null) {
            current.abort();
        }
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
