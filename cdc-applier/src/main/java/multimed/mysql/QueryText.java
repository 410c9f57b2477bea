package multimed.mysql;

import com.google.protobuf.ByteString;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * The text of one COM_QUERY, in pieces. What is large is neither joined nor copied nor encoded ahead: it goes to the network in
 * buffers of {@value #BUFFER} bytes. Pure until it is written.
 */
public final class QueryText {
    private static final int BUFFER = 64 << 10;
    private static final int COM_QUERY = 0x03;

    private interface Piece {
        void writeTo(OutputStream out) throws IOException;
    }

    private final List<Piece> pieces = new ArrayList<>();
    private long length;

    public static QueryText of(String sql) {
        return new QueryText().add(sql.getBytes(StandardCharsets.UTF_8));
    }

    /** BINLOG '…' with these events. */
    public static QueryText binlog(List<ByteString> events) {
        QueryText text = of("BINLOG '");
        byte[] line = {'\n'};
        events.forEach(event -> text.add(line).addBase64(event));
        return text.add("\n'".getBytes(StandardCharsets.UTF_8));
    }

    /** Not a copy. */
    public QueryText add(byte[] bytes) {
        return add(bytes, bytes.length);
    }

    /** Not a copy. */
    public QueryText add(byte[] bytes, int count) {
        return add(out -> out.write(bytes, 0, count), count);
    }

    public QueryText add(ByteString bytes) {
        return add(bytes::writeTo, bytes.size());
    }

    private QueryText addBase64(ByteString bytes) {
        return add(out -> {
            try (OutputStream encoded = Base64.getEncoder().wrap(new Open(out))) {
                bytes.writeTo(encoded);
            }
        }, (bytes.size() + 2L) / 3 * 4);
    }

    private QueryText add(Piece piece, long bytes) {
        pieces.add(piece);
        length += bytes;
        return this;
    }

    /** The whole command, cut into packets. */
    void writeTo(WritableByteChannel channel) throws IOException {
        Packets packets = new Packets(channel, length + 1);
        packets.write(COM_QUERY);
        for (Piece piece : pieces) {
            piece.writeTo(packets);
        }
        packets.end();
    }

    /** What is written to it stays open when it is closed. */
    private static final class Open extends FilterOutputStream {
        Open(OutputStream out) {
            super(out);
        }

        @Override
        public void write(byte[] bytes, int from, int count) throws IOException {
            out.write(bytes, from, count);
        }

        @Override
        public void close() {
            // the command goes on
        }
    }

    /** Puts a header before every {@link Frames#LARGEST} bytes; a packet of that length is never the last. */
    private static final class Packets extends OutputStream {
        private final WritableByteChannel channel;
        private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
        private long unannounced;
        private int packet;
        private int leftInPacket;
        private int sequence;

        Packets(WritableByteChannel channel, long length) throws IOException {
            this.channel = channel;
            this.unannounced = length;
            header();
        }

        private void header() throws IOException {
            packet = (int) Math.min(Frames.LARGEST, unannounced);
            leftInPacket = packet;
            unannounced -= packet;
            if (buffer.remaining() < Frames.HEADER) {
                send();
            }
            buffer.put((byte) packet).put((byte) (packet >>> 8)).put((byte) (packet >>> 16)).put((byte) sequence++);
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int count) throws IOException {
            for (int done = 0; done < count;) {
                if (leftInPacket == 0) {
                    header();
                }
                if (!buffer.hasRemaining()) {
                    send();
                }
                int now = Math.min(count - done, Math.min(buffer.remaining(), leftInPacket));
                buffer.put(bytes, from + done, now);
                done += now;
                leftInPacket -= now;
            }
        }

        private void send() throws IOException {
            buffer.flip();
            while (buffer.hasRemaining()) {
                channel.write(buffer);
            }
            buffer.clear();
        }

        void end() throws IOException {
            if (packet == Frames.LARGEST) {
                header();
            }
            send();
        }
    }
}
