package multimed.capture;

import java.sql.SQLException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import multimed.gtid.GtidSet;
import multimed.log.FatalException;
import multimed.master.Master;
import multimed.master.MasterAccess;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the master each second, on a thread of its own, for the settings that capture's promises need, and whether it still has what it had:
 * both can change while it runs, and no event of the binlog tells. Must never: take a master that is out of reach for one with other settings.
 */
final class SettingsWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(SettingsWatch.class);

    private final MasterAccess access;
    private GtidSet had;
    private final Consumer<Exception> changed;
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(SettingsWatch::daemon);
    private Master master;

    /**
     * @param had what the master has executed by now
     * @param changed called on another thread when a setting is not as needed, or the master has lost something
     */
    SettingsWatch(MasterAccess access, GtidSet had, Consumer<Exception> changed) {
        this.access = access;
        this.had = had;
        this.changed = changed;
        thread.scheduleWithFixedDelay(this::sample, 1, 1, TimeUnit.SECONDS);
    }

    private static Thread daemon(Runnable task) {
        Thread t = new Thread(task, "settings-watch");
        t.setDaemon(true);
        return t;
    }

    private void sample() {
        try {
            if (master == null) {
                master = new Master(access);
            }
            master.requireSettings();
            GtidSet executed = master.executed();
            if (!executed.containsAll(had)) {
                changed.accept(new IllegalStateException("the master has lost transactions: was it reset?"));
            }
            had = had.union(executed);
        } catch (FatalException e) {
            changed.accept(e);
        } catch (SQLException | RuntimeException e) {
            log.debug("sampling the master's settings: {}", e.getMessage());
            closeMaster();
        }
    }

    private void closeMaster() {
        if (master != null) {
            master.close();
            master = null;
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
        closeMaster();
    }
}
