package multimed.capture.debezium;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import multimed.binlog.TableMap;
import multimed.capture.debezium.RowsBuilder.Differs;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.proto.Rows;
import multimed.master.MasterAccess;
import multimed.process.Metric;
import multimed.process.Metrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a Debezium engine running for capture: starts a new one, with growing pauses, when the old one failed, was late, was
 * spoiled by a DDL, or was stopped because capture fell behind. In: how far capture is. Out: decoded rows. Used by capture's thread
 * only.
 */
public final class RowSource implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(RowSource.class);
    private static final long FIRST_PAUSE_MS = 500;
    private static final long LONGEST_PAUSE_MS = 30_000;
    private static final long GOOD_RUN_MS = 60_000;

    private final MasterAccess access;
    private final long waitMs;
    private final ColumnKinds kinds;
    private final Metrics metrics;
    private final List<Gtid> statementsSinceStart = new ArrayList<>();
    private DebeziumDecoder decoder;
    private boolean windowChecked;
    private boolean caughtUp;
    private long startedAt;
    private long pauseMs = FIRST_PAUSE_MS;
    private long nextStartAt;

    /** @param waitMs how long a transaction waits for Debezium */
    public RowSource(MasterAccess access, long waitMs, ColumnKinds kinds, Metrics metrics) {
        this.kinds = kinds;
        this.access = access;
        this.waitMs = waitMs;
        this.metrics = metrics;
    }

    /**
     * Capture has caught up with the master. Only then is Debezium of use: it starts from the master's current position. After a
     * restart, older events go through the binlog reader alone, so that a row too large for both of them in memory does not end
     * capture again.
     */
    public void caughtUp() {
        caughtUp = true;
        tick();
    }

    /**
     * Capture is behind the master. Debezium decodes a fraction of what the binlog reader can pass on: without it capture catches
     * up several times as fast, and Debezium then starts from the current position. Growing pauses limit restarts under overload.
     */
    public void behind() {
        caughtUp = false;
        if (decoder != null) {
            restart("behind");
        }
    }

    /** The transaction's rows in parts that fit into records; null with the reason in one word if Debezium can't confirm them. */
    public record Answer(List<Rows> rows, String reason) {}

    /**
     * Debezium's rows of the transaction, as the binlog's table maps let expect them.
     *
     * @param changes the table of each change, in order
     */
    public Answer rows(Gtid wanted, GtidSet done, List<TableMap> changes) throws InterruptedException {
        DebeziumDecoder.Answer answer = take(wanted, changes.size(), done);
        if (answer.transaction() == null) {
            return new Answer(null, answer.reason());
        }
        try {
            return new Answer(RowsBuilder.build(changes, answer.transaction().rows(), kinds), "");
        } catch (Differs e) {
            log.debug("debezium differs gtid={} what=\"{}\"", wanted, e.getMessage());
            return new Answer(null, "debezium_differs");
        }
    }

    private DebeziumDecoder.Answer take(Gtid wanted, int rows, GtidSet done) throws InterruptedException {
        tick();
        if (decoder == null && !caughtUp) {
            return DebeziumDecoder.Answer.without("catching_up");
        }
        if (decoder == null) {
            return DebeziumDecoder.Answer.without("debezium_down");
        }
        long waitsSince = System.nanoTime();
        DebeziumDecoder.Answer answer = decoder.take(wanted, rows, done::contains);
        metrics.observe(Metric.CAPTURE_DECODE_WAIT, (System.nanoTime() - waitsSince) / 1e9);
        if (answer.reason().equals("debezium_silent") || answer.reason().equals("debezium_late")) {
            restart(answer.reason());
        }
        return answer;
    }

    /** A statement passed by in the binlog; it may be a DDL. */
    public void statement(Gtid gtid) {
        if (decoder == null) {
            return;
        }
        if (decoder.window() == null) {
            statementsSinceStart.add(gtid);
        } else if (decoder.window().spoiledBy(gtid)) {
            restart("ddl");
        }
    }

    /** To be called now and then. */
    void tick() {
        if (decoder == null) {
            if (caughtUp && now() >= nextStartAt) {
                start();
            }
        } else if (decoder.failure() != null) {
            log.warn("debezium stopped reason=\"{}\"", decoder.failure());
            restart("failed");
        } else if (!windowChecked && decoder.window() != null) {
            windowChecked = true;
            if (statementsSinceStart.stream().anyMatch(decoder.window()::spoiledBy)) {
                restart("ddl");
            }
            statementsSinceStart.clear();
        }
    }

    private void start() {
        statementsSinceStart.clear();
        windowChecked = false;
        startedAt = now();
        decoder = new DebeziumDecoder(access, waitMs);
    }

    private void restart(String reason) {
        metrics.add(Metric.CAPTURE_DEBEZIUM_RESTARTS, reason, 1);
        pauseMs = now() - startedAt > GOOD_RUN_MS ? FIRST_PAUSE_MS : Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        nextStartAt = now() + pauseMs;
        log.warn("restarting debezium reason={} pause_ms={}", reason, pauseMs);
        decoder.close();
        decoder = null;
    }

    private static long now() {
        return Duration.ofNanos(System.nanoTime()).toMillis();
    }

    @Override
    public void close() {
        if (decoder != null) {
            decoder.close();
            decoder = null;
        }
    }
}
