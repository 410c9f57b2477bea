package multimed.engine;

import io.debezium.connector.mysql.MySqlConnector;
import io.debezium.connector.mysql.MySqlConnectorTask;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs Debezium's MySQL connector as Kafka Connect would, with one task on the caller's thread. In: the connector's settings. Out: its
 * records, in order, on the threads that make them ({@link HandOver}), and once how it ended. Must never: keep an offset; every run
 * starts from the master's current position.
 *
 * <p>Debezium's embedded engine does the same and then passes each record through a pool of threads, for transformations and
 * conversions that nobody here uses. Measured at 200 transactions/s: 5 switches of thread and 70 µs of CPU more per transaction.
 */
final class DebeziumTask implements Runnable, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(DebeziumTask.class);

    private final Map<String, String> settings;
    private final Consumer<SourceRecord> handler;
    private final Consumer<Throwable> ended;
    private volatile boolean closed;

    /** @param handler called on Debezium's threads, by one at a time, in order */
    DebeziumTask(Map<String, String> settings, Consumer<SourceRecord> handler, Consumer<Throwable> ended) {
        this.settings = settings;
        this.handler = handler;
        this.ended = ended;
    }

    @Override
    public void run() {
        Throwable error = null;
        MySqlConnector connector = new MySqlConnector();
        MySqlConnectorTask task = new MySqlConnectorTask();
        HandOver.register(settings, handler);
        try {
            connector.start(settings);
            task.initialize(new NoOffsets(settings));
            task.start(connector.taskConfigs(1).get(0));
            while (!closed) {
                // Throws what ended Debezium; records don't come this way (HandOver).
                task.poll();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            error = e;
        } catch (RuntimeException e) {
            error = e;
        } finally {
            ended.accept(error);
            stop(connector, task);
            HandOver.forget(settings);
        }
    }

    /** A task that did not come to its start can't be stopped either, and says so with an exception. */
    private static void stop(MySqlConnector connector, MySqlConnectorTask task) {
        try {
            task.stop();
            connector.stop();
        } catch (RuntimeException e) {
            log.debug("stopping debezium: {}", e.toString());
        }
    }

    /** Returns at once; {@link #run} does after the poll in hand. */
    @Override
    public void close() {
        closed = true;
    }

    /** What Kafka Connect gives a task that has no stored offsets. */
    private record NoOffsets(Map<String, String> configs) implements SourceTaskContext, OffsetStorageReader {
        @Override
        public OffsetStorageReader offsetStorageReader() {
            return this;
        }

        @Override
        public <T> Map<String, Object> offset(Map<String, T> partition) {
            return null;
        }

        @Override
        public <T> Map<Map<String, T>, Map<String, Object>> offsets(Collection<Map<String, T>> partitions) {
            Map<Map<String, T>, Map<String, Object>> none = new HashMap<>();
            partitions.forEach(partition -> none.put(partition, null));
            return none;
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return null;
        }
    }
}
