package multimed.sqltext;

import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import multimed.binlog.QueryEvent;

/**
 * In: a statement. Out: what it computes for the rows that a table has: numbers in the rows' order, and values of expressions, those in its
 * text and those in the table's definition, which {@code ALTER TABLE}, {@code CREATE INDEX} and others do. Pure. Must never: call an
 * expression certain that is not of {@link AllowedFunctions}, or rely on a text that some servers read otherwise.
 *
 * @param numbered the table whose rows it numbers, as the statement names it; empty: none
 * @param again tables, as the statement names them, for whose rows it may compute again what their definitions have: a copy computes stored
 *     columns, and keys are built from values of expressions. See {@link TableExpressions}
 * @param makesKeys whether virtual columns that are in no key may be in one after it
 * @param doubt what is not certain to be alike on a satellite; null: nothing
 */
public record ComputedValues(ByteString numbered, List<ByteString> again, boolean makesKeys, String doubt) {
    private static final ComputedValues NONE = new ComputedValues(ByteString.EMPTY, List.of(), false, null);
    private static final Set<String> INDEX_KINDS = Set.of("UNIQUE", "FULLTEXT", "SPATIAL");
    private static final Set<String> UNDERSTOOD = Set.of("TABLE", "INDEX", "VIEW");
    private static final Set<String> OBJECTS = Set.of("TABLE", "INDEX", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT");
    private static final Set<String> KEYS = Set.of("KEY", "INDEX", "UNIQUE", "SERIAL");

    /** @param charset that the text is in */
    public static ComputedValues of(QueryEvent query, String charset, int oldestVersion) {
        SqlTokens tokens = tokens(query, charset, SqlLexer.ANY_VERSION);
        if (query.ascii().contains("/*!") && isReadDifferently(tokens, tokens(query, charset, oldestVersion))) {
            return new ComputedValues(ByteString.EMPTY, List.of(), false, "a comment for some versions");
        }
        if (definesColumns(tokens) && AllowedFunctions.hasWeekWithoutMode(tokens)) {
            // The master writes the mode of default_week_format into the definition.
            return new ComputedValues(ByteString.EMPTY, List.of(), false, "WEEK without a mode");
        }
        return new Reading(query, tokens).values();
    }

    /** Of routines, triggers and events a server keeps the text; of tables, indexes and views what it has understood. */
    private static boolean definesColumns(SqlTokens tokens) {
        boolean defines = tokens.word(0).equals("CREATE") || tokens.word(0).equals("ALTER");
        return defines && IntStream.range(1, tokens.size()).mapToObj(tokens::word).filter(OBJECTS::contains).findFirst()
                .filter(UNDERSTOOD::contains)
                .isPresent();
    }

    private static SqlTokens tokens(QueryEvent query, String charset, int version) {
        return SqlTokens.of(SqlWords.lexer(query, 0, charset, version));
    }

    /**
     * What one server skips and another reads can hide any function, from a server between the two as well. A master writes the comments that it
     * has skipped as ordinary ones; a satellite can be older than its master.
     */
    private static boolean isReadDifferently(SqlTokens any, SqlTokens oldest) {
        if (any.equals(oldest)) {
            return false;
        }
        boolean sameKind = any.part(0, 2).equals(oldest.part(0, 2));
        return sameKind ? computes(any) : any.hasWord("ALTER") || any.hasWord("INDEX") || any.hasWord("OPTIMIZE");
    }

    /** Whether it is of those that compute for rows. */
    private static boolean computes(SqlTokens tokens) {
        String object = tokens.word(1);
        return switch (tokens.word(0)) {
            case "ALTER" -> object.equals("TABLE");
            case "CREATE" -> object.equals("INDEX") || INDEX_KINDS.contains(object);
            case "DROP" -> object.equals("INDEX");
            case "OPTIMIZE" -> true;
            default -> false;
        };
    }

    /** One statement, as one server reads it. */
    private record Reading(QueryEvent query, SqlTokens tokens) {

        ComputedValues values() {
            if (!computes(tokens)) {
                return NONE;
            }
            return switch (tokens.word(0)) {
                case "ALTER" -> ofAlter();
                case "CREATE" ->
                    new ComputedValues(ByteString.EMPTY, ofTables(behind("ON")), true, newDoubt(tokens.part(2, tokens.size())));
                case "DROP" -> new ComputedValues(ByteString.EMPTY, ofTables(behind("ON")), false, null);
                default -> new ComputedValues(ByteString.EMPTY, ofTables(tokens.word(1).startsWith("TABLE") ? 2 : 3), false, null);
            };
        }

        private ComputedValues ofAlter() {
            int end = nameEnd(2);
            SqlTokens rest = tokens.part(end, tokens.size());
            ByteString numbered = numbersRows(rest) ? text(2, end) : ByteString.EMPTY;
            boolean makesKeys = KEYS.stream().anyMatch(rest::hasWord);
            // Sorted first: rows that are alike then stand in any order.
            boolean sorts = !numbered.isEmpty() && rest.hasWord("ORDER");
            return new ComputedValues(numbered, isInstant(rest) ? List.of() : List.of(text(2, end)), makesKeys,
                    sorts ? "ORDER BY" : newDoubt(rest));
        }

        private int behind(String word) {
            int at = tokens.indexOf(word, 2);
            return at < 0 ? tokens.size() : at + 1;
        }

        /** The names from here, between commas. */
        private List<ByteString> ofTables(int from) {
            List<ByteString> tables = new ArrayList<>();
            for (int at = from; at < tokens.size();) {
                int end = nameEnd(at);
                tables.add(text(at, end));
                at = tokens.is(end, ",") ? end + 1 : tokens.size();
            }
            return tables;
        }

        /** The table's name is a word or quoted, perhaps behind its schema's. */
        private int nameEnd(int from) {
            return tokens.is(from, ".") ? from + 2 : tokens.is(from + 1, ".") ? from + 3 : from + 1;
        }

        private ByteString text(int from, int end) {
            int begin = tokens.at(from).from();
            return ByteString.copyFrom(query.sql(), begin, Math.max(0, tokens.at(end - 1).to() - begin));
        }

        /** Such a change touches no row, or fails, as what dumps have around rows does; any other may copy the table under {@code old_alter_table}. */
        private static boolean isInstant(SqlTokens rest) {
            if (rest.size() == 2 && rest.word(1).equals("KEYS")) {
                return true; // DISABLE, ENABLE: of other engines than InnoDB
            }
            int at = rest.indexOf("ALGORITHM", 0);
            return at >= 0 && rest.indexOf("ALGORITHM", at + 1) < 0 && rest.word(rest.is(at + 1, "=") ? at + 2 : at + 1).equals("INSTANT");
        }

        /** A column becomes AUTO_INCREMENT, which is also an option of the table: a number follows then, perhaps behind a sign. */
        private static boolean numbersRows(SqlTokens tokens) {
            for (int i = 0; i < tokens.size(); i++) {
                String behind = tokens.text(i + 1);
                boolean option = behind.equals("=") || behind.matches("[0-9]+");
                if (tokens.word(i).equals("SERIAL") || tokens.word(i).equals("AUTO_INCREMENT") && !option) {
                    return true;
                }
            }
            return false;
        }

        private static String newDoubt(SqlTokens tokens) {
            return hasExpressions(tokens) ? AllowedFunctions.doubt(tokens) : null;
        }

        /** Generated columns, expressions as defaults, and expressions as parts of a key; a parenthesis too many does no harm. */
        private static boolean hasExpressions(SqlTokens tokens) {
            for (int i = 0; i + 1 < tokens.size(); i++) {
                String text = tokens.text(i);
                if (tokens.is(i + 1, "(") && (text.equals("AS") || text.equals("DEFAULT") || text.equals("(") || text.equals(","))) {
                    return true;
                }
            }
            return false;
        }
    }
}
