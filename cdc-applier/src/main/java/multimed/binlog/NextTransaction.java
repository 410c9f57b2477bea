package multimed.binlog;

import multimed.gtid.GtidSet;
import multimed.log.LogTail.Newest;
import multimed.master.MasterAccess;

/** In: a GTID set. Out: the start of the first transaction in the master's binlog that is not in it. */
public final class NextTransaction implements BinlogReader.Sink {
    /** Heartbeats, a second each, from the same place: the master has passed over all that it has. */
    private static final int AT_THE_END = 10;

    private GtidEvent found;
    private long position = -1;
    private int heartbeats;

    private NextTransaction() {}

    /**
     * Null if the binlog has none.
     *
     * @param set has all that the binlog has no more
     */
    public static GtidEvent after(MasterAccess access, GtidSet set) throws Exception {
        NextTransaction sink = new NextTransaction();
        try (BinlogReader reader = new BinlogReader(access, set, sink)) {
            reader.run();
        } catch (BinlogReader.Finished e) {
            return sink.found;
        }
        throw new IllegalStateException("the binlog ended while it was read");
    }

    /**
     * Whether the binlog has this very one: two histories can give a GTID to different transactions, but not at the same microsecond.
     *
     * @param set has all that came before it, and all that the binlog has no more
     */
    public static boolean is(MasterAccess access, Newest newest, GtidSet set) throws Exception {
        GtidEvent found = after(access, set.minus(GtidSet.EMPTY.add(newest.gtid())));
        return found != null && found.gtid().equals(newest.gtid()) && found.commitTimeMicros() == newest.commitMicros();
    }

    /** Heartbeats come, too, while the master passes over what is in the set. */
    @Override
    public void event(BinlogEvent event) throws BinlogReader.Finished {
        if (EventType.isGtid(event.type())) {
            found = GtidEvent.parse(event);
        }
        heartbeats = event.endPosition() == position ? heartbeats + 1 : 0;
        position = event.endPosition();
        if (found != null || heartbeats == AT_THE_END) {
            throw new BinlogReader.Finished();
        }
    }
}
