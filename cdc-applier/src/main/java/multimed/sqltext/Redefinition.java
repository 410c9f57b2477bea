package multimed.sqltext;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * In: a statement that makes or renames a view or function. Out: the names that stand for something else after it. Pure. Must never: leave
 * out one of them: what is not understood may be any name.
 */
public final class Redefinition {
    private static final Pattern TOKEN = Pattern.compile("`[^`]*+(?:``[^`]*+)*+`|[\\w$]+|\\S");

    /** @param schema null: the current one */
    public record Name(String schema, String name) {}

    private final List<String> tokens = new ArrayList<>();
    private final List<Name> names = new ArrayList<>();
    private int at;

    private Redefinition(String plain) {
        Matcher token = TOKEN.matcher(plain);
        while (token.find()) {
            tokens.add(token.group());
        }
    }

    /** @param sql in ASCII, else nothing is understood; read with backslashes as escapes and double quotes around strings. None: any name */
    public static List<Name> names(String sql) {
        String plain = sql.chars().allMatch(c -> c < 0x80) ? DefinitionText.of(sql, "") : null;
        if (plain == null) {
            return List.of();
        }
        Redefinition redefinition = new Redefinition(plain);
        return redefinition.understood() ? redefinition.names : List.of();
    }

    private boolean understood() {
        if (eat("RENAME")) {
            return (eat("TABLE") || eat("TABLES")) && renamed();
        }
        if (!eat("CREATE") && !eat("ALTER")) {
            return false;
        }
        // An account or a value may be called so: then nothing is certain.
        while (at < tokens.size() && !is("VIEW") && !is("FUNCTION")) {
            at++;
        }
        boolean value = at > 0 && at < tokens.size() && "=@.".contains(tokens.get(at - 1));
        at++;
        if (eat("IF") && !(eat("NOT") && eat("EXISTS"))) {
            return false;
        }
        return !value && name();
    }

    private boolean renamed() {
        do {
            if (!name() || !eat("TO") || !name()) {
                return false;
            }
        } while (eat(","));
        return at == tokens.size();
    }

    private boolean name() {
        String first = identifier();
        String second = first != null && eat(".") ? identifier() : null;
        if (first == null || at > 0 && tokens.get(at - 1).equals(".")) {
            return false;
        }
        names.add(second == null ? new Name(null, first) : new Name(first, second));
        return true;
    }

    private String identifier() {
        String token = at < tokens.size() ? tokens.get(at) : "";
        boolean quoted = token.length() > 2 && token.startsWith("`");
        if (!quoted && !token.matches("[\\w$]+")) {
            return null;
        }
        at++;
        return quoted ? token.substring(1, token.length() - 1).replace("``", "`") : token;
    }

    private boolean is(String word) {
        return at < tokens.size() && tokens.get(at).equalsIgnoreCase(word);
    }

    private boolean eat(String word) {
        boolean found = is(word);
        at += found ? 1 : 0;
        return found;
    }
}
