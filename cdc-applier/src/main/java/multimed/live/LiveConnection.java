package multimed.live;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import multimed.gtid.Gtid;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One reader of the live records. What the network takes at once is sent by the thread that has it: a wake-up for each record would cost
 * more than the record. The rest, and a heartbeat each second when nothing comes, sends this connection's own thread. A reader that is
 * too slow is disconnected; the log has all that it lacks.
 */
final class LiveConnection implements Runnable, AutoCloseable {
    static final int HEARTBEAT_MS = 1000;
    /** What an applier asks for that wants a turn. */
    static final String TURN = "rebuild";
    /** What it says that has one. */
    static final String KEPT_TURN = "rebuilding";
    private static final Logger log = LoggerFactory.getLogger(LiveConnection.class);
    private static final int HANDSHAKE_MS = 5000;
    private static final long MOST_UNSENT = 8L * 1024 * 1024;
    private static final byte[] HEARTBEAT = new byte[Integer.BYTES];

    private final SocketChannel channel;
    private final String password;
    private final LiveServer server;
    private final ArrayDeque<ByteBuffer> unsent = new ArrayDeque<>();
    private long unsentBytes;
    private boolean sent;
    private volatile boolean closed;

    LiveConnection(SocketChannel channel, String password, LiveServer server) {
        this.channel = channel;
        this.password = password;
        this.server = server;
    }

    @Override
    public void run() {
        try {
            channel.socket().setTcpNoDelay(true);
            channel.socket().setSoTimeout(HANDSHAKE_MS);
            var out = new DataOutputStream(channel.socket().getOutputStream());
            String wish = Handshake.admit(new DataInputStream(channel.socket().getInputStream()), out, password);
            out.flush();
            channel.configureBlocking(false);
            if (begins(wish)) {
                follow();
            }
        } catch (IOException | IllegalArgumentException e) {
            log.debug("a reader of the live records ended error=\"{}\"", e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            close();
            server.ended(this);
        }
    }

    private boolean begins(String wish) {
        switch (wish) {
            case TURN -> server.turns().await(this);
            case KEPT_TURN -> server.turns().hold(this);
            default -> {
                return server.begin(this, Gtid.parse(wish));
            }
        }
        return true;
    }

    /** From the thread that has the records; does not wait. */
    synchronized void send(byte[] frame) {
        if (closed) {
            return;
        }
        ByteBuffer bytes = ByteBuffer.wrap(frame);
        try {
            if (unsent.isEmpty()) {
                channel.write(bytes);
            }
        } catch (IOException e) {
            close();
            return;
        }
        sent = true;
        if (bytes.hasRemaining()) {
            unsent.add(bytes);
            unsentBytes += bytes.remaining();
            notifyAll();
        }
        if (unsentBytes > MOST_UNSENT) {
            log.info("a reader of the live records is too slow, it goes on with the log");
            close();
        }
    }

    private void follow() throws IOException, InterruptedException {
        try (Selector selector = Selector.open()) {
            channel.register(selector, SelectionKey.OP_WRITE);
            while (!closed) {
                if (!sendUnsent()) {
                    selector.select(HEARTBEAT_MS);
                    selector.selectedKeys().clear();
                }
            }
        }
    }

    /** Waits until something is there to be sent, and sends what the network takes; false if that was not all. */
    private synchronized boolean sendUnsent() throws IOException, InterruptedException {
        if (unsent.isEmpty() && !closed) {
            wait(HEARTBEAT_MS);
        }
        if (unsent.isEmpty() && !sent && !closed) {
            unsent.add(ByteBuffer.wrap(HEARTBEAT));
            unsentBytes += HEARTBEAT.length;
        }
        sent = false;
        while (!unsent.isEmpty() && !closed) {
            unsentBytes -= channel.write(unsent.peek());
            if (unsent.peek().hasRemaining()) {
                return false;
            }
            unsent.remove();
        }
        return true;
    }

    /** From any thread; does not wait. */
    @Override
    public void close() {
        closed = true;
        try {
            channel.close();
        } catch (IOException e) {
            // it is gone then
        }
    }
}
