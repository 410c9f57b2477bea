package multimed.log;

import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.proto.LogRecord;

/** What a reader of the log has to act on, in order. */
public sealed interface LogEvent {

    /**
     * A capture run (re)states the prefix of the master's history that lies before this record. A satellite that has applied
     * all before it and lacks a GTID of {@code before} can't get that from the log.
     */
    record EpochStarted(long epoch, GtidSet before, String serverUuid, long offset) implements LogEvent {}

    /**
     * A part of a transaction; most have one part that is {@code first} and {@code last}. Nothing of it may become visible
     * before {@code last}. In a raw part every event is whole, and a table map and its row events lie in one part.
     *
     * @param previous the transaction before this one in the log; null for the first after an EpochStarted that was not
     *     written in the middle of a run
     * @param offset of the part's (last) Kafka record
     */
    record Part(Gtid gtid, Gtid previous, LogRecord record, boolean first, boolean last, long offset) implements LogEvent {}

    /**
     * The epoch does not keep its contract at this record (a gap, a chunk out of order, unreadable bytes). Nothing of it counts
     * from here on: an {@link EpochStarted} says where the log goes on.
     */
    record Broken(String what, long offset) implements LogEvent {}

    /** The transaction whose parts came so far will not be completed: roll it back. It may come again, from its first part. */
    record Abandoned(Gtid gtid) implements LogEvent {}
}
