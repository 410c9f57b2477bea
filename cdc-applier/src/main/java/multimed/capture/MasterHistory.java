package multimed.capture;

import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import multimed.binlog.NextTransaction;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogTail.Newest;
import multimed.log.LogTail.State;
import multimed.master.Master;
import multimed.master.MasterAccess;

/**
 * Whether the log is of the master's history. GTIDs alone don't say that: a master that was restored from a copy, or reset, gives them
 * again, to other transactions; also within a boot, whose marks a dump has among its GTIDs. In: the log's state and the master. Out: the answer; and marks on the master, which are transactions
 * without changes. A mark's GTID names the boot of the master that it was committed in, and the time. Must never: mark a boot whose history
 * the log does not continue. One thread.
 */
final class MasterHistory {
    private static final int SET_CHECKS = 50;
    private static final int CHECK_PAUSE_MS = 100;

    private final MasterAccess access;
    private final Master master;
    /** What marks of this boot are counted under; null: the master does not name its boots. */
    private final Gtid.Source boot;
    private final Gtid.Source ahead;

    MasterHistory(MasterAccess access, Master master) throws SQLException {
        this.access = access;
        this.master = master;
        boot = master.boot();
        ahead = master.ahead();
    }

    boolean canMark() {
        return boot != null;
    }

    /** Why the log is of another history; null if it is of this one. */
    String difference(State log) throws Exception {
        GtidSet lacking = lacking(log.set());
        if (!lacking.isEmpty()) {
            return "the master lacks " + lacking;
        }
        GtidSet unlogged = master.executed().minus(log.set());
        if (canMark() && unlogged.hasMarksAheadBeside(ahead)) {
            return "the master booted again while the log was away, which lacks " + unlogged;
        }
        Newest newest = log.newest();
        if (newest == null) {
            return canMark() ? "the log has no transaction to compare" : null;
        }
        GtidSet purged = master.purged();
        if (purged.contains(newest.gtid())) {
            return canMark() ? "the master's binlog has " + newest.gtid() + " no more, it can't be compared" : null;
        }
        return NextTransaction.is(access, newest, log.set().union(purged))
                ? null
                : newest.gtid() + " is another transaction in the master's binlog";
    }

    /** A transaction is sent to replicas an instant before the master's own set has it, so this is tried for 5 s. */
    private GtidSet lacking(GtidSet set) throws SQLException, InterruptedException {
        GtidSet lacking = set.minus(master.executed());
        for (int i = 1; i < SET_CHECKS && !lacking.isEmpty(); i++) {
            Thread.sleep(CHECK_PAUSE_MS);
            lacking = set.minus(master.executed());
        }
        return lacking;
    }

    /** Says on the master that the log continues the history of this boot, unless that is said there. */
    void confirm() throws SQLException {
        if (canMark() && !master.executed().has(boot)) {
            mark();
        }
    }

    /**
     * Satellites get ahead of the log now. If the master is restored meanwhile, what they have may never come to the log, and its GTIDs may
     * come to stand for other transactions. A copy that has this mark is known by it ({@link #difference}). If it has not, satellites that do
     * are. No boot's mark, which the gate would ask of satellites that wait for the log.
     */
    void markAhead() throws SQLException {
        // This run's connection may have been idle for longer than the master keeps one.
        try (Master now = new Master(access)) {
            mark(now, ahead);
        }
    }

    /** Commits one more mark; returns its GTID as a set, which is empty if the master does not name its boots. */
    GtidSet mark() throws SQLException {
        return mark(master, boot);
    }

    private static GtidSet mark(Master master, Gtid.Source source) throws SQLException {
        if (source == null) {
            return GtidSet.EMPTY;
        }
        Gtid gtid = new Gtid(source, ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
        master.commitNothing(gtid);
        return GtidSet.EMPTY.add(gtid);
    }
}
