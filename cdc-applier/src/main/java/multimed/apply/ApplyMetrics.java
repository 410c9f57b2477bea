package multimed.apply;

import java.util.Locale;
import java.util.function.LongSupplier;
import multimed.gtid.GtidSet;
import multimed.log.LogEvent.Part;
import multimed.process.Metric;
import multimed.process.Metrics;

/** Turns what the apply loop does into metrics. No decisions here. */
final class ApplyMetrics {
    private final Metrics metrics;
    private final LongSupplier clockMicros;
    private long executed;

    /** @param clockMicros microseconds since 1970, the clock that the master's commit times are compared with */
    ApplyMetrics(Metrics metrics, LongSupplier clockMicros) {
        this.metrics = metrics;
        this.clockMicros = clockMicros;
        metrics.set(Metric.APPLY_LAG, 0);
        metrics.add(Metric.APPLY_CHECKS, "equal", 0);
        for (Divergence.Reason reason : Divergence.Reason.values()) {
            metrics.add(Metric.APPLY_REBUILDS, label(reason), 0);
        }
    }

    void part(Part part) {
        metrics.add(Metric.APPLY_RECORDS, kind(part), 1);
        metrics.add(Metric.APPLY_ROWS, part.record().getRows().getChangesCount());
    }

    /** Calls come one at a time, in the order of the commits. */
    void committed(Part last) {
        metrics.set(Metric.APPLY_POSITION, ++executed);
        metrics.add(Metric.APPLY_TRANSACTIONS, kind(last), 1);
        metrics.observe(Metric.APPLY_COMMIT_TO_VISIBLE, age(last));
        if (last.offset() != ChangeLog.LIVE_OFFSET) {
            metrics.set(Metric.APPLY_OFFSET, last.offset() + 1);
        }
    }

    /** A packet of statements went out. */
    void sent() {
        metrics.add(Metric.APPLY_BATCHES, 1);
    }

    void skipped() {
        metrics.add(Metric.APPLY_SKIPPED, 1);
    }

    /** The oldest transaction that is at hand and not yet visible; null if there is none. */
    void behind(Part oldest) {
        metrics.set(Metric.APPLY_LAG, oldest == null ? 0 : age(oldest));
    }

    /** Where a session begins. */
    void live(boolean live) {
        metrics.set(Metric.APPLY_LIVE, live ? 1 : 0);
    }

    void position(GtidSet executed) {
        this.executed = executed.count();
        metrics.set(Metric.APPLY_POSITION, this.executed);
    }

    /** A transaction had to wait for an earlier one that it may conflict with, while a session was free. */
    void conflict() {
        metrics.add(Metric.APPLY_CONFLICTS, 1);
    }

    void retried(String reason) {
        metrics.add(Metric.APPLY_RETRIES, reason, 1);
    }

    /** A piece of a table was to be compared. @param equal false: it could not be */
    void checked(boolean equal) {
        metrics.add(Metric.APPLY_CHECKS, equal ? "equal" : "failed", 1);
    }

    void rebuild(Divergence.Reason reason) {
        metrics.add(Metric.APPLY_REBUILDS, label(reason), 1);
    }

    private double age(Part part) {
        return (clockMicros.getAsLong() - part.record().getCommitTimeUs()) / 1e6;
    }

    private static String kind(Part part) {
        return part.record().getBodyCase().name().toLowerCase(Locale.ROOT);
    }

    static String label(Divergence.Reason reason) {
        return reason.name().toLowerCase(Locale.ROOT);
    }
}
