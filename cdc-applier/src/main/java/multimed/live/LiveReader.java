package multimed.live;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import multimed.gtid.Gtid;
import multimed.process.Address;

/**
 * A connection to capture's live records, from a transaction on. In: nothing but bytes. Out: records in the log's order, none left out; an
 * exception when that can't be had any more: the log then has what follows. Used by one thread; {@link #wakeUp} by any.
 */
public final class LiveReader implements AutoCloseable {
    private static final int CONNECT_MS = 1000;
    private static final long SILENCE_NANOS = 3_000_000L * LiveConnection.HEARTBEAT_MS;
    private static final int FIRST_BUFFER = 64 * 1024;

    private final SocketChannel channel;
    private final Selector selector;
    private final int longest;
    private ByteBuffer buffer = ByteBuffer.allocate(FIRST_BUFFER);
    private long heardAt = System.nanoTime();

    private LiveReader(SocketChannel channel, int longest) throws IOException {
        this.channel = channel;
        this.longest = longest;
        selector = Selector.open();
        channel.configureBlocking(false);
        channel.register(selector, SelectionKey.OP_READ);
    }

    /**
     * Throws if capture is not there, or refuses; {@link #poll} throws soon if it does not know the transaction any more.
     *
     * @param after the newest transaction that the reader has
     * @param longest record that can be right, in bytes
     */
    public static LiveReader open(Address capture, String password, Gtid after, int longest) throws IOException {
        return open(capture, password, after.toString(), longest);
    }

    /** Asks for a turn to have a satellite cloned again: the first record that comes is that. It ends with the connection. */
    public static LiveReader askForTurn(Address capture, String password) throws IOException {
        return open(capture, password, LiveConnection.TURN, 1);
    }

    /** Says that a turn is under way, to a capture that has begun anew. */
    public static LiveReader keepTurn(Address capture, String password) throws IOException {
        return open(capture, password, LiveConnection.KEPT_TURN, 1);
    }

    private static LiveReader open(Address capture, String password, String wish, int longest) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            channel.socket().setTcpNoDelay(true);
            channel.socket().connect(capture.resolve(), CONNECT_MS);
            channel.socket().setSoTimeout(CONNECT_MS);
            Handshake.enter(new DataInputStream(channel.socket().getInputStream()),
                    new DataOutputStream(channel.socket().getOutputStream()),
                    password, wish);
            return new LiveReader(channel, longest);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e instanceof IOException io ? io : new IOException(e);
        }
    }

    /** Records that are there, or that come within this time; none if {@link #wakeUp} was called. */
    public List<byte[]> poll(Duration timeout) throws IOException {
        long deadline = System.nanoTime() + timeout.toNanos();
        List<byte[]> records = List.of();
        boolean heard = true;
        while (records.isEmpty() && heard && System.nanoTime() < deadline) {
            heard = selector.select(Math.max(1, (deadline - System.nanoTime()) / 1_000_000)) > 0;
            selector.selectedKeys().clear();
            if (heard) {
                records = read();
            }
        }
        if (!heard && System.nanoTime() - heardAt > SILENCE_NANOS) {
            throw new SocketTimeoutException("capture is silent");
        }
        return records;
    }

    private List<byte[]> read() throws IOException {
        int read = channel.read(buffer);
        if (read < 0) {
            throw new EOFException("capture has closed the connection");
        }
        heardAt = System.nanoTime();
        return take();
    }

    /** The complete records of the buffer; what is left of it is the beginning of the next. */
    private List<byte[]> take() throws IOException {
        List<byte[]> records = new ArrayList<>();
        buffer.flip();
        int length = nextLength();
        while (length >= 0 && buffer.remaining() >= Integer.BYTES + length) {
            buffer.getInt();
            byte[] record = new byte[length];
            buffer.get(record);
            if (length > 0) {
                records.add(record);
            }
            length = nextLength();
        }
        makeRoom(Integer.BYTES + Math.max(0, length));
        return records;
    }

    /** Of the record that begins the buffer; -1 if that can't be told yet. */
    private int nextLength() throws IOException {
        if (buffer.remaining() < Integer.BYTES) {
            return -1;
        }
        int length = buffer.getInt(buffer.position());
        if (length < 0 || length > longest) {
            throw new IOException("a record of " + length + " bytes");
        }
        return length;
    }

    private void makeRoom(int needed) {
        boolean emptied = !buffer.hasRemaining() && buffer.capacity() > FIRST_BUFFER;
        if (emptied || needed > buffer.capacity()) {
            buffer = ByteBuffer.allocate(Math.max(needed, FIRST_BUFFER)).put(buffer);
        } else {
            buffer.compact();
        }
    }

    /** From any thread: ends the {@link #poll} that is under way, or the next one. */
    public void wakeUp() {
        selector.wakeup();
    }

    @Override
    public void close() {
        try {
            channel.close();
            selector.close();
        } catch (IOException e) {
            // it is gone then
        }
    }
}
