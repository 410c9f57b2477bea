package multimed.log;

import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import multimed.process.Metric;
import multimed.process.Metrics;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.common.Node;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Size and free space of the file system that the broker keeps the log on, for the metrics (KIP-827). Asked once a minute over a
 * connection of its own, on a thread of its own. Must never: end capture or hold it up; a broker that does not tell is asked again.
 */
public final class LogDisk implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(LogDisk.class);
    private static final long FIRST_AFTER_S = 5;
    private static final long EVERY_S = 60;

    private final Properties settings;
    private final Metrics metrics;
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(LogDisk::daemon);

    public LogDisk(LogAccess access, Metrics metrics) {
        this.metrics = metrics;
        settings = access.clientSettings();
        settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 5_000);
        settings.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
    }

    public void start() {
        thread.scheduleWithFixedDelay(this::ask, FIRST_AFTER_S, EVERY_S, TimeUnit.SECONDS);
    }

    private static Thread daemon(Runnable task) {
        Thread t = new Thread(task, "log-disk");
        t.setDaemon(true);
        return t;
    }

    private void ask() {
        try (Admin admin = Admin.create(settings)) {
            var brokers = admin.describeCluster().nodes().get().stream().map(Node::id).toList();
            admin.describeLogDirs(brokers).allDescriptions().get().values().stream().flatMap(each -> each.values().stream())
                    .filter(each -> each.totalBytes().isPresent() && each.usableBytes().isPresent())
                    .min((a, b) -> Long.compare(a.usableBytes().getAsLong(), b.usableBytes().getAsLong())).ifPresent(this::tell);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            log.debug("the broker does not tell how full its disk is", e);
        }
    }

    /** Of several directories, the one with the least free space. */
    private void tell(LogDirDescription fullest) {
        metrics.set(Metric.CAPTURE_LOG_DISK, fullest.totalBytes().getAsLong());
        metrics.set(Metric.CAPTURE_LOG_DISK_FREE, fullest.usableBytes().getAsLong());
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
