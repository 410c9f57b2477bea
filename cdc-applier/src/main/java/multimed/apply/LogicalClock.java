package multimed.apply;

import multimed.log.proto.LogRecord;

/**
 * The master's own account of what conflicts (WRITESET: primary and unique keys, referenced parents; MySQL manual, "Replica
 * parallel execution"). In: every transaction of the log, in order. Out: how far back a
 * transaction's commit parent lies, which is the newest that it may conflict with. Pure. Must never: let a transaction overtake one
 * whose position in the same binlog file is not certain.
 */
final class LogicalClock {
    private long newest;

    /**
     * How many transactions lie between the commit parent and this one: it conflicts with none of them. 0: it must wait for all
     * before it.
     */
    long sinceCommitParent(LogRecord record) {
        long sequence = record.getSequenceNumber();
        boolean follows = sequence > 0 && sequence == newest + 1;
        newest = sequence;
        return follows ? Math.max(0, sequence - 1 - record.getLastCommitted()) : 0;
    }
}
