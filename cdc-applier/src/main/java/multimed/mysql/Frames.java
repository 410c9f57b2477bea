package multimed.mysql;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/**
 * Packets (protocol page "MySQL Packets"). In: bytes as they arrive, cut anywhere. Out: payloads, those of 16 MiB and more
 * put together. Must never: give a payload that is not whole.
 */
final class Frames {
    static final int HEADER = 4;
    static final int LARGEST = 0xffffff;

    private ByteBuffer in = ByteBuffer.allocate(16 << 10).flip();
    private ByteArrayOutputStream begun;

    /** Reads once; false at the end of the stream. */
    boolean read(ReadableByteChannel channel) throws IOException {
        in.compact();
        if (!in.hasRemaining()) {
            in = ByteBuffer.allocate(in.capacity() * 2).put(in.flip());
        }
        try {
            return channel.read(in) >= 0;
        } finally {
            in.flip();
        }
    }

    /** The next payload, or null while it has not arrived completely. */
    byte[] next() {
        while (in.remaining() >= HEADER) {
            int length = in.get(in.position()) & 0xff | (in.get(in.position() + 1) & 0xff) << 8 | (in.get(in.position() + 2) & 0xff) << 16;
            if (in.remaining() < HEADER + length) {
                return null;
            }
            in.position(in.position() + HEADER);
            byte[] payload = new byte[length];
            in.get(payload);
            if (length == LARGEST) {
                begun = begun == null ? new ByteArrayOutputStream() : begun;
                begun.writeBytes(payload);
            } else if (begun == null) {
                return payload;
            } else {
                begun.writeBytes(payload);
                byte[] whole = begun.toByteArray();
                begun = null;
                return whole;
            }
        }
        return null;
    }

    /** A payload as one or more packets, ready to be sent. */
    static ByteBuffer frame(byte[] head, byte[] body, int bodyLength, int sequence) {
        int length = head.length + bodyLength;
        ByteBuffer out = ByteBuffer.allocate(length + HEADER * (length / LARGEST + 1));
        int done = 0;
        int number = sequence;
        do {
            int part = Math.min(LARGEST, length - done);
            out.put((byte) part).put((byte) (part >>> 8)).put((byte) (part >>> 16)).put((byte) number++);
            int fromHead = Math.min(part, Math.max(0, head.length - done));
            out.put(head, Math.min(done, head.length), fromHead);
            out.put(body, Math.max(0, done - head.length), part - fromHead);
            done += part;
            if (part < LARGEST) {
                break;
            }
        } while (true);
        return out.flip();
    }
}
