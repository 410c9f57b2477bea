package multimed.gtid;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** An immutable set of numbers as sorted, disjoint, non-touching closed intervals [bounds[2i], bounds[2i+1]]. */
final class Intervals {
    static final Intervals NONE = new Intervals(new long[0]);

    private final long[] bounds;

    private Intervals(long[] bounds) {
        this.bounds = bounds;
    }

    static Intervals of(long first, long last) {
        if (first < 1 || last < first || last == Long.MAX_VALUE) {
            throw new IllegalArgumentException("not an interval: " + first + "-" + last);
        }
        return new Intervals(new long[] {first, last});
    }

    boolean isEmpty() {
        return bounds.length == 0;
    }

    /** The highest number; 0 if there is none. */
    long last() {
        return isEmpty() ? 0 : bounds[bounds.length - 1];
    }

    long count() {
        long sum = 0;
        for (int i = 0; i < bounds.length; i += 2) {
            sum += bounds[i + 1] - bounds[i] + 1;
        }
        return sum;
    }

    boolean contains(long first, long last) {
        int i = startingAtOrBefore(first);
        return i >= 0 && last <= bounds[2 * i + 1];
    }

    /** Index of the last interval that starts at or before n, or -1. */
    private int startingAtOrBefore(long n) {
        int low = 0;
        int high = bounds.length / 2 - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (bounds[2 * middle] <= n) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return high;
    }

    boolean containsAll(Intervals other) {
        for (int i = 0; i < other.bounds.length; i += 2) {
            if (!contains(other.bounds[i], other.bounds[i + 1])) {
                return false;
            }
        }
        return true;
    }

    Intervals add(long n) {
        int last = bounds.length - 1;
        if (last > 0 && n == bounds[last] + 1) {
            long[] grown = bounds.clone();
            grown[last] = n;
            return new Intervals(grown);
        }
        return union(of(n, n));
    }

    Intervals union(Intervals other) {
        List<long[]> all = new ArrayList<>();
        addTo(all);
        other.addTo(all);
        all.sort((a, b) -> Long.compare(a[0], b[0]));
        long[] merged = new long[all.size() * 2];
        int used = 0;
        for (long[] next : all) {
            if (used > 0 && next[0] <= merged[used - 1] + 1) {
                merged[used - 1] = Math.max(merged[used - 1], next[1]);
            } else {
                merged[used++] = next[0];
                merged[used++] = next[1];
            }
        }
        return new Intervals(Arrays.copyOf(merged, used));
    }

    Intervals minus(Intervals other) {
        List<long[]> rest = new ArrayList<>();
        addTo(rest);
        for (int i = 0; i < other.bounds.length; i += 2) {
            rest = cut(rest, other.bounds[i], other.bounds[i + 1]);
        }
        Intervals result = NONE;
        for (long[] r : rest) {
            result = result.union(of(r[0], r[1]));
        }
        return result;
    }

    private static List<long[]> cut(List<long[]> from, long first, long last) {
        List<long[]> rest = new ArrayList<>();
        for (long[] r : from) {
            if (r[0] < first) {
                rest.add(new long[] {r[0], Math.min(r[1], first - 1)});
            }
            if (r[1] > last) {
                rest.add(new long[] {Math.max(r[0], last + 1), r[1]});
            }
        }
        return rest;
    }

    private void addTo(List<long[]> list) {
        for (int i = 0; i < bounds.length; i += 2) {
            list.add(new long[] {bounds[i], bounds[i + 1]});
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Intervals that && Arrays.equals(bounds, that.bounds);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bounds);
    }

    /** {@code 1-5:7}. */
    @Override
    public String toString() {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < bounds.length; i += 2) {
            out.append(i == 0 ? "" : ":").append(bounds[i]);
            if (bounds[i + 1] != bounds[i]) {
                out.append('-').append(bounds[i + 1]);
            }
        }
        return out.toString();
    }
}
