package multimed.binlog;

import java.nio.charset.StandardCharsets;

/**
 * A statement as text. Body: thread id 4, execution time 4, length of schema 1, error code 2, length of the status variables 2,
 * status variables, schema, zero byte, statement.
 *
 * @param sql in the character set of {@code status.characterSetClient}, if the client wrote it
 * @param threadSpecific whether a temporary table was used, see {@link BinlogEvent#threadSpecific}
 */
public record QueryEvent(String database, byte[] sql, int errorCode, long timestampMicros, StatusVariables status,
        boolean threadSpecific) {

    /** Bits of sql_mode. */
    public static final long ANSI_QUOTES = 1 << 2;
    public static final long NO_BACKSLASH_ESCAPES = 1 << 20;

    public static QueryEvent parse(BinlogEvent event) {
        ByteCursor body = event.body();
        body.skip(8);
        int schemaLength = body.u8();
        int errorCode = body.u16();
        StatusVariables status = StatusVariables.parse(body.part(body.u16()));
        String database = body.text(schemaLength);
        body.skip(1);
        byte[] sql = body.bytes(body.remaining());
        long micros = event.timestampSeconds() * 1_000_000 + status.microseconds();
        return new QueryEvent(database, sql, errorCode, micros, status, event.threadSpecific());
    }

    /** Like {@link #ascii} of a whole event, whatever its status variables are. */
    public static String ascii(BinlogEvent event) {
        ByteCursor body = event.body();
        body.skip(8);
        int schemaLength = body.u8();
        body.skip(2);
        body.skip(body.u16() + schemaLength + 1);
        return new String(body.bytes(body.remaining()), StandardCharsets.ISO_8859_1);
    }

    /** Whether a backslash in the statement's quotes is an ordinary character. */
    public boolean noBackslashEscapes() {
        return has(NO_BACKSLASH_ESCAPES);
    }

    /** Whether double quotes stand around names. */
    public boolean ansiQuotes() {
        return has(ANSI_QUOTES);
    }

    private boolean has(long mode) {
        return (sqlMode() & mode) != 0;
    }

    /** Under which it was read. */
    public long sqlMode() {
        return status.numbers().getOrDefault("sql_mode", 0L);
    }

    /** The statement byte by byte as Latin-1: good for looking at its ASCII keywords only. */
    public String ascii() {
        return new String(sql, StandardCharsets.ISO_8859_1);
    }
}
