package multimed.apply;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import multimed.gtid.Gtid;
import multimed.process.Readiness;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one satellite following the log, whatever fails, until stopped. Each turn opens a session, which states where the
 * satellite is, and follows the log from there; whatever goes wrong ends the session, and the next turn starts from what
 * the server then says. Nothing about the position is remembered here.
 *
 * <p>What ends a turn and what follows:
 * <ul>
 * <li>session lost, log out of reach: after a short wait, the next turn;
 * <li>the log's broker refuses the account: the process ends;
 * <li>a failure that can pass by itself (deadlock, lock wait): the same transaction again, as often as it takes;
 * <li>any other failure: the same transaction again, once, one statement at a time and without the satellite's own indexes; if it fails
 * again it is divergence;
 * <li>divergence: error, not ready, the satellite is asked to rebuild itself, and the next incarnation is waited for.
 * </ul>
 *
 * <p>Runs on the thread that calls {@link #run}, which alone submits; {@link #stop} is for any other.
 */
final class ApplyLoop {
    static final Logger LOG = LoggerFactory.getLogger(ApplyLoop.class);
    private static final long FIRST_WAIT_MS = 50;
    private static final long LONGEST_WAIT_MS = 2000;
    private static final long LONGEST_REBUILD_WAIT_MS = 60_000;

    private final ApplyConfig config;
    private final SatelliteConnector connector;
    private final Supplier<ChangeLog> logs;
    private final BlockerWatch watch;
    private final ApplyMetrics metrics;
    private final Readiness readiness;
    private final RowFilter filter;
    private final RebuildTurn rebuildTurn;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private volatile ChangeLog log;

    private volatile Gtid suspect;
    private volatile int failedTurns;
    private volatile int rebuilds;
    private String unfitIncarnation;

    ApplyLoop(ApplyConfig config, SatelliteConnector connector, Supplier<ChangeLog> logs, BlockerWatch watch,
            ApplyMetrics metrics, Readiness readiness) {
        this.config = config;
        this.connector = connector;
        this.logs = logs;
        this.watch = watch;
        this.metrics = metrics;
        this.readiness = readiness;
        this.filter = new RowFilter(config.testSkipRowEvery());
        this.rebuildTurn = new RebuildTurn(config);
    }

    /** Asks the loop to end after the transaction in hand. */
    void stop() {
        stopped.countDown();
        ChangeLog current = log;
        if (current != null) {
            current.wakeUp();
        }
    }

    void run() {
        try (ChangeLog opened = logs.get()) {
            log = opened;
            while (!isStopped()) {
                turn();
            }
        } finally {
            rebuildTurn.end();
        }
    }

    private boolean isStopped() {
        return stopped.getCount() == 0;
    }

    private void turn() {
        try (SatelliteSession session = connector.open()) {
            if (session == null) {
                notReady("another applier owns this satellite");
                return;
            }
            watch.watch(List.of(session));
            useIfFit(session);
        } catch (SQLException e) {
            lost("satellite", e);
        } catch (OffsetOutOfRangeException e) {
            LOG.warn("event=log-moved error=\"{}\" next=find-the-offset-again", e.getMessage());
            pause();
        } catch (AuthenticationException e) {
            // Trying again with the same password is no use; a new process reads it anew.
            throw e;
        } catch (KafkaException e) {
            lost("log", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            stop();
        } finally {
            watch.watch(List.of());
        }
    }

    private void lost(String what, Exception e) {
        if (isStopped()) {
            return;
        }
        notReady(what + " out of reach: " + firstLine(e));
        pause();
    }

    private void useIfFit(SatelliteSession session) throws SQLException, InterruptedException {
        String incarnation = session.identity().incarnation();
        if (incarnation.equals(unfitIncarnation)) {
            LOG.warn("event=rebuild-awaited incarnation={} next=shutdown-again", incarnation);
            session.execute("SHUTDOWN");
            pause();
            return;
        }
        try {
            follow(session);
        } catch (Divergence e) {
            rebuild(session, e);
        }
    }

    private void follow(SatelliteSession session) throws SQLException, InterruptedException {
        notReady("looking for the satellite's place in the log");
        if (suspect != null) {
            OwnIndexes.dropAll(session);
        }
        try (Follower follower = new Follower(session, openParallel(session), log, config, filter, metrics, suspect, this::progress,
                connector::waitsForLock)) {
            follow(session, follower);
        }
    }

    private List<PipelineSession> openParallel(SatelliteSession owner) throws SQLException {
        List<PipelineSession> parallel = new ArrayList<>();
        try {
            while (config.workers() > 1 && parallel.size() < config.workers()) {
                parallel.add(connector.openParallel(owner));
            }
        } catch (SQLException e) {
            parallel.forEach(PipelineSession::abort);
            throw e;
        }
        List<Watched> all = new ArrayList<>(parallel);
        all.add(owner);
        watch.watch(List.copyOf(all));
        return parallel;
    }

    private void follow(SatelliteSession session, Follower follower) throws SQLException, InterruptedException {
        try {
            long offset = follower.start();
            LOG.info("event=applying incarnation={} offset={} gtid_executed={}", session.identity().incarnation(), offset,
                    session.identity().executed());
            readiness.ready();
            while (!isStopped()) {
                follower.step(Duration.ofSeconds(2));
                if (follower.caughtUp()) {
                    rebuildTurn.end();
                }
            }
            follower.finish();
        } catch (ApplyFailure e) {
            failed(session, follower.inHand(), e);
        }
    }

    /** A transaction was committed. */
    private void progress(Gtid committed) {
        if (committed.equals(suspect)) {
            suspect = null;
        }
        failedTurns = 0;
        rebuilds = 0;
    }

    private void failed(SatelliteSession session, Gtid gtid, ApplyFailure e) {
        metrics.retried(e.retry());
        LOG.warn("event=transaction-failed gtid={} {} next={}", gtid, e.getMessage(), e.retryable() ? "again" : "again-step-by-step");
        if (!e.retryable() && gtid != null && gtid.equals(suspect)) {
            throw Divergence.at(gtid, e.reason(), e.getMessage());
        }
        suspect = e.retryable() ? suspect : gtid;
        if (e.outOfMemory()) {
            pause();
        }
    }

    private void rebuild(SatelliteSession session, Divergence e) throws SQLException, InterruptedException {
        LOG.error("event=divergence reason={} {} required={}", ApplyMetrics.label(e.reason()), e.getMessage(), e.required());
        metrics.rebuild(e.reason());
        if (e.isOnlyOld(session.identity().executed())) {
            notReady("waiting for its turn to clone again");
            rebuildTurn.await(session::executed, stopped);
            if (isStopped()) {
                return;
            }
        }
        notReady("rebuild asked for: " + ApplyMetrics.label(e.reason()));
        unfitIncarnation = session.identity().incarnation();
        suspect = null;
        RebuildRequest.send(session, config.rebuildFile(), e.required());
        if (++rebuilds > 2) {
            sleep(Math.min(LONGEST_REBUILD_WAIT_MS, 1000L << Math.min(rebuilds, 6)));
        }
    }

    private void notReady(String why) {
        if (readiness.notReady(why)) {
            LOG.info("event=not-ready reason=\"{}\"", why);
        }
    }

    private void pause() {
        sleep(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS << Math.min(failedTurns++, 10)));
    }

    private void sleep(long millis) {
        try {
            stopped.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            stop();
        }
    }

    private static String firstLine(Exception e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("").strip();
    }
}
