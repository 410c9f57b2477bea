package multimed.capture;

import java.time.Duration;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.FatalException;
import multimed.log.LogTail;
import multimed.log.LogWriter;
import multimed.process.Metric;
import multimed.process.Metrics;
import multimed.process.Readiness;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows the set that the log contains, repeats the epoch's start so that the set can be read from the log's tail, notices a newer capture, and
 * accounts for GTIDs that the master has without a binlog event. Used by capture's thread only, between transactions.
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
    private final long number;
    private final String serverUuid;
    private final Metrics metrics;
    private final Readiness readiness;
    private GtidSet set;
    private int sinceRepeat;
    private long repeatedAt = System.nanoTime();
    private long judgedAt = System.nanoTime() - 2 * READINESS_NANOS;

    EpochKeeper(LogWriter writer, LogTail tail, UnloggedGtids gaps, long number, GtidSet set, String serverUuid, Metrics metrics,
            Readiness readiness) {
        this.writer = writer;
        this.tail = tail;
        this.gaps = gaps;
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
        if (++sinceRepeat >= REPEAT_TRANSACTIONS) {
            repeat();
        }
        checkIntruder();
        // A busy master sends no heartbeats, so readiness must not wait for one.
        if (System.nanoTime() - judgedAt > READINESS_NANOS) {
            judgeReadiness();
        }
    }

    /** The binlog has been written to the log up to here. Returns whether the set has grown by transactions without binlog events. */
    boolean passed(String file, long position) {
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
        } else {
            readiness.ready();
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
