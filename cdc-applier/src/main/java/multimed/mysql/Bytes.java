package multimed.mysql;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads one packet's payload from front to back; what lies beyond its end is an error of the server's. */
final class Bytes {
    private static final int NULL = 0xfb;

    private final byte[] payload;
    private int at;

    Bytes(byte[] payload) {
        this.payload = payload;
    }

    int remaining() {
        return payload.length - at;
    }

    int u8() {
        return payload[at++] & 0xff;
    }

    long unsigned(int bytes) {
        long value = 0;
        for (int i = 0; i < bytes; i++) {
            value |= (long) u8() << 8 * i;
        }
        return value;
    }

    /** Length-encoded integer (protocol page "Integer Types"). */
    long lenenc() {
        int first = u8();
        return switch (first) {
            case 0xfc -> unsigned(2);
            case 0xfd -> unsigned(3);
            case 0xfe -> unsigned(8);
            default -> first;
        };
    }

    /** Length-encoded string of a text row; null for NULL. */
    String text() {
        if ((payload[at] & 0xff) == NULL) {
            return null;
        }
        return new String(take((int) lenenc()), StandardCharsets.UTF_8);
    }

    byte[] take(int bytes) {
        byte[] taken = Arrays.copyOfRange(payload, at, at + bytes);
        at += bytes;
        return taken;
    }

    byte[] rest() {
        return take(remaining());
    }

    String untilZero() {
        int end = at;
        while (payload[end] != 0) {
            end++;
        }
        String text = new String(payload, at, end - at, StandardCharsets.UTF_8);
        at = end + 1;
        return text;
    }
}
