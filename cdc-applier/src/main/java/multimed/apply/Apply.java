package multimed.apply;

import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import multimed.process.AdminServer;
import multimed.process.ExitStatus;
import multimed.process.Metrics;
import multimed.process.Readiness;
import org.apache.kafka.common.errors.AuthenticationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Entry point and wiring of {@code cdc-applier apply}. In: the environment. Out: a satellite that follows the log.
 *
 * <p>Threads: {@code main} reads the log and writes what must go alone ({@link ApplyLoop}); {@code pipeline} talks to the sessions
 * that write side by side ({@link Pipeline}); {@code watch} ends readers that block them ({@link BlockerWatch}); {@code admin}
 * (two) answer /live /ready /metrics; {@code stop} is the shutdown hook. Kafka's client and Connector/J add their own.
 */
public final class Apply {
    private static final Logger LOG = LoggerFactory.getLogger(Apply.class);
    private static final long STOP_DEADLINE_S = 10;

    private Apply() {}

    /** Runs until stopped; returns the exit status. */
    public static int run(Map<String, String> env) {
        ApplyConfig config = ApplyConfig.from(env);
        LOG.info("event=start {}", config);
        warnOfTestSettings(config);
        Metrics metrics = new Metrics();
        Readiness readiness = new Readiness("starting");
        try (AdminServer admin = new AdminServer(config.statusListen(), readiness, metrics)) {
            apply(config, metrics, readiness);
            return 0;
        } catch (IOException e) {
            LOG.error("event=cannot-listen address={} error=\"{}\"", config.statusListen(), e.getMessage());
            return ExitStatus.APPLY_CANNOT_LISTEN;
        } catch (AuthenticationException e) {
            LOG.error("event=log-refuses-account error=\"{}\"", config.log().refused(e));
            return ExitStatus.REFUSED;
        }
    }

    private static void warnOfTestSettings(ApplyConfig config) {
        if (config.testDelayMs() > 0 || config.testSkipRowEvery() > 0) {
            LOG.warn("event=TEST-ONLY-SETTINGS delay_ms={} skip_row_every={} this satellite is made slow or wrong on purpose",
                    config.testDelayMs(), config.testSkipRowEvery());
        }
    }

    private static void apply(ApplyConfig config, Metrics metrics, Readiness readiness) {
        SatelliteConnector connector = new SatelliteConnector(config.satellite(), config.socket(), config.user(), config.password());
        BlockerWatch watch = new BlockerWatch(connector, config.ddlReaderWaitMs());
        ApplyLoop loop = new ApplyLoop(config, connector, () -> new ChangeLog(config.log(), config.logTopic(), config.live()),
                watch, new ApplyMetrics(metrics, Apply::nowMicros), readiness);
        CountDownLatch ended = new CountDownLatch(1);
        Thread hook = new Thread(() -> stop(loop, ended), "stop");
        Runtime.getRuntime().addShutdownHook(hook);
        startDaemon(watch);
        try {
            loop.run();
        } finally {
            watch.stop();
            ended.countDown();
        }
    }

    private static void startDaemon(BlockerWatch watch) {
        Thread thread = new Thread(watch, "watch");
        thread.setDaemon(true);
        thread.start();
    }

    /** SIGTERM: the transaction in hand is finished, unless that takes too long; it would then be rolled back and come again. */
    private static void stop(ApplyLoop loop, CountDownLatch ended) {
        loop.stop();
        try {
            boolean clean = ended.await(STOP_DEADLINE_S, TimeUnit.SECONDS);
            LOG.info("event=stop clean={}", clean);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long nowMicros() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }
}
