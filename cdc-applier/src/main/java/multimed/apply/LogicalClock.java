package multimed.apply;

import multimed.log.proto.LogRecord;

/**
 * The master's own account of what conflicts (WRITESET: primary and unique keys, referenced parents; MySQL manual, "Replica
 * parallel execution"). In: every transaction of the log, in order. Out: how many of those directly before it a
 * transaction does not touch. Pure. Must never: call a transaction free of one whose place in the same binlog file is not certain.
 */
final class LogicalClock {
    private long newest;

    /** 0: it must wait for all before it. */
    long freeOf(LogRecord record) {
        long sequence = record.getSequenceNumber();
        boolean follows = sequence > 0 && sequence == newest + 1;
        newest = sequence;
        return follows ? Math.max(0, sequence - 1 - record.getLastCommitted()) : 0;
    }
}
