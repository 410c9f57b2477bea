package multimed.capture.tables;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Reads the table stream as TABLE_STREAM.md has it, with code of its own. */
public final class TestSubscriber implements AutoCloseable {
    private static final int SILENCE_MS = 30_000;

    private final Socket socket = new Socket();
    private final DataInputStream in;

    public TestSubscriber(int port) throws IOException {
        this(port, 0);
    }

    /** @param receiveBuffer bytes, 0: the system's own choice */
    TestSubscriber(int port, int receiveBuffer) throws IOException {
        if (receiveBuffer > 0) {
            socket.setReceiveBufferSize(receiveBuffer);
        }
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        socket.setSoTimeout(SILENCE_MS);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    }

    void send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
    }

    /** As a client that acknowledges. */
    void acknowledge(long number, long clock) throws IOException {
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        out.writeLong(number);
        out.writeLong(clock);
    }

    /** The number of the next mark with this time, whatever comes before it. */
    long markOf(long clock) throws IOException {
        String frame = any();
        return frame.startsWith("mark ") && frame.endsWith(" " + clock) ? Long.parseLong(frame.split(" ")[1]) : markOf(clock);
    }

    /** The next frame that is neither heartbeat, mark nor catalog: {@code hello 1 UUID BEFORE}, {@code GTID TIME ALL} or {@code GTID TIME [schema.table, …]}. */
    public String next() throws IOException {
        String frame = any();
        return frame.equals("heartbeat") || frame.startsWith("mark") || frame.startsWith("catalog") ? next() : frame;
    }

    /** The next catalog, whatever comes before it: {@code catalog CASE [schema.view=[schema.table, …], …] [child>parent, …] [table, …] [kind schema.name[parameter, …]: text, …]}. */
    public String catalog() throws IOException {
        String frame = any();
        return frame.startsWith("catalog") ? frame : catalog();
    }

    String any() throws IOException {
        byte[] frame = new byte[in.readInt()];
        in.readFully(frame);
        var body = new DataInputStream(new java.io.ByteArrayInputStream(frame));
        String text = switch (body.read()) {
            case 1 -> "hello " + body.readUnsignedShort() + " " + text(body, body.readUnsignedShort()) + " " + text(body, body.readInt())
                    + (body.readByte() == 5 ? "" : " without marks");
            case 2 -> text(body, body.readUnsignedShort()) + " " + body.readLong() + " " + written(body);
            case 3 -> "heartbeat";
            case 4 -> catalog(body);
            case 5 -> "mark " + body.readLong() + " " + body.readLong();
            default -> throw new IOException("unknown frame");
        };
        if (body.available() > 0) {
            throw new IOException("frame longer than its content: " + text);
        }
        return text;
    }

    private static String written(DataInputStream body) throws IOException {
        return switch (body.readUnsignedByte()) {
            case 0 -> several(body, TestSubscriber::name);
            case 1 -> ("ALL " + several(body, TestSubscriber::name)).replace(" []", "");
            default -> "ROWS";
        };
    }

    private static String catalog(DataInputStream body) throws IOException {
        text(body, body.readInt());
        text(body, body.readInt());
        return "catalog " + body.readUnsignedByte() + " "
                + several(body, b -> name(b) + "=" + (b.readUnsignedByte() == 1 ? "?" : "") + several(b, TestSubscriber::name)) + " "
                + several(body, b -> name(b) + ">" + name(b)) + " " + several(body, TestSubscriber::name) + " "
                + several(body, TestSubscriber::definition);
    }

    private static String definition(DataInputStream body) throws IOException {
        String kind = body.readUnsignedByte() == 1 ? "view " : "function ";
        return kind + name(body) + several(body, b -> text(b, b.readUnsignedShort())) + ": " + text(body, body.readInt());
    }

    private interface Element {
        String read(DataInputStream body) throws IOException;
    }

    private static String several(DataInputStream body, Element element) throws IOException {
        List<String> all = new ArrayList<>(Collections.nCopies(body.readInt(), ""));
        for (int i = 0; i < all.size(); i++) {
            all.set(i, element.read(body));
        }
        Collections.sort(all);
        return all.toString();
    }

    private static String name(DataInputStream body) throws IOException {
        return text(body, body.readUnsignedShort()) + "." + text(body, body.readUnsignedShort());
    }

    private static String text(DataInputStream body, int length) throws IOException {
        byte[] bytes = new byte[length];
        body.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
