package multimed.capture;

import java.sql.SQLException;
import java.time.Duration;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.FatalException;
import multimed.log.LogTail;
import multimed.log.LogTopic;
import multimed.log.LogWriter;
import multimed.process.Metric;
import multimed.process.Metrics;
import multimed.process.Readiness;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows the set that the log contains, repeats the epoch's start so that the set can be read from the log's tail, notices a newer capture and
 * a log that is away, and accounts for GTIDs that the master has without a binlog event. Used by capture's thread only, between transactions.
 */
final class EpochKeeper {
    private static final Logger log = LoggerFactory.getLogger(EpochKeeper.class);
    private static final int REPEAT_TRANSACTIONS = 10_000;
    private static final long READINESS_NANOS = Duration.ofSeconds(1).toNanos();
    private static final long REPEAT_NANOS = Duration.ofHours(1).toNanos();
    private static final Duration STALLED = Duration.ofSeconds(5);

    private final LogWriter writer;
    private final LogTail tail;
    private final UnloggedGtids gaps;
    private final MasterHistory history;
    private final long number;
    private final String serverUuid;
    private final Metrics metrics;
    private final Readiness readiness;
    private GtidSet set;
    /** The master has a mark that satellites get ahead of the log. */
    private boolean markedAhead;
    private int sinceRepeat;
    private long repeatedAt = System.nanoTime();
    private long judgedAt = System.nanoTime() - 2 * READINESS_NANOS;

    EpochKeeper(LogWriter writer, LogTail tail, UnloggedGtids gaps, MasterHistory history, long number, GtidSet set, String serverUuid,
            Metrics metrics, Readiness readiness) {
        this.writer = writer;
        this.tail = tail;
        this.gaps = gaps;
        this.history = history;
        this.number = number;
        this.set = set;
        this.serverUuid = serverUuid;
        this.metrics = metrics;
        this.readiness = readiness;
    }

    GtidSet set() {
        return set;
    }

    void written(Gtid gtid) {
        set = set.add(gtid);
        metrics.set(Metric.CAPTURE_POSITION, set.count());
        // Of a log with a bound in bytes only the newest segments may be left.
        if (++sinceRepeat >= REPEAT_TRANSACTIONS || writer.bytesSinceEpochStart() >= LogTopic.SEGMENT_BYTES / 2) {
            repeat();
        }
        checkIntruder();
        // A busy master sends no heartbeats, so readiness must not wait for one.
        if (System.nanoTime() - judgedAt > READINESS_NANOS) {
            judgeReadiness();
        }
    }

    /** The binlog has been written to the log up to here. Returns whether the set has grown by transactions without binlog events. */
    boolean passed(String file, long position) throws Exception {
        GtidSet without = gaps.withoutEvent(file, position, set);
        if (!without.isEmpty()) {
            log.warn("transactions without binlog events, satellites that lack them clone again gtids={}", without);
            set = set.union(without);
            repeat();
        }
        return !without.isEmpty();
    }

    /** Once a second when nothing happens. */
    void tick() {
        writer.checkAccount();
        checkIntruder();
        if (System.nanoTime() - repeatedAt > REPEAT_NANOS) {
            repeat();
        }
        judgeReadiness();
    }

    private void judgeReadiness() {
        judgedAt = System.nanoTime();
        if (writer.stalled().compareTo(STALLED) > 0) {
            readiness.notReady("the log does not acknowledge");
            markedAhead = markedAhead || markAhead();
        } else {
            readiness.ready();
            markedAhead = false;
        }
    }

    /** Whether the master has the mark; else it is tried again in a second. */
    private boolean markAhead() {
        try {
            history.markAhead();
            return true;
        } catch (SQLException e) {
            log.warn("no mark that satellites get ahead of the log error=\"{}\"", e.getMessage());
            return false;
        }
    }

    void repeat() {
        writer.repeatEpochStart(set, serverUuid);
        sinceRepeat = 0;
        repeatedAt = System.nanoTime();
    }

    private void checkIntruder() {
        LogWriter.Range range = writer.intruder();
        if (range == null) {
            return;
        }
        long highest = tail.highestEpoch(range.from(), range.end());
        if (highest >= number) {
            throw new FatalException("replaced by another capture with epoch " + highest + ", this one has " + number);
        }
        log.warn("records of a replaced capture in the log, readers ignore them epoch={}", highest);
    }
}
