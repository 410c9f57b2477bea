package multimed.capture;

import multimed.gtid.Gtid;

/**
 * TEST ONLY: makes capture break the log's contract, or the table stream's, at every nth GTID, to prove that the checks notice. Without
 * it, as always outside tests, every transaction is written and told once.
 */
record TestFault(Kind kind, long every) {
    enum Kind {
        NONE,
        /** Not written; the next transaction names it as its predecessor. */
        LOSE,
        /** Not written; the next transaction names the one before it. */
        HIDE,
        /** Written twice. */
        REPEAT,
        /** Left out of the table stream; the log is right. */
        UNTOLD
    }

    private static final TestFault NO_FAULT = new TestFault(Kind.NONE, 1);

    /** {@code lose:20}, {@code hide:20}, {@code repeat:20}, {@code untold:20}, or nothing; throws IllegalArgumentException for anything else. */
    static TestFault parse(String text) {
        if (text.isEmpty()) {
            return NO_FAULT;
        }
        if (!text.matches("(lose|hide|repeat|untold):[1-9][0-9]{0,8}")) {
            throw new IllegalArgumentException("not like lose:20, hide:20, repeat:20 or untold:20: " + text);
        }
        int colon = text.indexOf(':');
        return new TestFault(Kind.valueOf(text.substring(0, colon).toUpperCase()), Long.parseLong(text.substring(colon + 1)));
    }

    Kind at(Gtid gtid) {
        return gtid.number() % every == 0 ? kind : Kind.NONE;
    }
}
