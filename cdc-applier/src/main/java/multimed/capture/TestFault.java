package multimed.capture;

import multimed.gtid.Gtid;

/**
 * TEST ONLY: makes capture break the log's contract at every nth GTID, to prove that the checks notice. Without it, as always outside
 * tests, every transaction is written once.
 */
record TestFault(Kind kind, long every) {
    enum Kind {
        NONE,
        /** Not written; the next transaction names it as its predecessor. */
        LOSE,
        /** Not written; the next transaction names the one before it. */
        HIDE,
        /** Written twice. */
        REPEAT
    }

    private static final TestFault NO_FAULT = new TestFault(Kind.NONE, 1);

    /** {@code lose:20}, {@code hide:20}, {@code repeat:20}, or nothing; throws IllegalArgumentException for anything else. */
    static TestFault parse(String text) {
        if (text.isEmpty()) {
            return NO_FAULT;
        }
        if (!text.matches("(lose|hide|repeat):[1-9][0-9]{0,8}")) {
            throw new IllegalArgumentException("not like lose:20, hide:20 or repeat:20: " + text);
        }
        int colon = text.indexOf(':');
        return new TestFault(Kind.valueOf(text.substring(0, colon).toUpperCase()), Long.parseLong(text.substring(colon + 1)));
    }

    Kind at(Gtid gtid) {
        return gtid.number() % every == 0 ? kind : Kind.NONE;
    }
}
