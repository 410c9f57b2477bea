package multimed.sqltext;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * In: a table's definition as SHOW CREATE TABLE has it under sql_mode ANSI_QUOTES. Out: what in its expressions may have another value on
 * another server, of those whose values the server keeps: stored generated columns, parts of keys, and virtual columns in keys. Defaults and
 * CHECKs give existing rows no values. Pure. Must never: leave out an expression whose value is kept.
 */
public final class TableExpressions {
    private static final Set<String> KEYS = Set.of("PRIMARY", "UNIQUE", "KEY", "FULLTEXT", "SPATIAL");

    private record Virtual(String name, SqlTokens expression) {}

    private final String text;
    private final SqlTokens tokens;
    private final List<SqlTokens> kept = new ArrayList<>();
    private final List<Virtual> virtual = new ArrayList<>();
    private final Set<String> inKeys = new HashSet<>();

    private TableExpressions(String text) {
        this.text = text;
        // The server's own text: backslashes always escape.
        this.tokens = SqlTokens.of(new SqlLexer(text, true, true, "utf8mb4", SqlLexer.ANY_VERSION));
    }

    /**
     * @param allVirtual whether all virtual columns count as if they were in keys
     * @return null: nothing
     */
    public static String doubt(String definition, boolean allVirtual) {
        TableExpressions table = new TableExpressions(
                new String(definition.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1));
        return table.isTable() ? table.doubt(allVirtual) : null;
    }

    /** It may be a view's. */
    private boolean isTable() {
        return tokens.word(0).equals("CREATE") && tokens.word(1).equals("TABLE") && tokens.isQuoted(2) && tokens.is(3, "(");
    }

    private String doubt(boolean allVirtual) {
        int end = tokens.closing(3);
        for (int from = 4; from < end;) {
            int to = tokens.comma(from, end);
            element(tokens.part(from, to));
            from = to + 1;
        }
        virtual.stream().filter(v -> allVirtual || inKeys.contains(v.name())).forEach(v -> kept.add(v.expression()));
        return kept.stream().map(AllowedFunctions::doubt).filter(d -> d != null).findFirst().orElse(null);
    }

    private void element(SqlTokens element) {
        if (element.isQuoted(0)) {
            column(element);
        } else if (KEYS.contains(element.word(0))) {
            key(element);
        }
    }

    private void column(SqlTokens column) {
        int as = column.indexOf("GENERATED", 1) + 2;
        if (as < 2 || !column.word(as).equals("AS")) {
            return;
        }
        int end = column.closing(as + 1);
        SqlTokens expression = column.part(as + 2, end);
        if (column.word(end + 1).equals("VIRTUAL")) {
            virtual.add(new Virtual(name(column, 0), expression));
        } else {
            kept.add(expression);
        }
    }

    private void key(SqlTokens key) {
        int open = 1;
        while (open < key.size() && !key.is(open, "(")) {
            open++;
        }
        int end = key.closing(open);
        for (int from = open + 1; from < end;) {
            int to = key.comma(from, end);
            if (key.isQuoted(from)) {
                inKeys.add(name(key, from));
            } else {
                kept.add(key.part(from, to));
            }
            from = to + 1;
        }
    }

    private String name(SqlTokens of, int index) {
        return text.substring(of.at(index).from(), of.at(index).to());
    }
}
