package multimed.binlog;

import com.github.shyiko.mysql.binlog.BinaryLogClient;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventHeaderV4;
import com.github.shyiko.mysql.binlog.event.deserialization.ChecksumType;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDataDeserializer;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer;
import com.github.shyiko.mysql.binlog.io.ByteArrayInputStream;
import com.github.shyiko.mysql.binlog.network.SSLMode;
import com.github.shyiko.mysql.binlog.network.protocol.command.QueryCommand;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.logging.Level;
import java.util.logging.Logger;
import multimed.gtid.GtidSet;
import multimed.master.MasterAccess;

/**
 * In: the master's binlog after a GTID set, or from a position on. Out: every event as bytes without checksum, in order, on the
 * caller's thread, and a heartbeat every second when nothing else comes. Must never: skip an event; whatever it can't read ends it.
 */
public final class BinlogReader implements AutoCloseable {
    /** The library logs every connection to java.util.logging. Held here, since a logger that is collected loses its level. */
    private static final List<Logger> LIBRARY_LOGS = List.of(
            Logger.getLogger("com.github.shyiko.mysql.binlog"), Logger.getLogger(Client.class.getName()));
    private static final long HEARTBEAT_MS = 1000;
    private static final int SILENCE_MS = 15_000;
    /**
     * The server keeps an event several times while it sends it, for as long as the session lasts. That must not be taken from what clients
     * may have: above global_connection_memory_limit it ends all of them.
     */
    private static final String UNCOUNTED = "SET SESSION global_connection_memory_tracking = OFF";

    /** Takes the events. A FORMAT_DESCRIPTION comes as it is, changed to say that there are no checksums. */
    public interface Sink {
        void event(BinlogEvent event) throws Exception;
    }

    private final BinaryLogClient client;
    private final Sink sink;
    private Exception failure;

    /** Thrown by a sink that has all it wants. */
    public static final class Finished extends Exception {
        private static final long serialVersionUID = 1;
    }

    /** Reads all that is not in the set. */
    public BinlogReader(MasterAccess access, GtidSet from, Sink sink) {
        this(access, sink);
        client.setGtidSet(from.toString());
        client.setUseBinlogFilenamePositionInGtidMode(false);
    }

    /** Reads from the start of an event on. */
    public BinlogReader(MasterAccess access, String file, long position, Sink sink) {
        this(access, sink);
        client.setBinlogFilename(file);
        client.setBinlogPosition(position);
    }

    private BinlogReader(MasterAccess access, Sink sink) {
        this.sink = sink;
        LIBRARY_LOGS.forEach(l -> l.setLevel(Level.SEVERE));
        client = new Client(access);
        client.setServerId(ThreadLocalRandom.current().nextLong(0x40000000L, 0x4fffffffL));
        client.setSSLMode(SSLMode.DISABLED);
        client.setKeepAlive(false);
        client.setConnectTimeout(10_000);
        client.setHeartbeatInterval(HEARTBEAT_MS);
        client.setSocketFactory(BinlogReader::socket);
        client.setEventDeserializer(new RawEvents());
        client.registerLifecycleListener(new BinaryLogClient.AbstractLifecycleListener() {
            @Override
            public void onCommunicationFailure(BinaryLogClient c, Exception e) {
                failure = failure == null ? e : failure;
            }

            @Override
            public void onEventDeserializationFailure(BinaryLogClient c, Exception e) {
                failure = failure == null ? e : failure;
            }
        });
    }

    private static Socket socket() throws SocketException {
        Socket socket = new Socket();
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(SILENCE_MS);
        return socket;
    }

    /** Returns when closed; throws what ended it otherwise. */
    public void run() throws Exception {
        client.connect();
        if (failure != null) {
            throw failure;
        }
    }

    @Override
    public void close() {
        try {
            client.disconnect();
        } catch (IOException e) {
            // it is gone then
        }
    }

    /** The library's own bookkeeping of GTIDs would need decoded events. */
    private static final class Client extends BinaryLogClient {
        Client(MasterAccess access) {
            super(access.address().host(), access.address().port(), access.user(), access.password());
        }

        @Override
        protected void requestBinaryLogStream() throws IOException {
            channel.write(new QueryCommand(UNCOUNTED));
            // Without the privilege, or on a server without the setting, it is as before.
            channel.read();
            super.requestBinaryLogStream();
        }

        @Override
        protected void updateGtidSet(Event event) {
            // capture keeps its own set
        }

        @Override
        protected void ensureGtidEventDataDeserializer() {
            // RawEvents decodes nothing
        }

        @Override
        protected void ensureEventDataDeserializer(
                com.github.shyiko.mysql.binlog.event.EventType type,
                @SuppressWarnings("rawtypes") Class<? extends EventDataDeserializer> wanted) {
            // RawEvents decodes nothing
        }
    }

    /** Reads each event's bytes and gives them to the sink; the library sees an event without content. */
    private final class RawEvents extends EventDeserializer {
        private static final int TYPE_AT = 4;
        private static final int LENGTH_AT = 9;
        private boolean checksums;

        /** What the server announced, for the made-up events before the first format description. */
        @Override
        @SuppressWarnings("deprecation")
        public void setChecksumType(ChecksumType type) {
            checksums = type.getLength() > 0;
        }

        @Override
        public Event nextEvent(ByteArrayInputStream in) throws IOException {
            if (failure != null) {
                throw new EOFException();
            }
            BinlogEvent event = read(in);
            try {
                sink.event(event);
            } catch (Exception e) {
                failure = e;
                // The only kind of exception that ends the library's loop.
                throw new EOFException();
            }
            return new Event(new EventHeaderV4(), null);
        }

        /** Rows can be large: the event is read once, without its checksum, and not copied. */
        private BinlogEvent read(ByteArrayInputStream in) throws IOException {
            byte[] header = in.read(BinlogEvent.HEADER);
            int length = (int) new ByteCursor(header, LENGTH_AT, LENGTH_AT + 4).u32();
            boolean description = header[TYPE_AT] == EventType.FORMAT_DESCRIPTION;
            int checksum = checksums && !description ? BinlogEvent.CHECKSUM : 0;
            if (length - checksum < BinlogEvent.HEADER) {
                throw new EOFException("an event of " + length + " bytes");
            }
            byte[] bytes = Arrays.copyOf(header, length - checksum);
            in.fill(bytes, BinlogEvent.HEADER, bytes.length - BinlogEvent.HEADER);
            in.skip(checksum);
            if (description) {
                checksums = FormatDescription.checksums(bytes);
                return BinlogEvent.of(FormatDescription.withoutChecksums(bytes));
            }
            return BinlogEvent.of(bytes).withOwnLength();
        }
    }
}
