package multimed.capture;

import java.util.Collections;
import java.util.List;
import multimed.binlog.QueryEvent;
import multimed.sqltext.SqlWords;

/**
 * In: a statement as the binlog has it, and the character set of its text. Out: why its text is not certain to do on a satellite what
 * it did on the master, or null. Pure. Must never: call a statement safe that depends on more than the data and its session settings.
 */
final class UnsafeStatements {
    /** What a satellite must read again, too. */
    private static final List<String> KEPT_FLUSHES = List.of("PRIVILEGES", "OPTIMIZER_COSTS");

    private UnsafeStatements() {}

    /** @param charset that the text is in */
    static String of(QueryEvent query, String charset) {
        List<String> words = words(query, charset);
        int table = words.indexOf("TABLE");
        if (table < 1 || table > 3) {
            return null;
        }
        List<String> rest = words.subList(table + 1, words.size());
        if (words.get(0).equals("ALTER") && rest.contains("IMPORT") && rest.contains("TABLESPACE")) {
            return "rows from a file of the master's";
        }
        if (words.get(0).equals("CREATE") && readsTables(rest)) {
            return "created from a query in statement format";
        }
        return null;
    }

    /** Whether it changes nothing that lasts, and would wait for a satellite's readers: FLUSH TABLES and the like. */
    static boolean flushesMemory(QueryEvent query, String charset) {
        List<String> words = words(query, charset);
        return !words.isEmpty() && words.get(0).equals("FLUSH") && Collections.disjoint(words, KEPT_FLUSHES);
    }

    /** Under the statement's own sql_mode. */
    static List<String> words(QueryEvent query, String charset) {
        return SqlWords.of(query, charset);
    }

    private static boolean readsTables(List<String> words) {
        int values = words.indexOf("VALUES");
        return words.contains("SELECT") || words.contains("TABLE")
                || values >= 0 && values + 1 < words.size() && words.get(values + 1).equals("ROW");
    }
}
