package multimed.capture.debezium;

import java.util.List;
import multimed.binlog.BinlogEvent;
import multimed.log.proto.Rows;
import multimed.process.Metric;
import multimed.process.Metrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: how far capture is, and the binlog's transactions. Out: rows decoded by Debezium, or why there are none. What it can't decode costs
 * the transaction in hand its rows, and no other. Used by capture's thread only.
 */
public final class RowSource {
    private static final Logger log = LoggerFactory.getLogger(RowSource.class);

    private final RowDecoder decoder;
    private final Metrics metrics;
    private boolean caughtUp;

    public RowSource(ColumnKinds kinds, Metrics metrics) {
        this.decoder = new RowDecoder(kinds);
        this.metrics = metrics;
    }

    /**
     * Capture has caught up with the master. After a restart, older events go out raw, so that a row too large to be decoded in memory does
     * not end capture again.
     */
    public void caughtUp() {
        caughtUp = true;
    }

    /** Capture is behind the master. Debezium decodes a fraction of what can be passed on raw. */
    public void behind() {
        caughtUp = false;
    }

    /** The transaction's rows in parts that fit into records; null with the reason in one word if it must go raw. */
    public record Answer(List<Rows> rows, String reason) {}

    /**
     * @param events all of the transaction
     * @param changes how many rows it changes
     */
    public Answer rows(List<BinlogEvent> events, int changes) {
        if (!caughtUp) {
            return new Answer(null, "catching_up");
        }
        long began = System.nanoTime();
        try {
            List<Rows> rows = decoder.decode(events);
            metrics.observe(Metric.CAPTURE_DECODE, (System.nanoTime() - began) / 1e9);
            long decoded = rows.stream().mapToLong(Rows::getChangesCount).sum();
            if (decoded != changes) {
                throw new Differs(decoded + " rows decoded, " + changes + " in the binlog");
            }
            return new Answer(rows, "");
        } catch (Differs e) {
            log.debug("debezium differs what=\"{}\"", e.getMessage());
            return new Answer(null, "debezium_differs");
        }
    }
}
