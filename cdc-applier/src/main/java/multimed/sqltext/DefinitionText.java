package multimed.sqltext;

/**
 * In: the text of a view or function. Out: the same without comments and without what stands in strings, and with names in backticks only,
 * so that every sql_mode reads it alike. Pure. Must never: pass on a value; leave out a name.
 */
public final class DefinitionText {
    private final String text;
    private final boolean ansiQuotes;
    private final boolean backslashEscapes;
    private final StringBuilder plain = new StringBuilder();
    private int at;

    private DefinitionText(String text, String sqlMode) {
        this.text = text;
        String modes = "," + sqlMode + ",";
        ansiQuotes = modes.contains(",ANSI_QUOTES,");
        backslashEscapes = !modes.contains(",NO_BACKSLASH_ESCAPES,");
    }

    /** Null for what cannot be read with certainty: what servers of some versions only execute, quotes without end. */
    public static String of(String text, String sqlMode) {
        return new DefinitionText(text, sqlMode).plain();
    }

    private String plain() {
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == '\'' || c == '"' || c == '`') {
                if (!quoted(c)) {
                    return null;
                }
            } else if (text.startsWith("/*", at)) {
                int end = text.indexOf("*/", at + 2);
                if (end < 0 || text.startsWith("/*!", at) || text.startsWith("/*M!", at)) {
                    return null;
                }
                replace(end + 2);
            } else if (c == '#' || text.startsWith("--", at) && (at + 2 >= text.length() || isBlank(text.charAt(at + 2)))) {
                int end = text.indexOf('\n', at);
                replace(end < 0 ? text.length() : end);
            } else {
                plain.append(c);
                at++;
            }
        }
        return plain.toString();
    }

    /** White space or a control character, in Unicode. */
    private static boolean isBlank(char c) {
        return c <= ' ' || c >= 0x7f && c <= 0xa0;
    }

    private void replace(int end) {
        plain.append(' ');
        at = end;
    }

    private boolean quoted(char quote) {
        boolean name = quote == '`' || quote == '"' && ansiQuotes;
        StringBuilder content = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char c = text.charAt(at);
            boolean doubled = c == quote && at + 1 < text.length() && text.charAt(at + 1) == quote;
            if (c == quote && !doubled) {
                at++;
                plain.append(name ? "`" + content.toString().replace("`", "``") + "`" : "''");
                return true;
            }
            content.append(c);
            if (doubled || c == '\\' && !name && backslashEscapes) {
                at++;
            }
        }
        return false;
    }
}
