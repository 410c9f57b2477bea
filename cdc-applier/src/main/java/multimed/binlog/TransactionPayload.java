package multimed.binlog;

import com.github.luben.zstd.ZstdInputStream;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * A transaction that the master compressed (binlog_transaction_compression). In: the event. Out: the events inside, one by one;
 * they have no checksums. Must never: hold more than one of them, or end early without saying so.
 *
 * <p>Body: fields of type, length and value, all packed, up to a type 0 without length; then the payload.
 */
public final class TransactionPayload implements AutoCloseable {
    private static final int END = 0;
    private static final int COMPRESSION = 2;
    private static final int UNCOMPRESSED_SIZE = 3;
    private static final long ZSTD = 0;
    private static final long PLAIN = 255;
    private static final int LENGTH_AT = 9;

    private final long uncompressedBytes;
    private final InputStream in;

    private TransactionPayload(long uncompressedBytes, InputStream in) {
        this.uncompressedBytes = uncompressedBytes;
        this.in = in;
    }

    public static TransactionPayload open(BinlogEvent event) {
        ByteCursor body = event.body();
        long compression = -1;
        long size = -1;
        for (int field = body.packedInt(); field != END; field = body.packedInt()) {
            ByteCursor value = body.part(body.packedInt());
            if (field == COMPRESSION) {
                compression = value.packed();
            } else if (field == UNCOMPRESSED_SIZE) {
                size = value.packed();
            }
        }
        InputStream payload = new ByteArrayInputStream(event.bytes(), body.position(), body.remaining());
        return new TransactionPayload(size < 0 ? body.remaining() : size, uncompressed(compression, payload));
    }

    private static InputStream uncompressed(long compression, InputStream payload) {
        if (compression == PLAIN) {
            return payload;
        }
        if (compression != ZSTD) {
            throw new MalformedEventException("transaction payload with compression " + compression);
        }
        try {
            return new ZstdInputStream(payload);
        } catch (IOException e) {
            throw new MalformedEventException("transaction payload: " + e.getMessage());
        }
    }

    /** Length of all events inside. */
    public long uncompressedBytes() {
        return uncompressedBytes;
    }

    /** The next event inside; null after the last. */
    public BinlogEvent next() {
        try {
            byte[] header = in.readNBytes(BinlogEvent.HEADER);
            if (header.length == 0) {
                return null;
            }
            return BinlogEvent.of(rest(header));
        } catch (IOException e) {
            throw new MalformedEventException("transaction payload: " + e.getMessage());
        }
    }

    private byte[] rest(byte[] header) throws IOException {
        if (header.length < BinlogEvent.HEADER) {
            throw new EOFException("it ends inside an event");
        }
        long length = new ByteCursor(header, LENGTH_AT, LENGTH_AT + 4).u32();
        if (length < BinlogEvent.HEADER || length > Integer.MAX_VALUE - 8) {
            throw new EOFException("an event of " + length + " bytes");
        }
        byte[] event = Arrays.copyOf(header, (int) length);
        int read = in.readNBytes(event, BinlogEvent.HEADER, event.length - BinlogEvent.HEADER);
        if (read < event.length - BinlogEvent.HEADER) {
            throw new EOFException("it ends inside an event");
        }
        return event;
    }

    @Override
    public void close() {
        try {
            in.close();
        } catch (IOException e) {
            // nothing but memory is held
        }
    }
}
