package multimed.apply;

import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;

/**
 * In: the satellite's GTID set when the session began, then the log's events from any offset at or before it. Out: which
 * transactions to write. Pure. Must never: let a transaction through whose predecessor the satellite lacks.
 *
 * <p>A satellite contains a prefix of the master's history. It may be ahead of the log (cloned from the master a moment
 * ago): what it has is passed over. Once something was written, it contains exactly the log up to there. A capture that
 * replaces one that is still writing starts with what it knew, and starts again before it writes; one that goes on from before a broken
 * place, and one behind which a replaced one has written, bring again what a satellite may have: only a new transaction shows that
 * what the satellite has besides will not come.
 */
final class GapDetector {
    private GtidSet executed;
    private boolean written;
    private boolean afterEpochStart;
    private boolean foreignWhileIdle;
    /** What was written here and the log has not told since the last start of an epoch, and that start; empty and null if nothing. */
    private GtidSet untold = GtidSet.EMPTY;
    private EpochStarted lastStart;

    GapDetector(GtidSet executed) {
        this.executed = executed;
    }

    GtidSet executed() {
        return executed;
    }

    /**
     * The satellite's own word, while nothing is on its way to it and the log has nothing. The first time may be too early: a COMMIT of
     * the session before can still arrive, of what the log is about to bring.
     */
    void idle(GtidSet now) {
        boolean foreign = !executed.containsAll(now);
        if (foreign && foreignWhileIdle) {
            throw new Divergence(Divergence.Reason.FOREIGN, executed, "foreign=" + now.minus(executed));
        }
        foreignWhileIdle = foreign;
    }

    void epochStarted(EpochStarted start) {
        if (!executed.containsAll(start.before())) {
            throw new Divergence(Divergence.Reason.LACKING, start.before(),
                    "offset=" + start.offset() + " lacks=" + start.before().minus(executed));
        }
        untold = written ? executed.minus(start.before()) : GtidSet.EMPTY;
        lastStart = start;
        afterEpochStart = true;
    }

    /** False if the satellite has it. */
    boolean wants(Part part) {
        if (executed.contains(part.gtid())) {
            afterEpochStart = false;
            if (!untold.isEmpty()) {
                untold = untold.minus(GtidSet.EMPTY.add(part.gtid()));
            }
            return false;
        }
        if (!untold.isEmpty()) {
            throw new Divergence(Divergence.Reason.FOREIGN, lastStart.before(), "offset=" + lastStart.offset() + " foreign=" + untold);
        }
        if (part.first()) {
            checkPredecessor(part);
            afterEpochStart = false;
        }
        return true;
    }

    private void checkPredecessor(Part part) {
        Gtid previous = part.previous();
        if (previous == null && !afterEpochStart) {
            throw Divergence.at(part.gtid(), Divergence.Reason.LACKING,
                    "the log no longer tells what lies before it");
        }
        if (previous != null && !executed.contains(previous)) {
            throw Divergence.at(previous, Divergence.Reason.LACKING, "is before " + part.gtid() + " and the log has it no longer");
        }
    }

    /** The last part was handed to the server; what follows may rely on it, since the server keeps the order. */
    void written(Gtid gtid) {
        executed = executed.add(gtid);
        written = true;
        foreignWhileIdle = false;
    }
}
