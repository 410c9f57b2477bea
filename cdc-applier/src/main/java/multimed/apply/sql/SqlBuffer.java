package multimed.apply.sql;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * In: pieces of SQL. Out: their bytes, as the server will read them under character_set_client=utf8mb4 and
 * sql_mode NO_BACKSLASH_ESCAPES, where a quote is the only byte of a literal that needs doubling (no byte of a longer UTF-8
 * character looks like one). Must never: change a byte of a value.
 */
public final class SqlBuffer {
    private byte[] bytes = new byte[512];
    private int length;

    public int length() {
        return length;
    }

    public void clear() {
        length = 0;
    }

    public SqlBuffer add(String text) {
        return add(text.getBytes(StandardCharsets.UTF_8));
    }

    public SqlBuffer add(byte[] more) {
        ensureCapacity(more.length);
        System.arraycopy(more, 0, bytes, length, more.length);
        length += more.length;
        return this;
    }

    public SqlBuffer add(SqlBuffer more) {
        ensureCapacity(more.length);
        System.arraycopy(more.bytes, 0, bytes, length, more.length);
        length += more.length;
        return this;
    }

    public SqlBuffer add(char ascii) {
        ensureCapacity(1);
        bytes[length++] = (byte) ascii;
        return this;
    }

    /** `name`, any name. */
    public SqlBuffer addIdentifier(String name) {
        return add('`').add(name.replace("`", "``")).add('`');
    }

    /** 'value', any bytes. */
    SqlBuffer addQuoted(ByteString value) {
        int size = value.size();
        ensureCapacity(2L * size + 2);
        bytes[length++] = '\'';
        value.copyTo(bytes, length);
        int quotes = countQuotes(length, length + size);
        if (quotes > 0) {
            doubleQuotes(length, size, quotes);
        }
        length += size + quotes;
        bytes[length++] = '\'';
        return this;
    }

    public SqlBuffer addBase64(ByteString value) {
        return add(Base64.getEncoder().encode(value.toByteArray()));
    }

    private int countQuotes(int from, int to) {
        int quotes = 0;
        for (int i = from; i < to; i++) {
            if (bytes[i] == '\'') {
                quotes++;
            }
        }
        return quotes;
    }

    /** Spreads the bytes in place, from the end, so that none is overwritten before it is moved. */
    private void doubleQuotes(int from, int size, int quotes) {
        int to = from + size + quotes;
        for (int i = from + size - 1; to > i + 1; i--) {
            bytes[--to] = bytes[i];
            if (bytes[i] == '\'') {
                bytes[--to] = '\'';
            }
        }
    }

    private void ensureCapacity(long more) {
        long needed = length + more;
        if (needed > Integer.MAX_VALUE - 8) {
            throw new IllegalArgumentException("a statement of more than 2 GiB");
        }
        if (needed > bytes.length) {
            bytes = Arrays.copyOf(bytes, (int) Math.min(Integer.MAX_VALUE - 8, Math.max(needed, 2L * bytes.length)));
        }
    }

    byte[] toBytes() {
        return Arrays.copyOf(bytes, length);
    }

    /** Its own array, of which {@link #length} bytes count, until the next change. */
    public byte[] array() {
        return bytes;
    }

    /** If nothing was added that is not UTF-8. */
    public String text() {
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }
}
