package multimed.live;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import multimed.gtid.Gtid;
import multimed.process.Address;
import multimed.process.Metric;
import multimed.process.Metrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: the records of the log, from the thread that sends them there. Out: the same, at once, to each reader that has all before them. Keeps
 * the newest ones, so that a reader can begin; who lacks older ones reads the log. Besides, it gives appliers whose satellites must
 * clone again {@link Turns}: one lasts as long as the connection. Lives as long as the process, over epochs. Threads:
 * live accepts, live-reader one for each. Lock: one, for ring and readers; nothing is waited for under it. Must never: make that thread
 * wait for a reader, or leave out a record between two that it sends.
 */
public final class LiveServer implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(LiveServer.class);
    private static final int MOST_READERS = 64;
    private static final int FAILURE_PAUSE_MS = 1000;

    private record Entry(Gtid gtid, boolean last, byte[] frame) {}

    private final ServerSocketChannel server;
    private final String password;
    private final long mostBytes;
    private final Metrics metrics;
    private final ArrayDeque<Entry> ring = new ArrayDeque<>();
    private long bytes;
    private final Set<LiveConnection> readers = new HashSet<>();
    private final Turns turns;
    /** Also those that have not yet begun. */
    private final Set<LiveConnection> connections = new HashSet<>();

    /**
     * @param password of the log's readers; null where the log asks for no account
     * @param mostBytes of records that are kept
     */
    public LiveServer(Address listen, String password, long mostBytes, Metrics metrics, Turns turns) throws IOException {
        this.password = password;
        this.mostBytes = mostBytes;
        this.metrics = metrics;
        this.turns = turns;
        server = ServerSocketChannel.open();
        try {
            server.bind(new InetSocketAddress(listen.host(), listen.port()));
        } catch (IOException | RuntimeException e) {
            server.close();
            throw e;
        }
        Thread thread = new Thread(this::accept, "live");
        thread.setDaemon(true);
        thread.start();
    }

    public int port() {
        return server.socket().getLocalPort();
    }

    /** A new epoch, or the end of one: what comes next does not follow what came. Readers go to the log. */
    public void restart() {
        List<LiveConnection> all;
        synchronized (this) {
            ring.clear();
            bytes = 0;
            all = new ArrayList<>(readers);
        }
        all.forEach(LiveConnection::close);
    }

    /**
     * @param gtid of the record's transaction; null: it is no transaction's
     * @param last whether it is the transaction's last record
     */
    public synchronized void publish(Gtid gtid, boolean last, byte[] record) {
        byte[] frame = ByteBuffer.allocate(Integer.BYTES + record.length).putInt(record.length).put(record).array();
        ring.add(new Entry(gtid, last, frame));
        bytes += frame.length;
        while (bytes > mostBytes) {
            bytes -= ring.remove().frame().length;
        }
        readers.forEach(reader -> reader.send(frame));
    }

    /** What follows the transaction, and from now on all that comes; false if it is not known here. */
    synchronized boolean begin(LiveConnection reader, Gtid after) {
        ArrayDeque<byte[]> frames = new ArrayDeque<>();
        boolean found = false;
        for (var newest = ring.descendingIterator(); newest.hasNext() && !found;) {
            Entry entry = newest.next();
            found = entry.last() && after.equals(entry.gtid());
            if (!found) {
                frames.addFirst(entry.frame());
            }
        }
        if (found) {
            frames.forEach(reader::send);
            readers.add(reader);
            metrics.set(Metric.CAPTURE_LIVE_READERS, readers.size());
        }
        return found;
    }

    Turns turns() {
        return turns;
    }

    synchronized void ended(LiveConnection reader) {
        connections.remove(reader);
        turns.leave(reader);
        readers.remove(reader);
        metrics.set(Metric.CAPTURE_LIVE_READERS, readers.size());
    }

    private synchronized boolean admit(LiveConnection connection) {
        return server.isOpen() && connections.size() < MOST_READERS && connections.add(connection);
    }

    private void accept() {
        while (server.isOpen()) {
            try {
                SocketChannel channel = server.accept();
                var connection = new LiveConnection(channel, password, this);
                if (admit(connection)) {
                    Thread thread = new Thread(connection, "live-reader");
                    thread.setDaemon(true);
                    thread.start();
                } else {
                    log.warn("too many readers of the live records, refused");
                    channel.close();
                }
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException e) {
                log.warn("the live records can't accept a connection error=\"{}\"", e.getMessage());
                pause();
            }
        }
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(FAILURE_PAUSE_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            // it listens no more
        }
        List<LiveConnection> all;
        synchronized (this) {
            all = new ArrayList<>(connections);
        }
        all.forEach(LiveConnection::close);
    }
}
