package multimed.process;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * Durations in seconds, in 128 buckets from 100 µs to 10 000 s whose bounds grow by the factor 10^(1/16),
 * so that percentiles read from it are at most 16 % off. Thread safe; never blocks.
 */
final class Histogram {
    private static final int PER_DECADE = 16;
    private static final int BUCKETS = 8 * PER_DECADE;
    private static final double FIRST = 1e-4;

    private final AtomicLongArray counts = new AtomicLongArray(BUCKETS + 1);
    private final LongAdder micros = new LongAdder();

    void observe(double seconds) {
        counts.incrementAndGet(bucket(seconds));
        micros.add(Math.round(Math.max(0, seconds) * 1e6));
    }

    private static int bucket(double seconds) {
        if (!(seconds > FIRST)) {
            return 0;
        }
        int i = (int) Math.ceil(Math.log10(seconds / FIRST) * PER_DECADE - 1e-9);
        return Math.min(Math.max(i, 0), BUCKETS);
    }

    private static double bound(int i) {
        return FIRST * Math.pow(10, (double) i / PER_DECADE);
    }

    void print(String name, StringBuilder out) {
        long sum = 0;
        for (int i = 0; i < BUCKETS; i++) {
            sum += counts.get(i);
            out.append(String.format(Locale.ROOT, "%s_bucket{le=\"%.6g\"} %d%n", name, bound(i), sum));
        }
        sum += counts.get(BUCKETS);
        out.append(name).append("_bucket{le=\"+Inf\"} ").append(sum).append('\n');
        out.append(name).append("_sum ").append(micros.sum() / 1e6).append('\n');
        out.append(name).append("_count ").append(sum).append('\n');
    }
}
