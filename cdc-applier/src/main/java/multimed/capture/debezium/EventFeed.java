package multimed.capture.debezium;

import com.github.shyiko.mysql.binlog.BinaryLogClient;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer;
import com.github.shyiko.mysql.binlog.io.ByteArrayInputStream;
import java.io.IOException;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;

/**
 * Stands where Debezium has its connection to the master's binlog. In: events that capture has read. Out: the same to Debezium's
 * handlers, on the caller's thread; what Debezium makes of an event is there when {@link #feed} returns. Must never: connect.
 *
 * <p>With a connection of its own Debezium made the master send everything twice, read it twice, and woke capture's thread once more
 * for each transaction.
 */
final class EventFeed extends BinaryLogClient {
    private final Runnable onConnect;
    private EventDeserializer deserializer;
    private volatile boolean connected;

    /** @param onConnect called when Debezium is set up and would start reading */
    EventFeed(Runnable onConnect) {
        super("", "");
        this.onConnect = onConnect;
    }

    @Override
    public void setEventDeserializer(EventDeserializer eventDeserializer) {
        super.setEventDeserializer(eventDeserializer);
        deserializer = eventDeserializer;
    }

    @Override
    public void connect(long timeoutMillis) throws IOException {
        connect();
    }

    @Override
    public void connect() throws IOException {
        getLifecycleListeners().forEach(listener -> listener.onConnect(this));
        onConnect.run();
        feed(anyEvent());
        connected = true;
    }

    /** Debezium takes the time of a statement from the event before it, so there must be one. This one has no other effect. */
    private static BinlogEvent anyEvent() {
        byte[] header = new byte[BinlogEvent.HEADER];
        long seconds = System.currentTimeMillis() / 1000;
        for (int i = 0; i < 4; i++) {
            header[i] = (byte) (seconds >>> 8 * i);
        }
        header[4] = EventType.STOP;
        header[9] = BinlogEvent.HEADER;
        return BinlogEvent.of(header);
    }

    /** From then on events may be fed. */
    @Override
    public boolean isConnected() {
        return connected;
    }

    @Override
    public void disconnect() {
        connected = false;
    }

    /** The event must have no checksum. */
    void feed(BinlogEvent event) throws IOException {
        Event parsed = deserializer.nextEvent(new ByteArrayInputStream(event.bytes()));
        for (EventListener listener : getEventListeners()) {
            listener.onEvent(parsed);
        }
    }
}
