package multimed.capture.tables;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.master.MasterAccess;
import multimed.process.Address;
import multimed.process.Metric;
import multimed.process.Metrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: what each transaction wrote, from the thread that reads the binlog. Out: the same over TCP to each subscriber, as TABLE_STREAM.md has it. Lives as
 * long as the process, over epochs. Threads: table-catalog reads the master's catalog, table-stream accepts, table-subscriber sends and
 * table-acknowledgments reads, one each; all daemons. Must never: make that thread wait for a subscriber.
 */
public final class TableStream implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(TableStream.class);
    private static final int TRANSACTIONS = 65_536;
    private static final long BYTES = 32L * 1024 * 1024;
    private static final int MOST_SUBSCRIBERS = 64;
    private static final int LOOK_MS = 1000;
    /** For so long the log waits for subscribers. Longer than any of them trusts what it knows without a new mark. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final ServerSocket server = new ServerSocket();
    private final Metrics metrics;
    private final TableRing ring;
    private final CatalogWatch catalog;
    /** Of the accepting thread: the last one was refused. */
    private boolean refusing;
    /** When a subscriber that acknowledges was lost last, of this process or of one before it: it may not know that yet. */
    private volatile long lostAt = System.nanoTime();
    /** Of capture's thread: all subscribers have what redefined names before this place of the ring. */
    private long settled;
    private final Set<Subscriber> subscribers = ConcurrentHashMap.newKeySet();

    public TableStream(Address listen, MasterAccess master, Metrics metrics) throws IOException {
        this(listen, master, metrics, new TableRing(TRANSACTIONS, BYTES));
    }

    /** Port 0 binds any free port, see {@link #port()}. */
    TableStream(Address listen, MasterAccess master, Metrics metrics, TableRing ring) throws IOException {
        this.metrics = metrics;
        this.ring = ring;
        try {
            server.bind(listen.resolve());
            server.setSoTimeout(LOOK_MS);
        } catch (IOException e) {
            server.close();
            throw e;
        }
        count();
        catalog = new CatalogWatch(master, ring);
        start("table-stream", this::accept);
    }

    public int port() {
        return server.getLocalPort();
    }

    /** A new epoch: what lies in {@code before} is not told. Subscribers must connect anew. */
    public void restart(String serverUuid, GtidSet before) {
        ring.restart(serverUuid, before);
        catalog.restarted();
        lostAt = System.nanoTime();
        subscribers.forEach(Subscriber::close);
    }

    /** Among {@code before} are transactions that nobody can tell the tables of; from capture's thread, while the reader's goes on. */
    public void restart(GtidSet before) {
        ring.restart(before);
        catalog.changed();
        lostAt = System.nanoTime();
        subscribers.forEach(Subscriber::close);
    }

    /** The epoch has ended: nobody is told any more that nothing was redefined. */
    public void pause() {
        ring.pause();
    }

    public void publish(Gtid gtid, long commitTimeMicros, WrittenTables written) {
        byte[] frame = Frames.transaction(gtid, commitTimeMicros, written);
        boolean tooLong = frame.length > Frames.LONGEST_TRANSACTION;
        boolean all = written.all() || tooLong;
        if (tooLong) {
            ring.add(gtid, Frames.transaction(gtid, commitTimeMicros, WrittenTables.ALL_ROWS));
        } else if (written.keepsNames()) {
            ring.add(gtid, frame);
        } else {
            ring.addRedefining(gtid, frame);
        }
        if (all) {
            catalog.changed(gtid);
        }
        metrics.add(Metric.CAPTURE_TABLE_STREAM, all ? "all" : "tables", 1);
    }

    /**
     * Before a transaction goes to the log, from capture's thread: waits, not for long, until each subscriber that acknowledges has all that was
     * published of redefined names. Who has not in time is disconnected, and has found by itself that it knows nothing.
     */
    public void settle() throws InterruptedException {
        long number = ring.redefined();
        if (number == settled) {
            return;
        }
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        for (Subscriber each : subscribers) {
            if (!each.awaitAcknowledged(number, deadline)) {
                log.warn("a subscriber of the table stream does not acknowledge, disconnected address={}", each.address());
                metrics.add(Metric.CAPTURE_TABLE_STREAM_SLOW, 1);
                each.close();
            }
        }
        TimeUnit.NANOSECONDS.sleep(lostAt + PATIENCE_NANOS - System.nanoTime());
        settled = number;
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                admit(server.accept());
            } catch (SocketTimeoutException e) {
                // time to look for slow ones
            } catch (IOException e) {
                failed(e);
            }
            // A slow one's own thread may be blocked in a write.
            subscribers.stream().filter(Subscriber::isBehind).forEach(Subscriber::close);
        }
    }

    private void admit(Socket socket) {
        Subscriber subscriber = new Subscriber(socket, ring, this::ended);
        if (subscribers.size() >= MOST_SUBSCRIBERS) {
            if (!refusing) {
                log.warn("too many subscribers of the table stream, refused until one ends address={}", subscriber.address());
            }
            refusing = true;
            subscriber.close();
            return;
        }
        refusing = false;
        subscribers.add(subscriber);
        count();
        start("table-subscriber", subscriber);
    }

    private void failed(IOException error) {
        if (server.isClosed()) {
            return;
        }
        log.warn("the table stream can't accept a connection error=\"{}\"", error.getMessage());
        try {
            TimeUnit.MILLISECONDS.sleep(LOOK_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void ended(Subscriber subscriber) {
        if (subscriber.isBehind()) {
            log.warn("a subscriber of the table stream is too slow, disconnected address={}", subscriber.address());
            metrics.add(Metric.CAPTURE_TABLE_STREAM_SLOW, 1);
        }
        if (subscriber.acknowledges()) {
            lostAt = System.nanoTime();
        }
        subscribers.remove(subscriber);
        count();
    }

    private synchronized void count() {
        metrics.set(Metric.CAPTURE_TABLE_SUBSCRIBERS, subscribers.size());
    }

    static void start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        catalog.close();
        try {
            server.close();
        } catch (IOException e) {
            // it listens no more
        }
        subscribers.forEach(Subscriber::close);
    }
}
