package multimed.capture.debezium;

import io.debezium.config.Configuration;
import io.debezium.connector.mysql.MySqlChangeEventSourceFactory;
import io.debezium.connector.mysql.MySqlConnectorTask;
import io.debezium.connector.mysql.MySqlOffsetContext;
import io.debezium.connector.mysql.MySqlPartition;
import io.debezium.pipeline.ChangeEventSourceCoordinator;
import io.debezium.pipeline.EventDispatcher;
import io.debezium.pipeline.source.spi.DataChangeEventListener;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Debezium's connector without a connection to the binlog: capture feeds it ({@link #feed}). It reads the schemas itself, as always.
 * Debezium has no setting for this, so two of its fields are reached by reflection; if another version has others, it ends with an
 * error that names them, and all goes raw.
 */
final class FedTask extends DebeziumTask {
    private final CompletableFuture<ChangeEventSourceCoordinator<MySqlPartition, MySqlOffsetContext>> launched = new CompletableFuture<>();
    private final EventFeed feed = new EventFeed(this::withoutStatistics);

    FedTask(Map<String, String> settings, Consumer<SourceRecord> handler, Consumer<Throwable> ended) {
        super(settings, handler, ended);
    }

    EventFeed feed() {
        return feed;
    }

    @Override
    MySqlConnectorTask connectorTask() {
        return new MySqlConnectorTask() {
            @Override
            public ChangeEventSourceCoordinator<MySqlPartition, MySqlOffsetContext> start(Configuration config) {
                ChangeEventSourceCoordinator<MySqlPartition, MySqlOffsetContext> started = super.start(config);
                launched.complete(started);
                return started;
            }
        };
    }

    /** The schemas have been read; on this thread, the coordinator's, the connection would be made next. */
    @Override
    void handle(SourceRecord record) {
        if (DebeziumDecoder.schemasRead(record)) {
            try {
                Object factory = field(ChangeEventSourceCoordinator.class, "changeEventSourceFactory").get(launched.join());
                field(MySqlChangeEventSourceFactory.class, "binaryLogClient").set(factory, feed);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
        super.handle(record);
    }

    /** Debezium's statistics of each event, which nobody reads, go through a thread of their own. */
    @SuppressWarnings("unchecked")
    private void withoutStatistics() {
        try {
            EventDispatcher<MySqlPartition, ?> dispatcher = (EventDispatcher<MySqlPartition, ?>) field(ChangeEventSourceCoordinator.class,
                    "eventDispatcher").get(launched.join());
            dispatcher.setEventListener(DataChangeEventListener.NO_OP());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(Class<?> owner, String name) {
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("this version of Debezium has no field " + owner.getSimpleName() + "." + name);
        }
    }
}
