package multimed.sqltext;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import multimed.binlog.QueryEvent;
import multimed.binlog.StatusVariables.Account;
import multimed.sqltext.SqlLexer.Kind;
import multimed.sqltext.SqlLexer.Token;

/**
 * In: a statement about accounts. Out: the same with its client's name wherever it says CURRENT_USER: who executes it on a satellite is
 * somebody else. Pure. Must never: let a name become SQL, or leave one CURRENT_USER out.
 */
public final class CurrentUser {
    private static final Set<String> VERBS = Set.of("CREATE", "ALTER", "DROP", "RENAME", "GRANT", "REVOKE", "SET");
    private static final Set<String> OBJECTS = Set.of("USER", "ROLE", "DEFAULT", "PASSWORD");

    private CurrentUser() {}

    /** @return null if that is not certain */
    public static byte[] named(QueryEvent query, String charset) {
        List<String> words = SqlWords.of(query, charset);
        if (!words.contains("CURRENT_USER") || !isOfAccounts(words)) {
            return query.sql();
        }
        String name = name(query.status().invoker(), charset);
        return name == null || query.ascii().contains("/*!") ? null : replaced(query, charset, name);
    }

    private static boolean isOfAccounts(List<String> words) {
        String verb = words.get(0);
        return VERBS.contains(verb) && (verb.equals("GRANT") || verb.equals("REVOKE") || OBJECTS.contains(words.get(1)));
    }

    /** Read alike whatever the sql_mode is; a character set may differ from UTF-8 where it is not ASCII. One char per byte. */
    private static String name(Account account, String charset) {
        if (account == null) {
            return null;
        }
        String name = quoted(account.user()) + "@" + quoted(account.host());
        boolean ascii = name.chars().allMatch(c -> c < 0x80) && !charset.equals("swe7");
        boolean alike = name.indexOf('\\') < 0 && (ascii || charset.startsWith("utf8"));
        return alike ? new String(name.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1) : null;
    }

    private static String quoted(String name) {
        return "'" + name.replace("'", "''") + "'";
    }

    private static byte[] replaced(QueryEvent query, String charset, String name) {
        String text = query.ascii();
        SqlLexer lexer = SqlWords.lexer(query, 0, charset, SqlLexer.ANY_VERSION);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int copied = 0;
        boolean host = false;
        Token token = lexer.next();
        while (token != null) {
            int end = lexer.at();
            Token next = lexer.next();
            if (!host && isWord(token, "CURRENT_USER")) {
                out.writeBytes(bytes(text.substring(copied, end - token.text().length()) + name));
                copied = end;
                if (isSymbol(next, "(")) {
                    lexer.next();
                    copied = lexer.at();
                    next = lexer.next();
                }
            }
            // A host may have that name.
            host = isSymbol(token, "@");
            token = next;
        }
        out.writeBytes(bytes(text.substring(copied)));
        return out.toByteArray();
    }

    private static byte[] bytes(String latin1) {
        return latin1.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static boolean isWord(Token token, String word) {
        return token.kind() == Kind.WORD && token.text().equals(word);
    }

    private static boolean isSymbol(Token token, String symbol) {
        return token != null && token.kind() == Kind.SYMBOL && token.text().equals(symbol);
    }
}
