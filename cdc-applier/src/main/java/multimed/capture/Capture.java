package multimed.capture;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import multimed.capture.comparison.Pass;
import multimed.capture.tables.TableStream;
import multimed.live.LiveServer;
import multimed.live.Turns;
import multimed.log.FatalException;
import multimed.log.LogDisk;
import multimed.process.Address;
import multimed.process.AdminServer;
import multimed.process.ExitStatus;
import multimed.process.Metric;
import multimed.process.Metrics;
import multimed.process.Readiness;
import org.apache.kafka.common.errors.AuthenticationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Entry point of {@code cdc-applier capture}. Runs epoch after epoch: any error but a fatal one ends the epoch, and the next starts
 * from the log's tail after a pause. Threads: main (binlog to log), Kafka's sender, gtid-gaps, settings-watch, comparison, admin,
 * log-disk, table-stream and a table-subscriber for each of its subscribers, live and a live-reader for each applier that follows.
 */
public final class Capture {
    private static final Logger log = LoggerFactory.getLogger(Capture.class);
    private static final long FIRST_PAUSE_MS = 200;
    private static final long LONGEST_PAUSE_MS = 5000;
    private static final long GOOD_RUN_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final int STOP_SECONDS = 10;
    private static final long LIVE_BYTES = 4L * 1024 * 1024;

    private final CaptureConfig config;
    private final Metrics metrics = new Metrics();
    private final Readiness readiness = new Readiness("starting");
    private final CountDownLatch stop = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final PreparedTransactions prepared = new PreparedTransactions();
    private final Pass pass;
    private volatile CaptureRun current;

    private Capture(CaptureConfig config) {
        this.config = config;
        pass = Pass.every(config.compareHours());
        metrics.set(Metric.CAPTURE_RETENTION, TimeUnit.HOURS.toSeconds(config.retentionHours()));
        for (Metric rare : List.of(Metric.CAPTURE_BROKEN_LOG, Metric.CAPTURE_REBUILD, Metric.CAPTURE_RECONNECTS, Metric.COMPARISON_ROWS,
                Metric.COMPARISON_GIVEN_UP)) {
            metrics.add(rare, 0);
        }
    }

    /** Runs until stopped; returns the exit status. */
    public static int run(Map<String, String> env) {
        return new Capture(CaptureConfig.from(env)).serve();
    }

    private int serve() {
        try (AdminServer admin = new AdminServer(config.listen(), readiness, metrics);
                LogDisk disk = new LogDisk(config.log(), metrics)) {
            Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "stop"));
            disk.start();
            log.info("capture started master={} kafka={} topic={} status_port={}",
                    config.master(), config.log(), config.topic(), admin.port());
            warnOfTestSettings();
            return withTableStream();
        } catch (IOException e) {
            return cannotListen(config.listen(), e);
        } finally {
            stopped.countDown();
        }
    }

    private int withTableStream() {
        try (TableStream tableStream = new TableStream(config.tableStreamListen(), config.master(), metrics)) {
            return withLive(tableStream);
        } catch (IOException e) {
            return cannotListen(config.tableStreamListen(), e);
        }
    }

    private int withLive(TableStream tableStream) {
        var turns = new Turns(Turns.FIRST, Turns.LONGEST);
        try (LiveServer live = new LiveServer(config.liveListen(), config.readersPassword(), LIVE_BYTES, metrics, turns)) {
            return epochs(tableStream, live);
        } catch (IOException e) {
            return cannotListen(config.liveListen(), e);
        }
    }

    private static int cannotListen(Address address, IOException error) {
        log.error("can't listen address={} error=\"{}\"", address, error.getMessage());
        return ExitStatus.CAPTURE_CANNOT_LISTEN;
    }

    private void warnOfTestSettings() {
        if (config.testFault().kind() != TestFault.Kind.NONE) {
            log.warn("TEST-ONLY SETTING {}: the log or the table stream is wrong on purpose", config.testFault());
        }
    }

    private int epochs(TableStream tableStream, LiveServer live) {
        long pause = FIRST_PAUSE_MS;
        while (stop.getCount() > 0) {
            long startedAt = System.nanoTime();
            try (CaptureRun run = new CaptureRun(config, metrics, readiness, prepared, pass, tableStream, live)) {
                current = run;
                if (stop.getCount() > 0) {
                    run.run();
                }
            } catch (FatalException e) {
                log.error("capture ends reason=\"{}\"", e.getMessage());
                return ExitStatus.FATAL;
            } catch (Exception e) {
                AuthenticationException refusal = refusal(e);
                if (refusal != null) {
                    log.error("capture ends reason=\"{}\"", config.log().refused(refusal));
                    return ExitStatus.REFUSED;
                }
                pause = System.nanoTime() - startedAt > GOOD_RUN_NANOS ? FIRST_PAUSE_MS : Math.min(2 * pause, LONGEST_PAUSE_MS);
                failed(e, pause);
            }
            waitForStop(pause);
        }
        log.info("capture stopped");
        return 0;
    }

    /** The broker's refusal that is behind an error, or null. A new process reads the password anew. */
    private static AuthenticationException refusal(Throwable e) {
        return e == null ? null : e instanceof AuthenticationException refusal ? refusal : refusal(e.getCause());
    }

    private void failed(Exception e, long pause) {
        if (stop.getCount() == 0) {
            return;
        }
        metrics.add(Metric.CAPTURE_RECONNECTS, 1);
        String what = e.toString().lines().findFirst().orElse("");
        if (readiness.notReady("retrying: " + what)) {
            log.warn("capture interrupted pause_ms={} error=\"{}\"", pause, what);
        }
        log.debug("cause", e);
    }

    private void waitForStop(long millis) {
        try {
            stop.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            stop.countDown();
        }
    }

    /** On SIGTERM: what was sent to the log is waited for, under a deadline. */
    private void stop() {
        stop.countDown();
        CaptureRun run = current;
        if (run != null) {
            run.close();
        }
        try {
            stopped.await(STOP_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
