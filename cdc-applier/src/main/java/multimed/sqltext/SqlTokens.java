package multimed.sqltext;

import java.util.ArrayList;
import java.util.List;
import multimed.sqltext.SqlLexer.Kind;
import multimed.sqltext.SqlLexer.Token;

/**
 * In: a text. Out: its tokens with their places, to be looked at by index; beyond both ends there are empty ones. Pure. Two are equal if they have
 * the same tokens at the same places.
 */
record SqlTokens(List<Place> all) {
    private static final Place NONE = new Place(new Token(Kind.SYMBOL, ""), 0, 0);

    /** @param from where it begins in the text, one char per byte */
    record Place(Token token, int from, int to) {}

    static SqlTokens of(SqlLexer lexer) {
        List<Place> all = new ArrayList<>();
        for (Token token = lexer.next(); token != null; token = lexer.next()) {
            all.add(new Place(token, lexer.from(), lexer.at()));
        }
        return new SqlTokens(all);
    }

    int size() {
        return all.size();
    }

    Place at(int index) {
        return index >= 0 && index < all.size() ? all.get(index) : NONE;
    }

    String text(int index) {
        return at(index).token().text();
    }

    /** Empty for what is no word. */
    String word(int index) {
        Token token = at(index).token();
        return token.kind() == Kind.WORD ? token.text() : "";
    }

    boolean isQuoted(int index) {
        return at(index).token().kind() == Kind.QUOTED;
    }

    boolean is(int index, String symbol) {
        return at(index).token().kind() == Kind.SYMBOL && text(index).equals(symbol);
    }

    boolean hasWord(String word) {
        return indexOf(word, 0) >= 0;
    }

    /** -1 if there is none. */
    int indexOf(String word, int from) {
        for (int i = from; i < all.size(); i++) {
            if (word(i).equals(word)) {
                return i;
            }
        }
        return -1;
    }

    /** Where the parenthesis closes that opens here; the end if it does not. */
    int closing(int open) {
        int depth = 0;
        for (int i = open; i < all.size(); i++) {
            depth += is(i, "(") ? 1 : is(i, ")") ? -1 : 0;
            if (depth == 0) {
                return i;
            }
        }
        return all.size();
    }

    /** The next comma from here on that is in no parenthesis which opens from here on; the end if there is none before it. */
    int comma(int from, int end) {
        int i = from;
        while (i < end && !is(i, ",")) {
            i = is(i, "(") ? closing(i) + 1 : i + 1;
        }
        return Math.min(i, end);
    }

    SqlTokens part(int from, int to) {
        return new SqlTokens(all.subList(Math.min(from, all.size()), Math.min(to, all.size())));
    }
}
