package multimed.binlog;

/** MySQL's column type codes as they stand in table maps. */
public final class ColumnTypes {
    public static final int TINY = 1;
    public static final int SHORT = 2;
    public static final int LONG = 3;
    public static final int FLOAT = 4;
    public static final int DOUBLE = 5;
    public static final int LONGLONG = 8;
    public static final int INT24 = 9;
    public static final int DATE = 10;
    public static final int YEAR = 13;
    public static final int VARCHAR = 15;
    public static final int BIT = 16;
    public static final int TIMESTAMP = 17;
    public static final int DATETIME = 18;
    public static final int TIME = 19;
    public static final int VECTOR = 242;
    public static final int JSON = 245;
    public static final int DECIMAL = 246;
    public static final int ENUM = 247;
    public static final int SET = 248;
    public static final int BLOB = 252;
    public static final int VAR_STRING = 253;
    public static final int STRING = 254;
    public static final int GEOMETRY = 255;

    private ColumnTypes() {}

    /**
     * CHAR, ENUM and SET all come as STRING; the first metadata byte says which. For CHAR above 255 bytes two of its bits are
     * borrowed for the length and read inverted.
     */
    static int real(int type, int meta) {
        int first = meta >> 8 & 0xff;
        return type == STRING && (first == ENUM || first == SET) ? first : type;
    }

    /** Longest value of a CHAR or BINARY column in bytes: above 255 its length prefix takes two bytes. */
    public static int charLength(int meta) {
        int first = meta >> 8 & 0xff;
        int high = (first & 0x30) == 0x30 ? 0 : (first & 0x30 ^ 0x30) << 4;
        return high | meta & 0xff;
    }

    static boolean isNumeric(int type) {
        return switch (type) {
            case TINY, SHORT, INT24, LONG, LONGLONG, DECIMAL, FLOAT, DOUBLE, YEAR -> true;
            default -> false;
        };
    }

    /** In the lists of the metadata: of these a VECTOR is one, with the binary collation, and a GEOMETRY is not (MySQL 9.7, measured). */
    static boolean isCharacter(int type) {
        return switch (type) {
            case STRING, VAR_STRING, VARCHAR, BLOB, VECTOR -> true;
            default -> false;
        };
    }
}
