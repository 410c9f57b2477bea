package multimed.binlog;

/**
 * The event that says how those after it are laid out. Its body ends with one byte for the checksum algorithm and 4 bytes
 * of checksum, whatever the algorithm is.
 */
final class FormatDescription {
    private static final int NONE = 0;
    private static final int CRC32 = 1;

    private FormatDescription() {}

    /** Whether the events after it end with a CRC32. */
    static boolean checksums(byte[] event) {
        int algorithm = event[event.length - 5] & 0xff;
        if (algorithm != NONE && algorithm != CRC32) {
            throw new MalformedEventException("unknown checksum algorithm " + algorithm);
        }
        return algorithm == CRC32;
    }

    /** The same description saying that events have no checksum, as BinlogEvent keeps them. */
    static byte[] withoutChecksums(byte[] event) {
        byte[] copy = event.clone();
        copy[copy.length - 5] = NONE;
        return copy;
    }
}
