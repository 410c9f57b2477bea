package multimed.capture.tables;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import multimed.capture.tables.TableRing.Batch;
import multimed.capture.tables.TableRing.Place;
import multimed.capture.tables.TableRing.Start;

/**
 * One connection: sends the hello, the ring, and what comes, or a heartbeat when nothing does; to a client that acknowledges, marks in its
 * place, and one behind what redefines names. Runs on a thread of its own, which a slow client may block, and has another that reads
 * acknowledgments; {@link #close} ends both.
 */
final class Subscriber implements Runnable, AutoCloseable {
    private static final long BEAT_MS = 250;
    private static final int BUFFER = 64 * 1024;

    private final Socket socket;
    private final TableRing ring;
    private final Consumer<Subscriber> ended;
    /** Null until it has been given the ring. */
    private volatile Place place;
    /** Of the sending thread: the number of the last mark, and when it was sent. */
    private long marked;
    private long markedAt = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(BEAT_MS);
    /** What the client has acknowledged; negative: it does not acknowledge. */
    private long acknowledged = -1;
    /** The time on its clock when it did so last. */
    private long clock;

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
                TableStream.start("table-acknowledgments", this::listen);
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
        out.flush();
        return true;
    }

    private void follow(OutputStream out) throws IOException, InterruptedException {
        while (true) {
            // A mark with this time comes behind all that was published before the client sent it: so it is looked at before the ring.
            long time = clock();
            Batch next = ring.after(place, BEAT_MS);
            if (next == null) {
                return;
            }
            place = next.place();
            write(next.frames(), out);
            if (next.last() && acknowledges() && isMarkDue()) {
                mark(time, out);
            } else if (next.frames().isEmpty()) {
                out.write(Frames.heartbeat());
            }
            out.flush();
        }
    }

    private boolean isMarkDue() {
        return ring.redefined() > marked || System.nanoTime() - markedAt >= TimeUnit.MILLISECONDS.toNanos(BEAT_MS);
    }

    private void mark(long time, OutputStream out) throws IOException {
        marked = place.next();
        markedAt = System.nanoTime();
        out.write(Frames.mark(marked, time));
    }

    private static void write(Iterable<byte[]> frames, OutputStream out) throws IOException {
        for (byte[] frame : frames) {
            out.write(frame);
        }
    }

    private void listen() {
        try {
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            while (true) {
                acknowledged(in.readLong(), in.readLong());
            }
        } catch (IOException e) {
            close();
        }
    }

    private synchronized void acknowledged(long number, long time) {
        acknowledged = Math.max(0, number);
        clock = time;
        notifyAll();
    }

    private synchronized long clock() {
        return clock;
    }

    synchronized boolean acknowledges() {
        return acknowledged >= 0;
    }

    /** Waits until this client, if it acknowledges, has acknowledged so much; whether it has in time. */
    synchronized boolean awaitAcknowledged(long number, long deadlineNanos) throws InterruptedException {
        while (acknowledges() && acknowledged < number) {
            long left = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
            if (left <= 0) {
                return false;
            }
            wait(left);
        }
        return true;
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
