package multimed.capture.tables;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import multimed.gtid.Gtid;
import multimed.master.MasterAccess;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the master's catalog again whenever something may have changed it. In: word of that, from any thread. Out: the catalog, to the
 * ring. One thread, with a connection of its own that is open only while it reads.
 */
final class CatalogWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(CatalogWatch.class);
    /** The catalog is good once all was told that was about to commit. Something may have been that never does. */
    private static final long AGAIN_SECONDS = 30;
    private static final long PAUSE_MS = 1000;
    /** Where definitions change all the time, no more than a fifth of it is spent on reading them. */
    private static final long REST = 4;
    private static final long LONGEST_REST_MS = 2000;

    private final MasterAccess access;
    private final TableRing ring;
    private final Semaphore changed = new Semaphore(1);
    /** Of the transactions that may have changed the catalog, the last that was told. */
    private volatile Gtid last;
    private final Thread thread = new Thread(this::run, "table-catalog");

    CatalogWatch(MasterAccess access, TableRing ring) {
        this.access = access;
        this.ring = ring;
        thread.setDaemon(true);
        thread.start();
    }

    /** A new epoch, perhaps of another master. */
    void restarted() {
        last = null;
        changed.release();
    }

    /** The catalog may have changed, by what the master does not send. */
    void changed() {
        changed.release();
    }

    /** This transaction may have changed it. */
    void changed(Gtid by) {
        last = by;
        changed.release();
    }

    private void run() {
        try {
            boolean settled = true;
            while (true) {
                if (settled) {
                    changed.acquire();
                } else {
                    changed.tryAcquire(AGAIN_SECONDS, TimeUnit.SECONDS);
                }
                changed.drainPermits();
                long began = System.nanoTime();
                settled = read();
                long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
                TimeUnit.MILLISECONDS.sleep(Math.min(REST * took, LONGEST_REST_MS));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether it need not be read again until something changes. */
    private boolean read() throws InterruptedException {
        long epoch = ring.epoch();
        if (epoch == 0) {
            return true;
        }
        Gtid by = last;
        try (Connection connection = access.connect()) {
            Catalog catalog = CatalogReader.read(connection);
            ring.catalog(epoch, Frames.catalog(catalog));
            if (by != null && !catalog.before().contains(by)) {
                // The master sends a transaction before it counts as executed there; what was read in between is not good.
                changed.release();
            }
            return !catalog.unfinished();
        } catch (SQLException | RuntimeException e) {
            log.warn("can't read the master's catalog, reads wait for all transactions error=\"{}\"",
                    e.toString().lines().findFirst().orElse(""));
            changed.release();
            TimeUnit.MILLISECONDS.sleep(PAUSE_MS);
            return true;
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
