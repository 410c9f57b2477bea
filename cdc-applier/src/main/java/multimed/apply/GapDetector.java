package multimed.apply;

import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;

/**
 * In: the satellite's GTID set when the session began, then the log's events from any offset at or before it. Out: which
 * transactions to write. Pure. Must never: let a transaction through whose predecessor the satellite lacks.
 *
 * <p>A satellite contains a prefix of the master's history. It may be ahead of the log, when it was cloned from the master a moment
 * ago: transactions that it has are skipped. Once a transaction was written, the satellite contains exactly the log up to there.
 *
 * <p>An epoch start can name fewer transactions than the satellite has without being wrong: the new capture then brings the others
 * again, because it goes on from before a broken record, or because a replaced capture wrote them after the start. So the satellite
 * has a foreign transaction only if a new one comes before all of those have come again.
 *
 * <p>A satellite that is ahead of the log, because it followed capture while Kafka was away, may have what a restored master has lost; and
 * the same GTIDs may come to stand for other transactions. The mark of the master's new boot tells: all that the satellite has must lie before
 * it in the log.
 */
final class GapDetector {
    private GtidSet executed;
    private boolean written;
    private boolean afterEpochStart;
    private boolean foreignWhileIdle;
    /** Transactions of the satellite that the last epoch start did not name, and that have not come again since. */
    private GtidSet notSeenAgain = GtidSet.EMPTY;
    /** Whether it got those from the log: else it may have been cloned, with what will come in no record. */
    private boolean fromLog;
    /** Null before the first. */
    private EpochStarted lastStart;

    GapDetector(GtidSet executed) {
        this.executed = executed;
    }

    GtidSet executed() {
        return executed;
    }

    /**
     * Compares with the satellite's own set while nothing is in flight and the log has nothing new. The first difference does not
     * count: a COMMIT of an earlier session can arrive late, of a transaction that the log is about to bring.
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
        notSeenAgain = executed.minus(start.before());
        fromLog = written;
        lastStart = start;
        afterEpochStart = true;
    }

    /** False if the satellite has the transaction. */
    boolean wants(Part part) {
        if (executed.contains(part.gtid())) {
            afterEpochStart = false;
            if (!notSeenAgain.isEmpty()) {
                notSeenAgain = notSeenAgain.minus(GtidSet.EMPTY.add(part.gtid()));
            }
            return false;
        }
        if (part.gtid().source().isOfMarks()) {
            checkMark(part.gtid());
        } else if (fromLog && !notSeenAgain.isEmpty()) {
            throw new Divergence(Divergence.Reason.FOREIGN, lastStart.before(),
                    "offset=" + lastStart.offset() + " foreign=" + notSeenAgain);
        }
        if (part.first()) {
            checkPredecessor(part);
            afterEpochStart = false;
        }
        return true;
    }

    /** A donor that has the mark is of its history. */
    private void checkMark(Gtid mark) {
        if (lastStart == null) {
            throw Divergence.at(mark, Divergence.Reason.LACKING, "the log no longer tells what lies before this mark");
        }
        if (!notSeenAgain.isEmpty()) {
            throw Divergence.at(mark, Divergence.Reason.FOREIGN, "is the mark of a history without " + notSeenAgain);
        }
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
