package multimed.sqltext;

import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import multimed.binlog.QueryEvent;

/**
 * In: a statement as the binlog has it. Out: the procedure or function that it creates. Pure. Must never: guess a name. The head of such a
 * statement is the server's own, in UTF-8: {@code CREATE DEFINER=`user`@`host` FUNCTION [IF NOT EXISTS] [`schema`.]`name`(}.
 *
 * @param schema where it is created, also if the text doesn't name one
 */
public record CreatedRoutine(String schema, String name, boolean procedure) {
    private static final String NAME = "(`[^`]*+(?:``[^`]*+)*+`|\"[^\"]*+(?:\"\"[^\"]*+)*+\"|[\\w$\\x80-\\xff]++)";
    private static final Pattern HEAD = Pattern.compile("CREATE DEFINER=" + NAME + "@" + NAME
            + " (PROCEDURE|FUNCTION) (?:IF NOT EXISTS )?+(?:" + NAME + "\\.)?+" + NAME + "\\(");
    /** Some head of a routine, in whatever form. A view or a loadable function may look so, too. */
    private static final Pattern PERHAPS = Pattern.compile("(?si)\\s*CREATE\\b[^(]*\\b(PROCEDURE|FUNCTION)\\b.*");

    /** Null if this is not certain. */
    public static CreatedRoutine of(QueryEvent query) {
        Matcher head = HEAD.matcher(query.ascii());
        if (!head.lookingAt()) {
            return null;
        }
        String schema = head.group(4) == null ? query.database() : unquoted(head.group(4));
        return new CreatedRoutine(schema, unquoted(head.group(5)), head.group(3).equals("PROCEDURE"));
    }

    /** Whether it may create a routine. */
    public static boolean mayBe(QueryEvent query) {
        return PERHAPS.matcher(query.ascii()).matches();
    }

    private static String unquoted(String latin1) {
        String name = new String(latin1.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
        char quote = name.charAt(0);
        return quote != '`' && quote != '"'
                ? name
                : name.substring(1, name.length() - 1).replace("" + quote + quote, String.valueOf(quote));
    }
}
