package multimed.capture;

import java.sql.SQLException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import multimed.binlog.GtidEvent;
import multimed.binlog.NextTransaction;
import multimed.gtid.GtidSet;
import multimed.master.Master;
import multimed.master.Master.Position;
import multimed.master.MasterAccess;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds GTIDs that the master has executed without writing them to its binlog (SET GTID_PURGED on a running master).
 *
 * <p>Every 5 s it samples the master. What an older sample's set contains was written to the binlog before the end that the next
 * sample saw. So once capture has passed that end, what it lacks of the older set has no event; unless the master was reset, and capture
 * reads a file that is deleted. Sampled by a thread of its own, asked by capture's thread.
 */
final class UnloggedGtids implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(UnloggedGtids.class);
    private static final long INTERVAL_SECONDS = 5;

    private record Claim(GtidSet executed, GtidSet purged, String file, long offset) {}

    private final MasterAccess access;
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(UnloggedGtids::daemon);
    private Master master;
    private GtidSet older;
    private volatile Claim claim;

    UnloggedGtids(MasterAccess access) {
        this.access = access;
        thread.scheduleWithFixedDelay(this::sample, INTERVAL_SECONDS, INTERVAL_SECONDS, TimeUnit.SECONDS);
    }

    private static Thread daemon(Runnable task) {
        Thread t = new Thread(task, "gtid-gaps");
        t.setDaemon(true);
        return t;
    }

    private void sample() {
        try {
            if (master == null) {
                master = new Master(access);
            }
            Position now = master.position();
            if (claim == null && older != null) {
                claim = new Claim(older, master.purged(), now.file(), now.offset());
            }
            older = now.executed();
        } catch (SQLException | RuntimeException e) {
            log.debug("sampling the master: {}", e.getMessage());
            closeMaster();
        }
    }

    private void closeMaster() {
        if (master != null) {
            master.close();
            master = null;
        }
    }

    /** What the master executed without events, given that capture has everything up to this position of the binlog. Throws if there are events. */
    GtidSet withoutEvent(String file, long position, GtidSet captured) throws Exception {
        Claim c = claim;
        if (c == null || !reached(file, position, c)) {
            return GtidSet.EMPTY;
        }
        claim = null;
        GtidSet without = captured.containsAll(c.executed()) ? GtidSet.EMPTY : c.executed().minus(captured);
        if (!c.purged().containsAll(without)) {
            GtidEvent next = NextTransaction.after(access, captured.union(c.purged()));
            if (next != null && without.contains(next.gtid())) {
                throw new IllegalStateException(
                        "capture does not get " + next.gtid() + ", which the master's binlog has: was the master reset?");
            }
        }
        return without;
    }

    /** Binlog files are numbered: name.000001, name.1000000. Positions are compared within one file only, below 4 GiB. */
    private static boolean reached(String file, long position, Claim c) {
        int byNumber = Long.compare(number(file), number(c.file()));
        return byNumber > 0 || byNumber == 0 && position >= c.offset();
    }

    private static long number(String file) {
        String digits = file.substring(file.lastIndexOf('.') + 1);
        return digits.matches("[0-9]{1,18}") ? Long.parseLong(digits) : -1;
    }

    @Override
    public void close() {
        thread.shutdownNow();
        closeMaster();
    }
}
