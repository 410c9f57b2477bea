package multimed.capture.tables;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;

/**
 * The newest transactions of an epoch, in the order of the binlog. In: frames, from the thread that reads the binlog. Out: the same to each subscriber's
 * thread, by place. Bounded in number and bytes: when the oldest falls out, its GTID joins {@code before}. Its lock is held for copying
 * references only. Must never: forget a transaction without adding its GTID to {@code before}.
 */
final class TableRing {
    private static final int BATCH = 1024;

    private record Entry(Gtid gtid, byte[] frame) {}

    /** How far a subscriber has read. */
    record Place(long epoch, long next, long catalog) {}

    /** What a subscriber gets first. @param before all whose tables are not told */
    record Start(String serverUuid, GtidSet before, List<byte[]> frames, Place place) {}

    /** What follows; nothing if nothing came in time. @param last there is no more, nor is another capture's elsewhere */
    record Batch(List<byte[]> frames, Place place, boolean last) {}

    private final Entry[] entries;
    private final long mostBytes;
    private String serverUuid;
    private GtidSet before = GtidSet.EMPTY;
    /** 0: none has begun. */
    private long epoch;
    /** Entries are numbered over all epochs. */
    private long oldest;
    private long next;
    /** Behind the last entry that redefines names. */
    private long redefined;
    private boolean paused;
    private long bytes;
    private byte[] catalog;
    /** How often the catalog was read. */
    private long catalogs;

    TableRing(int transactions, long mostBytes) {
        entries = new Entry[transactions];
        this.mostBytes = mostBytes;
    }

    /** Empty again: only what comes after {@code set} will be told. */
    synchronized void restart(String uuid, GtidSet set) {
        Arrays.fill(entries, null);
        oldest = next;
        bytes = 0;
        serverUuid = uuid;
        before = set;
        catalog = null;
        paused = false;
        epoch++;
        notifyAll();
    }

    /** The same master: {@code set} will not be told, and what was told already may go beyond it. */
    synchronized void restart(GtidSet set) {
        while (oldest < next) {
            forgetOldest();
        }
        restart(serverUuid, before.union(set));
    }

    synchronized void add(Gtid gtid, byte[] frame) {
        while (next - oldest == entries.length || next > oldest && bytes + frame.length > mostBytes) {
            forgetOldest();
        }
        entries[index(next++)] = new Entry(gtid, frame);
        bytes += frame.length;
        notifyAll();
    }

    /** The same, and names stand for something else after it. */
    synchronized void addRedefining(Gtid gtid, byte[] frame) {
        add(gtid, frame);
        redefined = next;
    }

    /** Nothing comes until the next epoch; it may be another capture's. */
    synchronized void pause() {
        paused = true;
    }

    /** The place of who has all that redefines names. */
    synchronized long redefined() {
        return redefined;
    }

    private void forgetOldest() {
        int index = index(oldest++);
        bytes -= entries[index].frame().length;
        before = before.add(entries[index].gtid());
        entries[index] = null;
    }

    private int index(long number) {
        return (int) (number % entries.length);
    }

    synchronized long epoch() {
        return epoch;
    }

    /** What was read in this epoch; of an earlier one it is of no use. */
    synchronized void catalog(long readIn, byte[] frame) {
        if (readIn != epoch || Arrays.equals(frame, catalog)) {
            return;
        }
        catalog = frame;
        catalogs++;
        notifyAll();
    }

    /** All of the ring; null before the first epoch. */
    synchronized Start start() {
        if (epoch == 0) {
            return null;
        }
        List<byte[]> frames = frames(oldest, next);
        if (catalog != null) {
            frames.add(catalog);
        }
        return new Start(serverUuid, before, frames, new Place(epoch, next, catalogs));
    }

    /** Waits for what comes after {@code place}. Null if that is not to be had any more: a new epoch, or it fell out of the ring. */
    synchronized Batch after(Place place, long waitMillis) throws InterruptedException {
        if (place.epoch() == epoch && place.next() == next && place.catalog() == catalogs) {
            wait(waitMillis);
        }
        if (place.epoch() != epoch || place.next() < oldest) {
            return null;
        }
        long end = Math.min(next, place.next() + BATCH);
        List<byte[]> frames = frames(place.next(), end);
        if (catalog != null && place.catalog() != catalogs) {
            frames.add(catalog);
        }
        return new Batch(frames, new Place(epoch, end, catalogs), end == next && !paused);
    }

    /** It was too slow for the ring. */
    synchronized boolean isBehind(Place place) {
        return place.epoch() == epoch && place.next() < oldest;
    }

    private List<byte[]> frames(long from, long to) {
        List<byte[]> frames = new ArrayList<>((int) (to - from));
        for (long number = from; number < to; number++) {
            frames.add(entries[index(number)].frame());
        }
        return frames;
    }
}
