package multimed.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

class EpochNumberTest {
    private static final int NONCES = 1 << 20;

    @Property
    void a_new_epoch_is_above_all_others_whatever_the_clock_says(@ForAll @LongRange(max = 1L << 52) long highest,
            @ForAll @LongRange(max = 1L << 32) long seconds, @ForAll @IntRange(max = (1 << 20) - 1) int nonce) {
        assertTrue(EpochNumber.above(highest, seconds, nonce) > highest);
    }

    @Property
    void two_captures_that_start_together_have_different_epochs(@ForAll @LongRange(max = 1L << 52) long highest,
            @ForAll @IntRange(max = NONCES - 1) int one, @ForAll @IntRange(max = NONCES - 1) int other) {
        long first = EpochNumber.above(highest, 1_800_000_000L, one);
        long second = EpochNumber.above(highest, 1_800_000_000L, other);
        assertEquals(one == other, first == second);
    }

    @Example
    void a_topic_that_was_created_anew_begins_above_the_old_one() {
        long old = EpochNumber.above(EpochNumber.above(0, 1_800_000_000L, NONCES - 1), 1_800_000_000L, 3);
        assertTrue(EpochNumber.above(0, 1_800_000_002L, 0) > old);
    }

    @Example
    void a_metric_tells_it_exactly() {
        long number = EpochNumber.above(0, 4_000_000_000L, 12345);
        assertEquals(number, (long) (double) number);
        assertNotEquals((double) number, (double) (number + 1));
    }
}
