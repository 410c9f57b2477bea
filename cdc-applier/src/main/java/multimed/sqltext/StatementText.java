package multimed.sqltext;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Optional;

/**
 * In: a statement's bytes. Out: whether it creates, alters or drops a trigger or event, found from its leading words as
 * MySQL's own lexer reads them: comments skipped, versioned comments read, DEFINER clauses passed over. Pure.
 * Must never: look at more than the leading words.
 */
public final class StatementText {
    /** One char per byte; what decides is ASCII in every character set that a client may use. */
    private final String text;
    private final int version;
    private int at;
    private boolean inVersionedComment;

    private StatementText(ByteString sql, int version) {
        this.text = sql.toString(StandardCharsets.ISO_8859_1);
        this.version = version;
    }

    /** @param version the satellite's, like 90704 */
    public static boolean leavesSatellitesAlone(ByteString sql, int version) {
        return new StatementText(sql, version).isTriggerOrEvent();
    }

    public static String shortened(ByteString sql) {
        String line = sql.toString(StandardCharsets.UTF_8).replaceAll("\\s+", " ");
        return "statement=\"" + (line.length() <= 120 ? line : line.substring(0, 120) + "…") + '"';
    }

    private boolean isTriggerOrEvent() {
        String verb = word();
        if (!verb.equals("CREATE") && !verb.equals("ALTER") && !verb.equals("DROP")) {
            return false;
        }
        String object = word();
        if (object.equals("OR")) {
            word();
            object = word();
        }
        if (object.equals("DEFINER")) {
            definer();
            object = word();
        }
        return object.equals("TRIGGER") || object.equals("EVENT");
    }

    /** DEFINER = user | user@host | CURRENT_USER [()], names bare or in any of the three quotes. */
    private void definer() {
        symbol('=');
        name();
        if (symbol('@')) {
            name();
        } else if (symbol('(')) {
            symbol(')');
        }
    }

    private String word() {
        skipSpace();
        int from = at;
        while (at < text.length() && isWordChar(text.charAt(at))) {
            at++;
        }
        return text.substring(from, at).toUpperCase(Locale.ROOT);
    }

    /** In a bare host name dots and % don't occur unquoted, but a number or a dash may: 127.0.0.1 needs quotes in MySQL too. */
    private void name() {
        skipSpace();
        if (at < text.length() && "`'\"".indexOf(text.charAt(at)) >= 0) {
            quoted(text.charAt(at));
        } else {
            word();
        }
    }

    private void quoted(char quote) {
        at++;
        while (at < text.length()) {
            char c = text.charAt(at++);
            if (c == '\\' && quote != '`') {
                at++;
            } else if (c == quote) {
                if (at >= text.length() || text.charAt(at) != quote) {
                    return;
                }
                at++;
            }
        }
    }

    private boolean symbol(char c) {
        skipSpace();
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private static boolean isWordChar(char c) {
        return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80;
    }

    private void skipSpace() {
        while (at < text.length() && skipOne()) {
            continue;
        }
    }

    private boolean skipOne() {
        char c = text.charAt(at);
        if (c <= ' ') {
            at++;
            return true;
        }
        if (c == '#' || text.startsWith("--", at) && (at + 2 >= text.length() || text.charAt(at + 2) <= ' ')) {
            at = orEnd(text.indexOf('\n', at));
            return true;
        }
        if (inVersionedComment && text.startsWith("*/", at)) {
            inVersionedComment = false;
            at += 2;
            return true;
        }
        return text.startsWith("/*", at) && skipComment();
    }

    private boolean skipComment() {
        Optional<Integer> readFrom = versionedText();
        if (readFrom.isPresent()) {
            inVersionedComment = true;
            at = readFrom.get();
        } else {
            int end = text.indexOf("*/", at + 2);
            at = end < 0 ? text.length() : end + 2;
        }
        return true;
    }

    /** Where the text of a versioned comment that this server executes begins. */
    private Optional<Integer> versionedText() {
        if (!text.startsWith("/*!", at)) {
            return Optional.empty();
        }
        int digits = at + 3;
        int end = digits;
        while (end < text.length() && end - digits < 6 && Character.isDigit(text.charAt(end))) {
            end++;
        }
        if (end - digits < 5) {
            return Optional.of(digits);
        }
        return Integer.parseInt(text.substring(digits, end)) <= version ? Optional.of(end) : Optional.empty();
    }

    private int orEnd(int found) {
        return found < 0 ? text.length() : found + 1;
    }
}
