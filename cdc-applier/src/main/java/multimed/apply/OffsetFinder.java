package multimed.apply;

import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;

/**
 * In: a satellite's GTID set and the log. Out: the offset from which to read. Pure search over {@link LogView}: a satellite
 * contains a prefix of the log, so a binary search finds the end of that prefix. Records that a replaced capture wrote late can break that
 * order; then the search may end too late, which the gap detector notices.
 */
final class OffsetFinder {
    /** What an offset holds, as far as the search needs it: a transaction's part, or an EpochStart's set. */
    sealed interface Entry {
        long offset();

        record Transaction(long offset, Gtid gtid) implements Entry {}

        record EpochStart(long offset, GtidSet before) implements Entry {}
    }

    interface LogView {
        long begin();

        /** Offset after the last record. */
        long end();

        /** The first record at or after this offset; there is one. */
        Entry at(long offset);
    }

    private OffsetFinder() {}

    /**
     * One before the first record that the satellite lacks, so that the reader also sees an EpochStart that this record
     * relies on; the log's begin or end where there is no such record.
     */
    static long find(LogView log, GtidSet executed) {
        long first = firstLacking(log, executed);
        return Math.max(log.begin(), first - 1);
    }

    /** Invariant: all before {@code low} is contained, {@code high} is lacking or the end. */
    static long firstLacking(LogView log, GtidSet executed) {
        long low = log.begin();
        long high = log.end();
        while (low < high) {
            long middle = low + (high - low) / 2;
            Entry entry = log.at(middle);
            if (contained(entry, executed)) {
                low = Math.max(entry.offset(), middle) + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private static boolean contained(Entry entry, GtidSet executed) {
        if (entry instanceof Entry.EpochStart start) {
            return executed.containsAll(start.before());
        }
        return executed.contains(((Entry.Transaction) entry).gtid());
    }
}
