package multimed.sqltext;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import multimed.binlog.QueryEvent;
import multimed.sqltext.SqlLexer.Kind;
import multimed.sqltext.SqlLexer.Token;

/**
 * In: a statement as the binlog has it. Out: whether it is the same under every character set and sql_mode that its client may have had when the
 * server read it. The binlog has those of the execution: a client may change them between PREPARE and EXECUTE. Pure. Must never: pass over
 * another reading that a server accepts.
 *
 * <p>Alike are readings whose quotes, and signs outside of quotes and comments, stand at the same places. What is left between these are words,
 * which then are the same but for where bytes that are white space in a few character sets divide them.
 *
 * <p>Versioned comments are all read: the server writes those that it does not execute as plain comments.
 */
public final class Readings {
    /** Some character sets take a byte behind the dashes for white space. */
    private static final Pattern COMMENT_PERHAPS = Pattern.compile("--[\\x80-\\xff]");

    /** With these a name may stand behind a name or string: an alias, a column's new name. */
    private static final Set<String> NAME_BEHIND_NAME = Set.of("SELECT", "DO", "UPDATE", "DELETE", "CHANGE");

    /** A string or quoted name, what can only be an unquoted name, and something else than the colon behind a label. */
    private static final Pattern NAME_BEHIND_QUOTES = Pattern.compile("qn(?!:)");

    private final String text;
    private final String charset;
    private final boolean backslashEscapes;
    private final boolean ansiQuotes;

    private Readings(String text, String charset, boolean backslashEscapes, boolean ansiQuotes) {
        this.text = text;
        this.charset = charset;
        this.backslashEscapes = backslashEscapes;
        this.ansiQuotes = ansiQuotes;
    }

    /** @param charset that of the execution */
    public static boolean areAlike(QueryEvent query, String charset) {
        Readings logged = new Readings(query.ascii(), charset, !query.noBackslashEscapes(), query.ansiQuotes());
        return all(query.ascii()).allMatch(other -> other.isLike(logged) || !other.isPossible());
    }

    /** Whether the words say something, whatever the reading is. */
    public static boolean allSay(QueryEvent query, Predicate<List<String>> something) {
        return all(query.ascii()).allMatch(reading -> something.test(SqlWords.of(reading.lexer())) || !reading.isPossible());
    }

    /** But for those that are the same as another for certain. */
    private static Stream<Readings> all(String text) {
        boolean ascii = text.chars().allMatch(c -> c < 0x80);
        boolean backslash = text.indexOf('\\') >= 0;
        Stream<String> multiByte = ascii ? Stream.of() : SqlLexer.TWO_BYTES.stream();
        Stream<String> otherBlanks = COMMENT_PERHAPS.matcher(text).find() ? SqlLexer.BLANKS.keySet().stream() : Stream.of();
        // In swe7 a backslash is a letter.
        Stream<String> singleByte = backslash ? Stream.of("utf8mb4", "swe7") : Stream.of("utf8mb4");
        return Stream.of(multiByte, otherBlanks, singleByte).flatMap(charsets -> charsets).flatMap(charset -> !backslash
                ? Stream.of(new Readings(text, charset, true, false))
                : Stream.of(new Readings(text, charset, true, false), new Readings(text, charset, true, true),
                        new Readings(text, charset, false, false)));
    }

    private SqlLexer lexer() {
        return new SqlLexer(text, backslashEscapes, ansiQuotes, charset, SqlLexer.ANY_VERSION);
    }

    private boolean isLike(Readings other) {
        SqlLexer mine = lexer();
        SqlLexer others = other.lexer();
        Token token;
        do {
            token = notWord(mine);
            boolean same = Objects.equals(token, notWord(others));
            if (!same || token != null && (mine.from() != others.from() || mine.at() != others.at())) {
                return false;
            }
        } while (token != null);
        return true;
    }

    private static Token notWord(SqlLexer lexer) {
        Token token = lexer.next();
        while (token != null && token.kind() == Kind.WORD) {
            token = lexer.next();
        }
        return token;
    }

    /** Whether some statement looks so. */
    private boolean isPossible() {
        boolean nameBehindName = false;
        int depth = 0;
        StringBuilder kinds = new StringBuilder();
        SqlLexer lexer = lexer();
        int end = -1;
        for (Token token = lexer.next(); token != null; token = lexer.next()) {
            char kind = kind(token);
            depth += kind == '(' ? 1 : kind == ')' ? -1 : 0;
            if (kind == 'e' || depth < 0) {
                return false;
            }
            nameBehindName |= kind == 'w' && NAME_BEHIND_NAME.contains(token.text());
            int last = kinds.length() - 1;
            if (lexer.from() == end && isWord(kind) && isWord(kinds.charAt(last))) {
                // Parts of one word: in swe7 the lexer divides it at a letter that looks like a backslash.
                kinds.setCharAt(last, 'n');
            } else {
                kinds.append(kind);
            }
            end = lexer.at();
        }
        boolean nameBehindQuotes = nameBehindName ? kinds.indexOf("qnq") >= 0 : NAME_BEHIND_QUOTES.matcher(kinds).find();
        return depth == 0 && !lexer.isUnfinished() && !nameBehindQuotes;
    }

    private static boolean isWord(char kind) {
        return kind == 'w' || kind == 'n';
    }

    /** q: quoted; w: a word; n: what can only be a name; e: what no statement has outside of quotes; else a sign. */
    private char kind(Token token) {
        boolean swe7 = charset.equals("swe7");
        return switch (token.kind()) {
            case QUOTED -> 'q';
            // Seven bits: others are no letters.
            case WORD -> token.text().chars().allMatch(c -> c < 0x80) ? 'w' : swe7 ? 'e' : 'n';
            case SYMBOL -> !token.text().equals("\\") ? token.text().charAt(0) : swe7 ? 'n' : 'e';
        };
    }
}
