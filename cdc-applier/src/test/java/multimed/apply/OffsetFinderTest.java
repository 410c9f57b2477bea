package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.TestRecords;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

class OffsetFinderTest {
    /** A log of entries at given offsets; counts how often it is asked. */
    private static final class FakeLog implements OffsetFinder.LogView {
        private final List<OffsetFinder.Entry> entries;
        private final long begin;
        private final long end;
        private int asked;

        FakeLog(List<OffsetFinder.Entry> entries, long begin, long end) {
            this.entries = entries;
            this.begin = begin;
            this.end = end;
        }

        @Override
        public long begin() {
            return begin;
        }

        @Override
        public long end() {
            return end;
        }

        @Override
        public OffsetFinder.Entry at(long offset) {
            asked++;
            return entries.stream().filter(e -> e.offset() >= offset).findFirst().orElseThrow();
        }
    }

    /** 0: a transaction; 1: an EpochStart; n > 1: a transaction of n chunks. */
    @Provide
    Arbitrary<List<Integer>> shapes() {
        return Arbitraries.of(0, 0, 0, 1, 2, 4).list().ofMaxSize(60);
    }

    private static FakeLog log(List<Integer> shapes, long begin) {
        List<OffsetFinder.Entry> entries = new ArrayList<>();
        long offset = begin;
        long number = 1;
        for (int shape : shapes) {
            if (shape == 1) {
                entries.add(new OffsetFinder.Entry.EpochStart(offset++, upTo(number - 1)));
                continue;
            }
            for (int chunk = 0; chunk < Math.max(1, shape); chunk++) {
                entries.add(new OffsetFinder.Entry.Transaction(offset++, Gtid.parse(TestRecords.gtid(number))));
            }
            number++;
        }
        return new FakeLog(entries, begin, offset);
    }

    private static GtidSet upTo(long number) {
        return number == 0 ? GtidSet.EMPTY : GtidSet.parse(TestRecords.UUID + ":1-" + number);
    }

    private static long linear(FakeLog log, GtidSet executed) {
        for (OffsetFinder.Entry entry : log.entries) {
            boolean contained = entry instanceof OffsetFinder.Entry.Transaction t
                    ? executed.contains(t.gtid())
                    : executed.containsAll(((OffsetFinder.Entry.EpochStart) entry).before());
            if (!contained) {
                return entry.offset();
            }
        }
        return log.end;
    }

    @Property
    void findsWhatALinearScanFinds(@ForAll("shapes") List<Integer> shapes, @ForAll @IntRange(max = 70) int executed,
            @ForAll @IntRange(max = 1000) int begin) {
        FakeLog log = log(shapes, begin);
        assertEquals(linear(log, upTo(executed)), OffsetFinder.firstLacking(log, upTo(executed)));
        assertTrue(log.asked <= 10, "asked " + log.asked + " times");
        assertEquals(Math.max(begin, linear(log, upTo(executed)) - 1), OffsetFinder.find(log, upTo(executed)));
    }

    @Property
    void offsetsThatHoldNothingAreSteppedOver(@ForAll("shapes") List<Integer> shapes, @ForAll @IntRange(max = 70) int executed,
            @ForAll("shapes") List<Integer> holes) {
        FakeLog log = log(shapes, 0);
        List<OffsetFinder.Entry> kept = new ArrayList<>(log.entries);
        holes.stream().filter(i -> i < kept.size() - 1).forEach(i -> kept.remove((int) i));
        FakeLog sparse = new FakeLog(kept, 0, log.end);
        if (!kept.isEmpty()) {
            long found = OffsetFinder.firstLacking(sparse, upTo(executed));
            assertEquals(firstAtOrAfter(kept, linear(sparse, upTo(executed)), log.end), firstAtOrAfter(kept, found, log.end));
        }
    }

    private static long firstAtOrAfter(List<OffsetFinder.Entry> entries, long offset, long end) {
        return entries.stream().map(OffsetFinder.Entry::offset).filter(o -> o >= offset).findFirst().orElse(end);
    }
}
