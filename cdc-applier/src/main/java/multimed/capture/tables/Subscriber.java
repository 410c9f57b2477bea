package multimed.capture.tables;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.List;
import java.util.function.Consumer;
import multimed.capture.tables.TableRing.Batch;
import multimed.capture.tables.TableRing.Place;
import multimed.capture.tables.TableRing.Start;

/**
 * One connection: sends the hello, the ring, and what comes, or a heartbeat each second when nothing does. That is also how it notices
 * that the client has gone; it reads nothing. Runs on a thread of its own, which a slow client may block; {@link #close} ends it.
 */
final class Subscriber implements Runnable, AutoCloseable {
    private static final long HEARTBEAT_MS = 1000;
    private static final int BUFFER = 64 * 1024;

    private final Socket socket;
    private final TableRing ring;
    private final Consumer<Subscriber> ended;
    /** Null until it has been given the ring. */
    private volatile Place place;

    Subscriber(Socket socket, TableRing ring, Consumer<Subscriber> ended) {
        this.socket = socket;
        this.ring = ring;
        this.ended = ended;
    }

    @Override
    public void run() {
        try {
            socket.setTcpNoDelay(true);
            OutputStream out = new BufferedOutputStream(socket.getOutputStream(), BUFFER);
            if (begin(out)) {
                follow(out);
            }
        } catch (IOException e) {
            // the client has gone, or close() was called
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            close();
            ended.accept(this);
        }
    }

    /** The hello and all of the ring; false before the first epoch. */
    private boolean begin(OutputStream out) throws IOException {
        Start start = ring.start();
        if (start == null) {
            return false;
        }
        place = start.place();
        out.write(Frames.hello(start.serverUuid(), start.before()));
        write(start.frames(), out);
        return true;
    }

    private void follow(OutputStream out) throws IOException, InterruptedException {
        for (Batch next = ring.after(place, HEARTBEAT_MS); next != null; next = ring.after(place, HEARTBEAT_MS)) {
            place = next.place();
            write(next.frames().isEmpty() ? List.of(Frames.heartbeat()) : next.frames(), out);
        }
    }

    private static void write(List<byte[]> frames, OutputStream out) throws IOException {
        for (byte[] frame : frames) {
            out.write(frame);
        }
        out.flush();
    }

    /** What it has not been given yet fell out of the ring. */
    boolean isBehind() {
        Place at = place;
        return at != null && ring.isBehind(at);
    }

    SocketAddress address() {
        return socket.getRemoteSocketAddress();
    }

    /** From any thread; does not wait. */
    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // it is gone then
        }
    }
}
