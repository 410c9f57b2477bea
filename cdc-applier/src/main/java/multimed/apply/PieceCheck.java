package multimed.apply;

import java.sql.SQLException;
import java.util.Set;
import multimed.apply.sql.SessionSettings;
import multimed.log.LogEvent.Part;
import multimed.log.proto.Check;
import multimed.log.proto.LogRecord;
import multimed.mysql.QueryText;

/**
 * Compares a piece of a table with what the master had at the same place of its history. In: a check, when all before it is committed and nothing
 * after it has begun. Out: nothing if it is equal; else divergence. Must never: write, or take a query that did not run for a difference.
 *
 * <p>On the master the query ran at this place, while nobody could change the table. So what is not there on the satellite (the schema, the
 * table, a column, the key) is a difference as well. Any other failure says nothing about rows: too little memory or time, or a query that somebody
 * has killed. The piece comes again with the next pass.
 *
 * <p>Nobody waits for a turn to clone then, as at a rebuild record: what a satellite has is wrong, and not old. It must not answer any more,
 * even if it is the last one.
 */
final class PieceCheck {
    /** Unknown schema, unknown column, no such table, no such key. */
    private static final Set<Integer> NOT_THERE = Set.of(1049, 1054, 1146, 1176);

    /** How far the master's clock may be ahead of this one. */
    private static final long CLOCKS_MS = 1000;

    private final SatelliteSession session;
    private final ApplyMetrics metrics;

    private final long openedAtMillis;

    /** The satellite has said before where it is. */
    PieceCheck(SatelliteSession session, ApplyMetrics metrics) {
        this.session = session;
        this.metrics = metrics;
        openedAtMillis = System.currentTimeMillis();
    }

    /** Whether the record compares something here. */
    boolean isDue(LogRecord record) {
        return isDue(record, openedAtMillis);
    }

    /**
     * Only if it was committed after the session was opened. A satellite that was cloned a moment ago is ahead of the log. It has all that the log
     * brings first, but for transactions without changes, perhaps: in a clone these are counted in another way than rows are. One of them that it
     * lacks does not prove that it lacks what comes after.
     */
    static boolean isDue(LogRecord record, long openedAtMillis) {
        return record.getEmpty().hasCheck() && record.getCommitTimeUs() / 1000 > openedAtMillis + CLOCKS_MS;
    }

    void run(Part part) throws SQLException {
        Check check = part.record().getEmpty().getCheck();
        String answer;
        try {
            answer = answer(check);
        } catch (SQLException e) {
            failed(part, check, e);
            return;
        }
        String difference = difference(check, answer);
        if (difference != null) {
            throw Divergence.at(part.gtid(), Divergence.Reason.COMPARISON, difference);
        }
        metrics.checked(true);
    }

    /** Null if the piece is as it was on the master. */
    static String difference(Check check, String answer) {
        return check.getExpected().equals(answer)
                ? null
                : "piece=\"" + check.getPiece() + "\" expected=" + check.getExpected() + " found=" + answer;
    }

    /** The session reads what is committed, and the last GTID that it was given must not be in the way. */
    private String answer(Check check) throws SQLException {
        session.execute("SET gtid_next=_utf8mb4'AUTOMATIC';" + SessionSettings.set(check.getSessionMap()));
        try {
            return session.textAlone(new QueryText().add(check.getQuery()), 0);
        } finally {
            session.execute(SessionSettings.leave(check.getSessionMap(), session.identity().cascadesAreLogged()));
        }
    }

    private void failed(Part part, Check check, SQLException e) throws SQLException {
        if (SqlErrors.sessionLost(e)) {
            throw e;
        }
        String why = "piece=\"" + check.getPiece() + "\" error=\"" + e.getErrorCode() + " " + e.getMessage() + '"';
        if (isNotThere(e)) {
            throw Divergence.at(part.gtid(), Divergence.Reason.COMPARISON, why);
        }
        ApplyLoop.LOG.warn("event=not-compared gtid={} {}", part.gtid(), why);
        metrics.checked(false);
    }

    static boolean isNotThere(SQLException e) {
        return NOT_THERE.contains(e.getErrorCode());
    }
}
