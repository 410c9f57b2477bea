package multimed.capture;

import java.util.List;
import java.util.Set;
import multimed.binlog.QueryEvent;
import multimed.sqltext.SqlWords;

/**
 * In: a statement. Out: whether it is about temporary tables, which satellites don't have: there it would find a lasting table of the same
 * name. Pure. Must never: say that of a statement that changed something else.
 *
 * <p>A temporary table has no DDL that is atomic ({@link multimed.binlog.StatusVariables#atomic}) but TRUNCATE, and InnoDB's lasting tables no
 * other. The event's flag alone says less: it stays for all statements of a routine that has used a temporary table.
 */
final class TemporaryTables {
    enum Part {
        NONE, ALL, UNCERTAIN
    }

    private static final Set<String> INDEX = Set.of("INDEX", "UNIQUE", "FULLTEXT", "SPATIAL");
    /** These change no row, and no definition. */
    private static final Set<String> HARMLESS = Set.of("ANALYZE", "OPTIMIZE", "REPAIR", "FLUSH");
    private static final Set<String> ACCOUNTS = Set.of("GRANT", "REVOKE", "SET");
    private static final Set<String> LASTING = Set.of("DATABASE", "SCHEMA", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "USER",
            "ROLE", "DEFINER", "OR", "ALGORITHM", "SQL", "TABLESPACE", "SERVER");

    private TemporaryTables() {}

    static Part part(QueryEvent query, String charset) {
        List<String> words = SqlWords.of(query, charset);
        boolean said = saysTemporary(words);
        if (said != saysTemporary(SqlWords.of(query, charset, Statements.OLDEST_VERSION))) {
            return Part.UNCERTAIN;
        }
        if (said || !query.threadSpecific()) {
            return said ? Part.ALL : Part.NONE;
        }
        return query.status().atomic() ? atomic(words) : notAtomic(words);
    }

    private static boolean saysTemporary(List<String> words) {
        return words.size() > 2 && words.get(1).equals("TEMPORARY") && words.get(2).startsWith("TABLE");
    }

    /** What was emptied, or what a table was made like, may have been temporary. */
    private static Part atomic(List<String> words) {
        boolean like = word(words, 0).equals("CREATE") && words.contains("TABLE") && words.contains("LIKE");
        return like || word(words, 0).equals("TRUNCATE") ? Part.UNCERTAIN : Part.NONE;
    }

    private static Part notAtomic(List<String> words) {
        String verb = word(words, 0);
        String object = word(words, 1);
        if (HARMLESS.contains(verb)) {
            // Of one table: the temporary one.
            return words.contains("HISTOGRAM") ? Part.ALL : Part.NONE;
        }
        boolean ofTable = switch (verb) {
            case "TRUNCATE" -> true;
            case "CREATE", "DROP" -> INDEX.contains(object);
            case "ALTER" -> object.equals("TABLE");
            default -> false;
        };
        boolean lasting = ACCOUNTS.contains(verb) || LASTING.contains(object)
                || Set.of("CREATE", "DROP").contains(verb) && object.equals("TABLE");
        return ofTable ? Part.ALL : lasting && !words.contains("LIKE") ? Part.NONE : Part.UNCERTAIN;
    }

    private static String word(List<String> words, int index) {
        return index < words.size() ? words.get(index) : "";
    }
}
