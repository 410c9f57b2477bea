package multimed.binlog;

/**
 * One event as bytes: the 19-byte header and the body, without checksum.
 * Header: timestamp 4, type 1, server id 4, event length 4, end position 4, flags 2.
 */
public final class BinlogEvent {
    public static final int HEADER = 19;
    /** Length of a CRC32 behind an event. */
    public static final int CHECKSUM = 4;
    private static final int THREAD_SPECIFIC = 0x04;
    private static final int ARTIFICIAL = 0x20;
    private static final int IGNORABLE = 0x80;

    private final byte[] bytes;

    private BinlogEvent(byte[] bytes) {
        this.bytes = bytes;
    }

    /** Takes ownership of the bytes. */
    public static BinlogEvent of(byte[] bytes) {
        if (bytes.length < HEADER) {
            throw new MalformedEventException("an event of " + bytes.length + " bytes");
        }
        return new BinlogEvent(bytes);
    }

    /** After the checksum was left out: makes the length in the header that of the bytes. Changes them. */
    BinlogEvent withOwnLength() {
        for (int i = 0; i < 4; i++) {
            bytes[9 + i] = (byte) (bytes.length >>> 8 * i);
        }
        return this;
    }

    public int type() {
        return bytes[4] & 0xff;
    }

    long timestampSeconds() {
        return new ByteCursor(bytes, 0, 4).u32();
    }

    /** Position in the binlog file behind this event (low 32 bits); 0 for events that the server made up. */
    public long endPosition() {
        return new ByteCursor(bytes, 13, 17).u32();
    }

    /** LOG_EVENT_THREAD_SPECIFIC_F: temporary tables were used, by the statement or before it in the same routine. */
    boolean threadSpecific() {
        return (bytes[17] & THREAD_SPECIFIC) != 0;
    }

    public boolean artificial() {
        return (bytes[17] & ARTIFICIAL) != 0;
    }

    public boolean ignorable() {
        return (bytes[17] & IGNORABLE) != 0;
    }

    public int length() {
        return bytes.length;
    }

    /** Not a copy: must not be changed. */
    public byte[] bytes() {
        return bytes;
    }

    public ByteCursor body() {
        return new ByteCursor(bytes, HEADER, bytes.length);
    }
}
