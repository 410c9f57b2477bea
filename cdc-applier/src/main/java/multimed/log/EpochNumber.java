package multimed.log;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Numbers of epochs: seconds since 1970, then 20 random bits, the nonce of the writer. The nonce makes them unique: if two captures
 * start together, all readers follow the same one. Because of the seconds, a topic that was created anew begins above the numbers that
 * its readers know from the old one; numbers of the old format (1, 2, 3 …) are lower than all of these. A metric's double holds them
 * exactly.
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
