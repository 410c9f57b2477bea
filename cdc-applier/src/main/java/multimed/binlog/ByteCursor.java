package multimed.binlog;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads MySQL's little-endian encodings from a part of a byte array. Throws MalformedEventException beyond its end. */
public final class ByteCursor {
    private final byte[] bytes;
    private final int end;
    private int position;

    public ByteCursor(byte[] bytes, int from, int to) {
        if (from < 0 || to > bytes.length || from > to) {
            throw new MalformedEventException("no bytes " + from + " to " + to + " of " + bytes.length);
        }
        this.bytes = bytes;
        this.position = from;
        this.end = to;
    }

    public int position() {
        return position;
    }

    public int remaining() {
        return end - position;
    }

    public int u8() {
        return bytes[take(1)] & 0xff;
    }

    int u16() {
        return (int) unsigned(2);
    }

    long u32() {
        return unsigned(4);
    }

    /** An unsigned integer of 1 to 8 bytes; 8 bytes wrap to signed. */
    public long unsigned(int length) {
        int from = take(length);
        long value = 0;
        for (int i = length - 1; i >= 0; i--) {
            value = value << 8 | bytes[from + i] & 0xff;
        }
        return value;
    }

    long bigEndian(int length) {
        int from = take(length);
        long value = 0;
        for (int i = 0; i < length; i++) {
            value = value << 8 | bytes[from + i] & 0xff;
        }
        return value;
    }

    /** MySQL's length-encoded integer. */
    long packed() {
        int first = u8();
        return switch (first) {
            case 252 -> unsigned(2);
            case 253 -> unsigned(3);
            case 254 -> unsigned(8);
            case 251, 255 -> throw new MalformedEventException("not a packed integer: " + first);
            default -> first;
        };
    }

    int packedInt() {
        long value = packed();
        if (value < 0 || value > Integer.MAX_VALUE) {
            throw new MalformedEventException("packed integer too large: " + value);
        }
        return (int) value;
    }

    public byte[] bytes(int length) {
        int from = take(length);
        return Arrays.copyOfRange(bytes, from, from + length);
    }

    public String text(int length) {
        int from = take(length);
        return new String(bytes, from, length, StandardCharsets.UTF_8);
    }

    String zeroTerminated() {
        int from = position;
        while (u8() != 0) {
            // searching the end
        }
        return new String(bytes, from, position - 1 - from, StandardCharsets.UTF_8);
    }

    /** A part of this cursor's bytes; this cursor moves behind it. */
    public ByteCursor part(int length) {
        int from = take(length);
        return new ByteCursor(bytes, from, from + length);
    }

    public void skip(int length) {
        take(length);
    }

    private int take(int length) {
        if (length < 0 || length > end - position) {
            throw new MalformedEventException("event ends " + (length - remaining()) + " bytes early");
        }
        int from = position;
        position += length;
        return from;
    }
}
