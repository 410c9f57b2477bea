package multimed.engine;

import io.debezium.connector.base.QueueProvider;
import io.debezium.pipeline.DataChangeEvent;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Debezium's queue between the thread that decodes and the one that polls, without the queue: a record is handed over where it was made.
 * In: records, under the lock of Debezium's queue. Out: the same to the handler, in order, on the same thread; a handler that waits holds
 * Debezium up. A poll never finds anything; it still reports what ended Debezium.
 *
 * <p>Through the queue each record, three for a transaction of one row, would wake the polling thread.
 *
 * <p>Debezium makes the provider by its name, with nothing but the connector's settings; so these name the handler.
 */
public final class HandOver implements QueueProvider<DataChangeEvent> {
    private static final String NAME = "hand-over";
    private static final String HANDLER = "multimed.hand.over.handler";
    private static final Map<String, Consumer<SourceRecord>> HANDLERS = new ConcurrentHashMap<>();
    private static final AtomicLong NEXT = new AtomicLong();

    private Consumer<SourceRecord> handler;

    /** Lets the connector with these settings give its records to the handler, until {@link #forget}. */
    static void register(Map<String, String> settings, Consumer<SourceRecord> handler) {
        String key = Long.toString(NEXT.incrementAndGet());
        HANDLERS.put(key, handler);
        settings.put("queue.provider.type", NAME);
        settings.put(HANDLER, key);
    }

    static void forget(Map<String, String> settings) {
        HANDLERS.remove(settings.get(HANDLER));
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public void configure(Map<String, ?> settings) {
        handler = HANDLERS.get(String.valueOf(settings.get(HANDLER)));
        if (handler == null) {
            throw new IllegalStateException("no handler is registered");
        }
    }

    @Override
    public void enqueue(DataChangeEvent event) {
        handler.accept(event.getRecord());
    }

    @Override
    public DataChangeEvent poll() {
        return null;
    }

    @Override
    public int size() {
        return 0;
    }
}
