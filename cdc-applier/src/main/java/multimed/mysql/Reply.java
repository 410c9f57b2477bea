package multimed.mysql;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;

/**
 * What a server says to one statement that has no result set (protocol pages "OK_Packet", "ERR_Packet").
 *
 * @param rows found or changed, as the session's flags say
 * @param error null if it succeeded
 * @param more whether the packet of statements goes on
 */
public record Reply(long rows, boolean more, SQLException error) {
    static final int OK = 0x00;
    static final int ERR = 0xff;
    static final int EOF = 0xfe;
    private static final int MORE_RESULTS = 0x0008;

    static Reply parse(byte[] payload) throws SQLException {
        Bytes in = new Bytes(payload);
        try {
            int kind = in.u8();
            if (kind == ERR) {
                return new Reply(0, false, error(in));
            }
            if (kind != OK) {
                throw new SQLException("an unexpected result", "08S01");
            }
            long rows = in.lenenc();
            in.lenenc();
            return new Reply(rows, (in.unsigned(2) & MORE_RESULTS) != 0, null);
        } catch (IndexOutOfBoundsException e) {
            throw new SQLException("a malformed packet", "08S01", e);
        }
    }

    static SQLException error(Bytes in) {
        int code = (int) in.unsigned(2);
        String rest = new String(in.rest(), StandardCharsets.UTF_8);
        boolean state = rest.startsWith("#") && rest.length() >= 6;
        return new SQLException(state ? rest.substring(6) : rest, state ? rest.substring(1, 6) : "HY000", code);
    }
}
