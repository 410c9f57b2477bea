package multimed.sqltext;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import multimed.sqltext.SqlLexer.Kind;
import multimed.sqltext.SqlLexer.Token;

/**
 * In: a statement's bytes. Out: whether what it does to a table may depend on the table's indexes: ALTER TABLE, CREATE and DROP INDEX,
 * RENAME TABLE, CREATE TABLE … LIKE. Pure. Must never: miss one of these.
 */
public final class TableStatements {
    private static final Set<String> INDEX_KINDS = Set.of("UNIQUE", "FULLTEXT", "SPATIAL");

    private final SqlLexer lexer;

    private TableStatements(SqlLexer lexer) {
        this.lexer = lexer;
    }

    /**
     * @param charset that the text is in, by MySQL's name
     * @param version the satellite's, like 90704
     */
    public static boolean dependOnIndexes(ByteString sql, String charset, int version) {
        return new TableStatements(new SqlLexer(sql.toString(StandardCharsets.ISO_8859_1), true, charset, version)).dependsOnIndexes();
    }

    private boolean dependsOnIndexes() {
        String verb = word(lexer.next());
        String object = word(lexer.next());
        return switch (verb) {
            case "ALTER" -> object.equals("TABLE");
            case "RENAME" -> object.startsWith("TABLE");
            case "DROP" -> object.equals("INDEX");
            case "CREATE" -> object.equals("INDEX") || INDEX_KINDS.contains(object) || object.equals("TABLE") && saysLike();
            default -> false;
        };
    }

    private boolean saysLike() {
        for (Token token = lexer.next(); token != null; token = lexer.next()) {
            if (word(token).equals("LIKE")) {
                return true;
            }
        }
        return false;
    }

    /** Empty for what is no word. */
    private static String word(Token token) {
        return token == null || token.kind() != Kind.WORD ? "" : token.text();
    }
}
