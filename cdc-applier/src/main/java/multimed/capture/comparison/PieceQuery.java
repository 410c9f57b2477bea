package multimed.capture.comparison;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * In: a table and its columns. Out: the queries that compare it. Pure. Must never: leave it to the server which index it reads by, since
 * locks are set on whatever is read.
 *
 * <p>A piece's answer is how many rows it has, and the SHA-256 of all rows combined by XOR: equal if the rows are, in any order. No row is in
 * a piece twice.
 */
final class PieceQuery {
    /** On the master, where rows are locked meanwhile. */
    private static final int MASTER_MS = 1000;
    /** On a satellite, where what comes after waits meanwhile. */
    private static final int SATELLITE_MS = 10_000;

    private static final int DESCRIBED = 300;

    private final ComparedTable table;
    private final String answer;

    /** Throws IllegalArgumentException for a column of a type that is not known. */
    PieceQuery(ComparedTable table, List<Column> columns) {
        this.table = table;
        answer = "CONCAT(COUNT(*),':',HEX(BIT_XOR(UNHEX(SHA2(CONCAT_WS(',',"
                + columns.stream().map(PieceQuery::printed).collect(Collectors.joining(",")) + "),256)))))";
    }

    private static String printed(Column column) {
        String printed = column.printed();
        if (printed == null) {
            throw new IllegalArgumentException("column " + column.name() + " is of type " + column.type());
        }
        return printed;
    }

    ComparedTable table() {
        return table;
    }

    /** For people. */
    String describe(Piece piece) {
        String from = piece.after() == null ? "" : " after " + String.join(",", piece.after());
        String to = piece.upTo() == null ? "" : " up to " + String.join(",", piece.upTo());
        String all = table.fullName() + from + to;
        return all.length() <= DESCRIBED ? all : all.substring(0, DESCRIBED) + "…";
    }

    /** Locks the piece, gaps included, until the transaction ends. */
    String onMaster(Piece piece) {
        return answer(piece, MASTER_MS) + " FOR SHARE" + (piece.waits() ? "" : " NOWAIT");
    }

    /** The same question without locks. */
    String onSatellite(Piece piece) {
        return answer(piece, SATELLITE_MS);
    }

    private String answer(Piece piece, int mostMillis) {
        return select(mostMillis, answer) + where(piece.after(), piece.upTo());
    }

    /** The n-th key of those. */
    String nth(long n, List<String> after, List<String> upTo) {
        return select(MASTER_MS, keys()) + where(after, upTo) + order(false) + " LIMIT 1 OFFSET " + (n - 1);
    }

    String last() {
        return select(MASTER_MS, keys()) + order(true) + " LIMIT 1";
    }

    private String select(int mostMillis, String what) {
        return "SELECT /*+ MAX_EXECUTION_TIME(" + mostMillis + ") */ " + what + " FROM " + table.quoted() + " FORCE INDEX (PRIMARY)";
    }

    private String keys() {
        return table.key().stream().map(KeyPart::selected).collect(Collectors.joining(","));
    }

    private String order(boolean reversed) {
        return table.key().stream().map(k -> k.quoted() + (k.descending() != reversed ? " DESC" : ""))
                .collect(Collectors.joining(",", " ORDER BY ", ""));
    }

    private String where(List<String> after, List<String> upTo) {
        List<String> bounds = new ArrayList<>();
        if (after != null) {
            bounds.add(beyond(after, false));
        }
        if (upTo != null) {
            bounds.add(beyond(upTo, true));
        }
        return bounds.isEmpty() ? "" : " WHERE " + String.join(" AND ", bounds);
    }

    /**
     * Behind a key, or up to it: written out, as the server makes no ranges of row constructors; and with a bound of the first part alone, so
     * that it can't but begin or end there.
     */
    private String beyond(List<String> literals, boolean upTo) {
        List<KeyPart> key = table.key();
        String all = "";
        for (int i = key.size() - 1; i >= 0; i--) {
            String column = key.get(i).quoted();
            String further = further(i, upTo);
            boolean isLast = i == key.size() - 1;
            String beyond = column + further + (isLast && upTo ? "=" : "") + literals.get(i);
            all = isLast ? beyond : "(" + beyond + " OR " + column + "=" + literals.get(i) + " AND " + all + ")";
        }
        return key.size() == 1 ? all : key.get(0).quoted() + further(0, upTo) + "=" + literals.get(0) + " AND " + all;
    }

    private String further(int part, boolean upTo) {
        return table.key().get(part).descending() != upTo ? "<" : ">";
    }
}
