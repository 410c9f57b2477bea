package multimed.capture;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import multimed.binlog.QueryEvent;
import multimed.sqltext.SqlWords;

/**
 * In: a statement as the binlog has it, and its client's character set. Out: why its text is not certain to do on a satellite what
 * it did on the master, or null. Pure. Must never: call a statement safe that depends on more than the data and its session settings.
 */
final class UnsafeStatements {
    /** Statements that the server writes into the binlog as the client sent them; others it puts together itself, names in UTF-8. */
    private static final Pattern AS_SENT = Pattern.compile(
            "(CREATE|ALTER|DROP)\\s+((UNIQUE|FULLTEXT|SPATIAL)\\s+)?(TABLE|INDEX|DATABASE|SCHEMA)\\b.*"
                    + "|(ALTER|DROP)\\s+(PROCEDURE|FUNCTION)\\b.*|DROP\\s+VIEW\\b.*|(RENAME|ANALYZE|OPTIMIZE)\\s+TABLE\\b.*|TRUNCATE\\b.*",
            Pattern.DOTALL);

    /** Of these only the head is put together by the server: definer, name, a view's columns; and a routine's comment. */
    private static final Pattern HEAD = Pattern.compile(
            "((?:CREATE|ALTER)\\b[^'\"(]*?\\bVIEW\\b.*?\\sAS\\s|CREATE\\b.*?\\b(?:PROCEDURE|FUNCTION)\\b[^(]*\\().*", Pattern.DOTALL);

    /**
     * So begins what the server writes instead of the client's text (LIKE a temporary table, an invisible key added), always in
     * UTF-8.
     */
    private static final Pattern SHOWN = Pattern.compile("CREATE TABLE (`[^`]*`\\.)?`[^`]*` \\(\n.*", Pattern.DOTALL);

    private static final Set<String> UTF8 = Set.of("utf8mb4", "utf8mb3", "utf8", "ascii");

    private UnsafeStatements() {}

    static String of(QueryEvent query, String charset) {
        String text = inCharset(query, charset);
        return text != null ? text : dependsOnMore(query, charset);
    }

    /** The bytes go to the satellite as they are, under the same character_set_client: right if they are all the client's. */
    private static String inCharset(QueryEvent query, String charset) {
        if (UTF8.contains(charset) || isAscii(query.sql(), query.sql().length)) {
            return null;
        }
        String upper = query.ascii().stripLeading().toUpperCase(Locale.ROOT);
        Matcher head = HEAD.matcher(upper);
        boolean clients = AS_SENT.matcher(upper).matches()
                || head.matches() && isAscii(head.group(1)) && !words(query, charset).contains("COMMENT");
        boolean servers = SHOWN.matcher(upper).matches() && isUtf8(query.sql());
        return clients && !servers ? null : "text in character set " + charset;
    }

    /** Under the statement's own sql_mode. */
    static List<String> words(QueryEvent query, String charset) {
        return SqlWords.of(query.sql(), !query.noBackslashEscapes(), charset);
    }

    private static boolean isUtf8(byte[] bytes) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    private static boolean isAscii(String text) {
        return text.chars().allMatch(c -> c < 0x80);
    }

    private static boolean isAscii(byte[] bytes, int length) {
        for (int i = 0; i < length; i++) {
            if (bytes[i] < 0) {
                return false;
            }
        }
        return true;
    }

    private static String dependsOnMore(QueryEvent query, String charset) {
        List<String> words = words(query, charset);
        int table = words.indexOf("TABLE");
        if (table < 1 || table > 3) {
            return null;
        }
        List<String> rest = words.subList(table + 1, words.size());
        if (words.get(0).equals("CREATE") && readsTables(rest)) {
            return "created from a query in statement format";
        }
        if (!words.get(0).equals("ALTER")) {
            return null;
        }
        if (rest.contains("CONNECTION_ID")) {
            return "a default that depends on the connection";
        }
        return numbersRows(rest) ? "numbers rows in the order that they have on the master" : null;
    }

    private static boolean readsTables(List<String> words) {
        int values = words.indexOf("VALUES");
        return words.contains("SELECT") || words.contains("TABLE")
                || values >= 0 && values + 1 < words.size() && words.get(values + 1).equals("ROW");
    }

    /** ADD … AUTO_INCREMENT: without a primary key the rows' order is that of their insertion, which is not that of the commits. */
    private static boolean numbersRows(List<String> words) {
        boolean adding = false;
        for (int i = 0; i < words.size(); i++) {
            switch (words.get(i)) {
                case "ADD" -> adding = true;
                case "MODIFY", "CHANGE", "ALTER" -> adding = false;
                case "AUTO_INCREMENT" -> {
                    boolean option = i + 1 < words.size() && words.get(i + 1).matches("[0-9]+");
                    if (adding && !option) {
                        return true;
                    }
                }
                default -> {}
            }
        }
        return false;
    }
}
