package multimed.capture.debezium;

import java.time.Duration;
import java.util.List;
import multimed.binlog.BinlogEvent;
import multimed.binlog.TableMap;
import multimed.capture.debezium.RowsBuilder.Differs;
import multimed.gtid.Gtid;
import multimed.log.proto.Rows;
import multimed.master.MasterAccess;
import multimed.process.Metric;
import multimed.process.Metrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a Debezium running for capture: starts a new one, with growing pauses, when the old one failed or was spoiled by a DDL. In:
 * how far capture is, and the binlog's transactions. Out: decoded rows. Used by capture's thread only.
 */
public final class RowSource implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(RowSource.class);
    private static final long FIRST_PAUSE_MS = 500;
    private static final long LONGEST_PAUSE_MS = 30_000;
    private static final long GOOD_RUN_MS = 60_000;

    private final MasterAccess access;
    private final ColumnKinds kinds;
    private final Metrics metrics;
    private DebeziumDecoder decoder;
    /** The master sends a statement before it counts as executed there: a Debezium that starts now may or may not find it in the schemas. */
    private Gtid lastStatement;
    private boolean caughtUp;
    private long startedAt;
    private long pauseMs = FIRST_PAUSE_MS;
    private long nextStartAt;

    public RowSource(MasterAccess access, ColumnKinds kinds, Metrics metrics) {
        this.kinds = kinds;
        this.access = access;
        this.metrics = metrics;
    }

    /**
     * Capture has caught up with the master. Debezium is started only then: it reads the schemas of that moment. After a restart,
     * older events go out raw, so that a row too large to be decoded in memory does not end capture again.
     */
    public void caughtUp() {
        caughtUp = true;
        tick();
    }

    /** Capture is behind the master. Debezium decodes a fraction of what can be passed on raw, so it is only told of statements now. */
    public void behind() {
        caughtUp = false;
    }

    /** The transaction's rows in parts that fit into records; null with the reason in one word if Debezium can't confirm them. */
    public record Answer(List<Rows> rows, String reason) {}

    /**
     * Debezium's rows of the transaction, as the binlog's table maps let expect them.
     *
     * @param events all of the transaction
     * @param changes the table of each change, in order
     */
    public Answer rows(Gtid gtid, List<BinlogEvent> events, List<TableMap> changes) {
        tick();
        if (!caughtUp) {
            return new Answer(null, "catching_up");
        }
        if (decoder == null) {
            return new Answer(null, "debezium_down");
        }
        long began = System.nanoTime();
        DebeziumDecoder.Answer answer = decoder.decode(gtid, events);
        metrics.observe(Metric.CAPTURE_DECODE, (System.nanoTime() - began) / 1e9);
        if (answer.rows() == null) {
            return new Answer(null, answer.reason());
        }
        try {
            return new Answer(RowsBuilder.build(changes, answer.rows(), kinds), "");
        } catch (Differs e) {
            log.debug("debezium differs gtid={} what=\"{}\"", gtid, e.getMessage());
            return new Answer(null, "debezium_differs");
        }
    }

    /** A statement passed by in the binlog; it may be a DDL. */
    public void statement(Gtid gtid, List<BinlogEvent> events) {
        lastStatement = gtid;
        if (decoder != null) {
            decoder.statement(gtid, events);
        }
        tick();
    }

    /** The binlog goes on in another file. */
    public void rotated(BinlogEvent rotate) {
        if (decoder != null) {
            decoder.rotated(rotate);
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
        } else if (decoder.spoiled()) {
            restart("ddl");
        }
    }

    private void start() {
        startedAt = now();
        decoder = new DebeziumDecoder(access, lastStatement);
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
