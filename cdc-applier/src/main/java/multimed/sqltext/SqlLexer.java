package multimed.sqltext;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * In: a statement. Out: its tokens, one by one, as MySQL's own lexer splits them: comments are skipped, versioned comments read.
 * Pure. Must never: look further than the token that is asked for.
 */
final class SqlLexer {
    /** Reads every versioned comment: some server executes it. */
    static final int ANY_VERSION = Integer.MAX_VALUE;

    /** Character sets in which the second byte of a character can look like a backslash. */
    static final Set<String> TWO_BYTES = Set.of("gbk", "big5", "gb18030", "sjis", "cp932");

    /** Bytes from 0x80 on that are white space or control characters by MySQL's own tables (the {@code ctype} of its character sets). */
    static final Map<String, String> BLANKS = Map.ofEntries(
            Map.entry("armscii8", "\u00a0"),
            Map.entry("cp1250", "\u0080\u0081\u0083\u0088\u0090\u0098\u00a0"),
            Map.entry("cp850", "\u00ff"),
            Map.entry("cp852", "\u00ff"),
            Map.entry("cp866", "\u00ff"),
            Map.entry("dec8", "\u00a0"),
            Map.entry("geostd8", "\u00a0"),
            Map.entry("greek", "\u00a0"),
            Map.entry("hebrew", "\u00a0\u00fd\u00fe"),
            Map.entry("hp8", range(0x80, 0xa0) + "\u00b1\u00b2\u00f2\u00f3\u00f4\u00f5\u00ff"),
            Map.entry("keybcs2", "\u00ff"),
            Map.entry("latin1", "\u00a0"),
            Map.entry("latin2", "\u00a0"),
            Map.entry("latin5", "\u00a0"),
            Map.entry("latin7", "\u0081\u0083\u0088\u008a\u008c\u0090\u0098\u009a\u009c\u009f\u00a0\u00a1\u00a5"),
            Map.entry("macroman", "\u0080\u00cb\u00e5"));

    enum Kind {
        /** Letters, digits, {@code _}, {@code $} and whatever is neither ASCII nor blank; in upper case. */
        WORD,
        /** In any of the three quotes; without its content. */
        QUOTED,
        /** Any other character. */
        SYMBOL
    }

    record Token(Kind kind, String text) {}

    private final String text;

    private final boolean backslashEscapes;
    private final boolean ansiQuotes;
    private final String charset;
    private final String blanks;
    private final int version;
    private int from;
    private int at;
    private boolean inVersionedComment;
    private boolean unfinished;

    /**
     * @param text one char per byte, as Latin-1: what decides is ASCII in every character set that a client may use
     * @param backslashEscapes whether the statement's sql_mode lacks NO_BACKSLASH_ESCAPES
     * @param charset the client's character set, by MySQL's name
     * @param version of the server that reads versioned comments, like 90704
     */
    SqlLexer(String text, boolean backslashEscapes, String charset, int version) {
        this(text, backslashEscapes, false, charset, version);
    }

    /** @param ansiQuotes whether the statement's sql_mode has ANSI_QUOTES */
    SqlLexer(String text, boolean backslashEscapes, boolean ansiQuotes, String charset, int version) {
        this.text = text;
        this.backslashEscapes = backslashEscapes;
        this.ansiQuotes = ansiQuotes;
        this.charset = charset;
        this.blanks = BLANKS.getOrDefault(charset, "");
        this.version = version;
    }

    /** Null at the end. */
    Token next() {
        while (at < text.length() && skipOne()) {
            continue;
        }
        if (at >= text.length()) {
            return null;
        }
        from = at;
        char c = text.charAt(at);
        if (c == '\'' || c == '"' || c == '`') {
            skipQuoted(c);
            return new Token(Kind.QUOTED, "");
        }
        if (isWordChar(c)) {
            return new Token(Kind.WORD, word());
        }
        at++;
        return new Token(Kind.SYMBOL, String.valueOf(c));
    }

    /** Where the token begins that was given last. */
    int from() {
        return from;
    }

    /** Where the token ends that was given last. */
    int at() {
        return at;
    }

    /** Whether the text has ended within quotes or within a comment that is not versioned. */
    boolean isUnfinished() {
        return unfinished;
    }

    private String word() {
        while (at < text.length() && isWordChar(text.charAt(at))) {
            at += isTwoBytes() ? 2 : 1;
        }
        return text.substring(from, at).toUpperCase(Locale.ROOT);
    }

    private boolean isWordChar(char c) {
        boolean ascii = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$';
        return ascii || c >= 0x80 && !isBlank(c);
    }

    /** What the server skips between tokens; and control characters, which end {@code --} as white space does, and are an error elsewhere. */
    private boolean isBlank(char c) {
        return c <= ' ' || c == 0x7f || blanks.indexOf(c) >= 0;
    }

    private static String range(int from, int to) {
        return IntStream.rangeClosed(from, to).mapToObj(Character::toString).collect(Collectors.joining());
    }

    // --- quotes ---------------------------------------------------------------------------------------------------

    /** A quote inside is doubled, or stands behind a backslash. */
    private void skipQuoted(char quote) {
        boolean escapes = backslashEscapes && (quote == '\'' || quote == '"' && !ansiQuotes);
        at++;
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == quote && !text.startsWith(String.valueOf(quote), at + 1)) {
                at++;
                return;
            }
            boolean pair = c == quote || c == '\\' && escapes || isTwoBytes();
            at += pair ? 2 : 1;
        }
        unfinished = true;
    }

    /** Half of a character of GB18030's four bytes looks like one. Without its second byte a first one stands alone. */
    private boolean isTwoBytes() {
        if (!TWO_BYTES.contains(charset) || at + 1 >= text.length()) {
            return false;
        }
        char first = text.charAt(at);
        char second = text.charAt(at + 1);
        boolean low = second >= 0x40 && second <= 0x7e;
        return switch (charset) {
            case "sjis", "cp932" -> (first >= 0x81 && first <= 0x9f || first >= 0xe0 && first <= 0xfc)
                    && (low || second >= 0x80 && second <= 0xfc);
            case "big5" -> first >= 0xa1 && first <= 0xf9 && (low || second >= 0xa1 && second <= 0xfe);
            case "gb18030" -> first >= 0x81 && first <= 0xfe && (low || second >= 0x80 && second <= 0xfe || second >= '0' && second <= '9');
            default -> first >= 0x81 && first <= 0xfe && (low || second >= 0x80 && second <= 0xfe);
        };
    }

    // --- white space and comments ---------------------------------------------------------------------------------

    private boolean skipOne() {
        char c = text.charAt(at);
        if (isBlank(c)) {
            at++;
            return true;
        }
        if (c == '#' || text.startsWith("--", at) && (at + 2 >= text.length() || isBlank(text.charAt(at + 2)))) {
            at = behind(text.indexOf('\n', at), 1);
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
        int from = versionedText();
        if (from >= 0) {
            inVersionedComment = true;
            at = from;
        } else {
            int end = text.indexOf("*/", at + 2);
            unfinished = end < 0;
            at = behind(end, 2);
        }
        return true;
    }

    /** Where the text of a versioned comment begins that the server executes; -1 if this is none. */
    private int versionedText() {
        if (!text.startsWith("/*!", at)) {
            return -1;
        }
        int digits = at + 3;
        int end = digits;
        while (end < text.length() && end - digits < 6 && Character.isDigit(text.charAt(end))) {
            end++;
        }
        if (end - digits < 5) {
            return digits;
        }
        return Integer.parseInt(text.substring(digits, end)) <= version ? end : -1;
    }

    private int behind(int found, int length) {
        return found < 0 ? text.length() : found + length;
    }
}
