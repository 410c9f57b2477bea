package multimed.sqltext;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import multimed.binlog.QueryEvent;

/**
 * In: a statement's bytes. Out: its words in upper case, outside of quotes and comments; what stands in a versioned comment counts, since
 * some server executes it. Pure. Must never: leave out a word that MySQL would read; a word too many does no harm.
 */
public final class SqlWords {
    private static final long NO_BACKSLASH_ESCAPES = 1 << 20;

    /** Character sets in which the second byte of a character can look like a backslash. */
    private static final Set<String> TWO_BYTES = Set.of("gbk", "big5", "gb18030", "sjis", "cp932");

    private final String text;
    private final boolean backslashEscapes;
    private final String charset;
    private final List<String> words = new ArrayList<>();
    private int at;

    private SqlWords(byte[] sql, boolean backslashEscapes, String charset) {
        this.text = new String(sql, StandardCharsets.ISO_8859_1);
        this.backslashEscapes = backslashEscapes;
        this.charset = charset;
    }

    /** Under the statement's own sql_mode. */
    public static List<String> of(QueryEvent query, String charset) {
        return of(query.sql(), !noBackslashEscapes(query), charset);
    }

    public static boolean noBackslashEscapes(QueryEvent query) {
        return (query.status().numbers().getOrDefault("sql_mode", 0L) & NO_BACKSLASH_ESCAPES) != 0;
    }

    /** @param backslashEscapes whether the statement's sql_mode lacks NO_BACKSLASH_ESCAPES */
    public static List<String> of(byte[] sql, boolean backslashEscapes, String charset) {
        SqlWords words = new SqlWords(sql, backslashEscapes, charset);
        while (words.at < words.text.length()) {
            words.next();
        }
        return words.words;
    }

    private void next() {
        char c = text.charAt(at);
        if (c == '\'' || c == '"' || c == '`') {
            quoted(c);
        } else if (c == '#' || text.startsWith("--", at) && (at + 2 >= text.length() || text.charAt(at + 2) <= ' ')) {
            at = behind(text.indexOf('\n', at), 1);
        } else if (text.startsWith("/*!", at)) {
            at += 3;
            while (at < text.length() && Character.isDigit(text.charAt(at))) {
                at++;
            }
        } else if (text.startsWith("/*", at)) {
            at = behind(text.indexOf("*/", at + 2), 2);
        } else if (isWordChar(c)) {
            word();
        } else {
            at++;
        }
    }

    private void word() {
        int from = at;
        while (at < text.length() && isWordChar(text.charAt(at))) {
            at++;
        }
        words.add(text.substring(from, at).toUpperCase(Locale.ROOT));
    }

    private void quoted(char quote) {
        at++;
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == quote) {
                at++;
                return;
            }
            at += c == '\\' && quote != '`' && backslashEscapes || startsPair(c) ? 2 : 1;
        }
    }

    private boolean startsPair(char c) {
        if (!TWO_BYTES.contains(charset)) {
            return false;
        }
        boolean japanese = charset.equals("sjis") || charset.equals("cp932");
        return japanese ? c >= 0x81 && c <= 0x9f || c >= 0xe0 && c <= 0xfc : c >= 0x81 && c <= 0xfe;
    }

    private static boolean isWordChar(char c) {
        return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80;
    }

    private int behind(int found, int length) {
        return found < 0 ? text.length() : found + length;
    }
}
