package multimed.capture;

import java.util.List;
import multimed.binlog.QueryEvent;
import multimed.sqltext.SqlWords;

/**
 * In: a statement as the binlog has it, and the character set of its text. Out: why its text is not certain to do on a satellite what
 * it did on the master, or null. Pure. Must never: call a statement safe that depends on more than the data and its session settings.
 */
final class UnsafeStatements {
    private UnsafeStatements() {}

    /** @param charset that the text is in */
    static String of(QueryEvent query, String charset) {
        List<String> words = words(query, charset);
        int table = words.indexOf("TABLE");
        if (table < 1 || table > 3) {
            return null;
        }
        List<String> rest = words.subList(table + 1, words.size());
        if (words.get(0).equals("CREATE") && readsTables(rest)) {
            return "created from a query in statement format";
        }
        if (!words.get(0).equals("ALTER")) {
            return null;
        }
        if (rest.contains("CONNECTION_ID")) {
            return "a default that depends on the connection";
        }
        return numbersRows(rest) ? "numbers rows in the order that they have on the master" : null;
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

    /** ADD … AUTO_INCREMENT: without a primary key the rows' order is that of their insertion, which is not that of the commits. */
    private static boolean numbersRows(List<String> words) {
        boolean adding = false;
        for (int i = 0; i < words.size(); i++) {
            switch (words.get(i)) {
                case "ADD" -> adding = true;
                case "MODIFY", "CHANGE", "ALTER" -> adding = false;
                case "AUTO_INCREMENT" -> {
                    boolean option = i + 1 < words.size() && words.get(i + 1).matches("[0-9]+");
                    if (adding && !option) {
                        return true;
                    }
                }
                default -> {}
            }
        }
        return false;
    }
}
