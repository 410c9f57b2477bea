package multimed.capture.comparison;

import java.sql.SQLException;
import java.util.List;

/**
 * Cuts a table into pieces, one after the other. In: its keys, and what came of each piece. Out: the next piece. Pure but for the keys that
 * it asks for. Must never: end before every row that was there when it began was in a piece that was compared or given up, or go on for ever
 * where rows are added at the end faster than it goes.
 *
 * <pre>
 * no more rows than a piece may have     all in one piece, without bounds
 * else, first of all                     what is behind the last row: rows that are there at that moment, and those that only a satellite has
 * then                                   from the first row to that last one
 * a row's lock can't be had              the piece is made smaller, down to one row, for which it waits; then that is given up
 * </pre>
 *
 * <p>Nobody waits for a piece but for one of one row: who waits for a lock while it has others can be part of a deadlock, and InnoDB may end the
 * client's transaction. A piece of one row has no other lock before.
 */
final class TableWalk {
    /** Locks of so many rows at most, for as long as their query takes. */
    static final int MOST_ROWS = 500;
    private static final long MOST_BYTES = 4L * 1024 * 1024;
    /** A piece that takes longer makes the next one smaller. */
    private static final long LONG_NANOS = 50_000_000;
    private static final int SHRINKING = 8;
    private static final int TRIES_AT_THE_END = 5;

    /** The keys that the table has at the moment, as literals. */
    interface Keys {
        /** The n-th behind one key (null: of all) and up to another (null: to the end); null if there are fewer. */
        List<String> nth(long n, List<String> after, List<String> upTo) throws SQLException;

        /** Null if there is none. */
        List<String> last() throws SQLException;
    }

    private final long most;
    private long size;
    private boolean waits;
    private int triesAtTheEnd;
    /** The last key when this began; null until then, and while the table is small. */
    private List<String> end;
    private boolean endIsDone;
    private List<String> position;
    private boolean over;

    TableWalk(long rowBytes) {
        most = Math.max(1, Math.min(MOST_ROWS, MOST_BYTES / Math.max(1, rowBytes)));
        size = most;
    }

    boolean isOver() {
        return over;
    }

    /** Rows that the next piece should have. */
    long size() {
        return size;
    }

    Piece next(Keys keys) throws SQLException {
        if (end == null) {
            end = keys.nth(size, null, null) == null ? null : keys.last();
        }
        if (end == null) {
            return new Piece(null, null, false);
        }
        if (!endIsDone) {
            return new Piece(end, null, false);
        }
        List<String> upTo = keys.nth(size, position, end);
        return new Piece(position, upTo == null ? end : upTo, waits);
    }

    void compared(Piece piece, long nanos) {
        waits = false;
        size = nanos > LONG_NANOS ? Math.max(1, size / 2) : Math.min(most, size * 2);
        passed(piece);
    }

    private void passed(Piece piece) {
        if (piece.upTo() != null) {
            position = piece.upTo();
            over = position.equals(end);
        } else if (piece.after() != null) {
            endIsDone = true;
        } else {
            over = true;
        }
    }

    /** A lock could not be had, or it took too long. Returns whether the piece is given up. */
    boolean blocked(Piece piece) {
        boolean atTheEnd = piece.upTo() == null;
        boolean givenUp = atTheEnd ? ++triesAtTheEnd >= TRIES_AT_THE_END : waits;
        waits = !atTheEnd && !waits && size == 1;
        size = Math.max(1, size / SHRINKING);
        if (givenUp) {
            passed(piece);
        } else if (atTheEnd) {
            // What is there by now can be compared as part of the rest.
            end = null;
        }
        return givenUp;
    }
}
