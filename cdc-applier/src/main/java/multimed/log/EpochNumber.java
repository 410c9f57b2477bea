package multimed.log;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Numbers of epochs: unique, so that of two captures that start together readers follow one and the same. Seconds since 1970, then
 * 20 random bits, the nonce of the writer. By the seconds a topic that was created anew begins above what its readers know from the
 * old one; numbers of the old format (1, 2, 3 …) lie below all of these. A double, as metrics have it, holds them exactly.
 */
final class EpochNumber {
    private static final int NONCE_BITS = 20;

    private EpochNumber() {}

    /** The number of a new epoch. */
    static long above(long highest) {
        return above(highest, System.currentTimeMillis() / 1000, ThreadLocalRandom.current().nextInt(1 << NONCE_BITS));
    }

    /** Higher than {@code highest} whatever the clock says. */
    static long above(long highest, long seconds, int nonce) {
        return Math.max(seconds, (highest >> NONCE_BITS) + 1) << NONCE_BITS | nonce;
    }
}
