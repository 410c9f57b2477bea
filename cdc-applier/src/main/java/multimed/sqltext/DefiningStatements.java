package multimed.sqltext;

import java.util.Set;
import multimed.sqltext.SqlLexer.Kind;
import multimed.sqltext.SqlLexer.Token;

/**
 * In: a statement. Out: whether each name stands for the same table, view or function after it, unless it is new or gone. Pure. Must never:
 * miss a statement that makes a view or function, or gives one another name. (ALTER TABLE renames no view.)
 */
public final class DefiningStatements {
    private static final Set<String> KEEP = Set.of("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "TRUNCATE", "GRANT", "REVOKE",
            "ANALYZE",
            "OPTIMIZE", "REPAIR", "FLUSH", "DROP", "SAVEPOINT", "ROLLBACK");
    private static final Set<String> OTHERS = Set.of("TABLE", "TEMPORARY", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "DATABASE", "SCHEMA",
            "USER", "ROLE", "PROCEDURE", "EVENT", "TRIGGER");

    private DefiningStatements() {}

    /** @param sql one char per byte, as Latin-1 */
    public static boolean keepNames(String sql) {
        SqlLexer lexer = new SqlLexer(sql, true, "", SqlLexer.ANY_VERSION);
        String verb = word(lexer.next());
        return switch (verb) {
            case "CREATE", "ALTER" -> OTHERS.contains(word(lexer.next()));
            default -> KEEP.contains(verb);
        };
    }

    /** Empty for what is no word. */
    private static String word(Token token) {
        return token == null || token.kind() != Kind.WORD ? "" : token.text();
    }
}
