package multimed.mysql;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;

/**
 * What a server says to one statement (protocol pages "OK_Packet", "ERR_Packet").
 *
 * @param rows found or changed, as the session's flags say
 * @param more whether the packet of statements goes on
 * @param error null if it succeeded
 * @param value first column of the first row; null if it is NULL, or there is none
 */
public record Reply(long rows, boolean more, SQLException error, String value) {
    static final int OK = 0x00;
    static final int ERR = 0xff;
    static final int EOF = 0xfe;
    private static final int LOCAL_INFILE = 0xfb;
    private static final int MORE_RESULTS = 0x0008;

    /** Whether a first packet is the head of a result set: neither of the two. */
    static boolean isResultSet(byte[] payload) {
        int kind = payload[0] & 0xff;
        return kind != OK && kind != ERR && kind != LOCAL_INFILE;
    }

    /** An OK packet under the header of an EOF, or an error; a row that begins so is of 16 MiB and more. */
    static boolean endsResultSet(byte[] payload) {
        int kind = payload[0] & 0xff;
        return kind == ERR || kind == EOF && payload.length < Frames.LARGEST;
    }

    static Reply parse(byte[] payload) throws SQLException {
        Bytes in = new Bytes(payload);
        try {
            int kind = in.u8();
            if (kind == ERR) {
                return new Reply(0, false, error(in), null);
            }
            if (kind != OK && kind != EOF) {
                throw new SQLException("an unexpected result", "08S01");
            }
            long rows = in.lenenc();
            in.lenenc();
            return new Reply(rows, (in.unsigned(2) & MORE_RESULTS) != 0, null, null);
        } catch (IndexOutOfBoundsException e) {
            throw new SQLException("a malformed packet", "08S01", e);
        }
    }

    Reply withValue(String first) {
        return new Reply(rows, more, error, first);
    }

    static SQLException error(Bytes in) {
        int code = (int) in.unsigned(2);
        String rest = new String(in.rest(), StandardCharsets.UTF_8);
        boolean state = rest.startsWith("#") && rest.length() >= 6;
        return new SQLException(state ? rest.substring(6) : rest, state ? rest.substring(1, 6) : "HY000", code);
    }
}
