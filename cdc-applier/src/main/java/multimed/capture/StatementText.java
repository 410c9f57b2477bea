package multimed.capture;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import multimed.binlog.QueryEvent;
import multimed.sqltext.Readings;
import multimed.sqltext.SqlWords;

/**
 * In: a statement as the binlog has it, and its client's character sets. Out: how its bytes are to be read. Pure. Must never: have a
 * satellite read a text otherwise than it was written.
 *
 * <p>A client's text is in its character set, under its sql_mode. The server puts some texts together, names in UTF-8. This is all of it:
 *
 * <pre>
 * CREATE USER, ALTER USER but for DEFAULT ROLE (SET PASSWORD too), GRANT … ON
 *                        all of it; escapes as sql_mode says, none in REQUIRE; COMMENT in the connection's character set
 * CREATE TABLE … LIKE a temporary table, … SELECT, with an invisible key
 *                        all of it, like SHOW CREATE TABLE; backslashes escape whatever the sql_mode is
 * CREATE VIEW, ALTER VIEW
 *                        up to AS; no strings
 * CREATE PROCEDURE, CREATE FUNCTION
 *                        up to the parameters, and then up to the body; backslashes escape whatever the sql_mode is
 * CREATE TRIGGER, CREATE EVENT
 *                        like these; they don't come here, since satellites have neither
 * </pre>
 */
final class StatementText {
    enum Reading {
        /** As the client reads it. */
        CLIENTS,
        /** In UTF-8 whatever the client speaks. */
        UTF8,
        /** A client may have written it under settings that read it otherwise. */
        AMBIGUOUS,
        UNCERTAIN
    }

    private static final Set<String> UTF8 = Set.of("utf8mb4", "utf8mb3", "utf8");

    private static final String NAME = "`[^`]*+(?:``[^`]*+)*+`|\"[^\"]*+(?:\"\"[^\"]*+)*+\"";
    private static final String ESCAPED = "'[^'\\\\]*+(?:(?:''|\\\\.)[^'\\\\]*+)*+'";
    private static final String NOT_ESCAPED = "'[^']*+(?:''[^']*+)*+'";

    /** Statements that the server writes into the binlog as the client sent them, unless they look {@link #SHOWN}. */
    private static final Pattern AS_SENT = Pattern.compile(
            "(CREATE|ALTER|DROP)\\s+((UNIQUE|FULLTEXT|SPATIAL)\\s+)?(TABLE|INDEX|DATABASE|SCHEMA)\\b.*"
                    + "|(ALTER|DROP)\\s+(PROCEDURE|FUNCTION)\\b.*|DROP\\s+VIEW\\b.*|(RENAME|ANALYZE|OPTIMIZE)\\s+TABLE\\b.*|TRUNCATE\\b.*"
                    + "|(DROP|RENAME)\\s+USER\\b.*|(CREATE|DROP)\\s+ROLE\\b.*|REVOKE\\b.*|SET\\s+DEFAULT\\s+ROLE\\b.*",
            Pattern.DOTALL);

    private static final String PLACE = "(?:" + NAME + "|[^\\s`\"'(.]++)";

    /** So begins a table as the server shows it; a client may write so, too. Types are in small letters. */
    private static final Pattern SHOWN = Pattern.compile(
            "CREATE TABLE (?:IF NOT EXISTS )?+(?:" + PLACE + "\\.)?+" + PLACE + " \\(\n  " + PLACE + " [a-z]");

    /** What can end the head of a view or routine, or hide such an end. */
    private static final Pattern HEAD = Pattern.compile(NAME + "|'|\\(|\\sAS\\s");

    private static final Pattern CHARACTERISTICS = Pattern.compile(
            "(?: RETURNS [^\n]*+)?+\n?+(?:    (?:NO SQL|READS SQL DATA|MODIFIES SQL DATA)\n)?+(?:    DETERMINISTIC\n)?+"
                    + "(?:    SQL SECURITY INVOKER\n)?+(?:    COMMENT " + ESCAPED + "\n)?+",
            Pattern.DOTALL);

    private static final String UNESCAPED = "REQUIRE (?:SUBJECT|ISSUER|CIPHER) |(?:COMMENT|ATTRIBUTE) ";

    /** One value without quotes in it: else there were more quotes. */
    private static final Pattern PLAIN = Pattern.compile("'[ -&(-\\[\\]-~]*+'[A-Z0-9_ ]*+");

    private final QueryEvent query;
    private final String text;
    private final String charset;
    private final String connection;

    private StatementText(QueryEvent query, String charset, String connection) {
        this.query = query;
        this.text = query.ascii();
        this.charset = charset;
        this.connection = connection;
    }

    /**
     * @param charset the client's, by MySQL's name
     * @param connection that of collation_connection
     */
    static Reading reading(QueryEvent query, String charset, String connection) {
        return new StatementText(query, charset, connection).reading();
    }

    /** Whether the client and the server, which writes in UTF-8 and escapes with backslashes, would read it alike. */
    static boolean isReadAlike(QueryEvent query, String charset) {
        return new StatementText(query, charset, "").isReadAlike(query.ascii());
    }

    private Reading reading() {
        if (text.startsWith("CREATE USER ") || text.startsWith("ALTER USER ") || text.startsWith("GRANT ")) {
            return ofAccounts();
        }
        if (isReadAlike(text)) {
            return ofClient();
        }
        boolean sent = AS_SENT.matcher(text.stripLeading().toUpperCase(Locale.ROOT)).matches() && !SHOWN.matcher(text).lookingAt();
        String servers = sent ? "" : serversPart();
        return servers != null && isReadAlike(servers) ? ofClient() : Reading.UNCERTAIN;
    }

    private Reading ofClient() {
        return Readings.areAlike(query, charset) ? Reading.CLIENTS : Reading.AMBIGUOUS;
    }

    /** Whoever wrote it. In swe7 even some of ASCII's characters are others. */
    private boolean isReadAlike(String part) {
        return isCharsetAlike(part) && !(query.noBackslashEscapes() && part.indexOf('\\') >= 0);
    }

    private boolean isCharsetAlike(String part) {
        return UTF8.contains(charset) || isAscii(part) && !charset.equals("swe7");
    }

    private static boolean isAscii(String text) {
        return text.chars().allMatch(c -> c < 0x80);
    }

    // --- accounts -------------------------------------------------------------------------------------------------

    private Reading ofAccounts() {
        boolean alike = isCharsetAlike(text);
        boolean servers = isServers(alike ? charset : "utf8mb4");
        if (!alike && (text.contains("/*!") || servers != isServers(charset))) {
            return Reading.UNCERTAIN;
        }
        if (!servers) {
            return ofClient();
        }
        if (!Readings.allSay(query, StatementText::isServers)) {
            return Reading.AMBIGUOUS;
        }
        return !isPlain() ? Reading.UNCERTAIN : alike ? Reading.CLIENTS : Reading.UTF8;
    }

    private boolean isServers(String readIn) {
        return isServers(SqlWords.of(query, readIn));
    }

    private static boolean isServers(List<String> words) {
        return switch (words.get(0)) {
            case "GRANT" -> words.contains("ON");
            case "ALTER" -> !words.contains("DEFAULT") || !word(words, words.indexOf("DEFAULT") + 1).equals("ROLE");
            default -> true;
        };
    }

    private static String word(List<String> words, int index) {
        return index < words.size() ? words.get(index) : "";
    }

    /** What the server does not escape, or not in UTF-8, can only be read as it was meant. */
    private boolean isPlain() {
        String string = query.noBackslashEscapes() ? NOT_ESCAPED : ESCAPED;
        Matcher part = Pattern.compile(string + "|" + NAME + "|" + UNESCAPED, Pattern.DOTALL).matcher(text);
        while (part.find()) {
            String rest = text.substring(part.end());
            if (part.group().startsWith("REQUIRE")) {
                return PLAIN.matcher(rest).matches();
            }
            if (part.group().endsWith(" ")) {
                return Pattern.compile(string, Pattern.DOTALL).matcher(rest).matches() && (isAscii(rest) || UTF8.contains(connection));
            }
        }
        return true;
    }

    // --- views and routines ---------------------------------------------------------------------------------------

    /** What of it the server wrote; null if that is not known. */
    private String serversPart() {
        if (!text.startsWith("CREATE ") && !text.startsWith("ALTER ") || text.contains("/*!")) {
            return null;
        }
        StringBuilder words = new StringBuilder();
        Matcher part = HEAD.matcher(text);
        for (int from = 0; part.find(); from = part.end()) {
            words.append(text, from, part.start());
            boolean view = says(words, "VIEW");
            boolean routine = says(words, "PROCEDURE") || says(words, "FUNCTION");
            switch (part.group().charAt(0)) {
                case '`', '"' -> {}
                case '(' -> {
                    if (view == routine) {
                        return null;
                    } else if (routine) {
                        return ofRoutine(part.end());
                    }
                }
                default -> {
                    return view && !routine && !part.group().equals("'") ? text.substring(0, part.start()) : null;
                }
            }
        }
        return null;
    }

    private static boolean says(CharSequence words, String word) {
        return Pattern.compile("\\b" + word + "\\b").matcher(words).find();
    }

    private String ofRoutine(int parameters) {
        int end = SqlWords.closing(query, parameters, charset);
        Matcher rest = end < 0 ? null : CHARACTERISTICS.matcher(text).region(end, text.length());
        if (rest == null || !rest.lookingAt() || text.startsWith("    ", rest.end())) {
            return null;
        }
        return text.substring(0, parameters) + rest.group();
    }
}
