package multimed.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.proto.Check;
import multimed.log.proto.Empty;
import multimed.log.proto.EpochStart;
import multimed.log.proto.LogRecord;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** A log that keeps its contract passes, and each way of breaking it is named. */
class LogProofTest {
    private static final String SERVER = "aaaaaaaa-0000-0000-0000-000000000001:";

    private static LogRecord start(long epoch, String numbers) {
        return LogRecord.newBuilder().setEpoch(epoch).setLastChunk(true)
                .setEpochStart(EpochStart.newBuilder().setGtidSet(numbers.isEmpty() ? "" : SERVER + numbers)).build();
    }

    private static LogRecord chunk(long epoch, int number, int previous, int chunk, boolean last) {
        return LogRecord.newBuilder().setEpoch(epoch).setGtid(SERVER + number).setPreviousGtid(previous == 0 ? "" : SERVER + previous)
                .setChunk(chunk).setLastChunk(last).setEmpty(Empty.getDefaultInstance()).build();
    }

    private static LogRecord whole(long epoch, int number, int previous) {
        return chunk(epoch, number, previous, 0, true);
    }

    private static GtidSet set(String numbers) {
        return GtidSet.parse(SERVER + numbers);
    }

    /** The master's binlogs hold these numbers, in this order. */
    private static final class FixedBinlog implements OrderProof.Binlog {
        private final GtidSet purged;
        private final Iterator<Long> numbers;

        FixedBinlog(GtidSet purged, long... numbers) {
            this.purged = purged;
            this.numbers = LongStream.of(numbers).boxed().iterator();
        }

        @Override
        public GtidSet open(GtidSet before) {
            return purged;
        }

        @Override
        public Gtid next() {
            return numbers.hasNext() ? Gtid.parse(SERVER + numbers.next()) : null;
        }
    }

    private static LogProof log(List<LogRecord> records, LogProof.Listener... listeners) {
        LogProof proof = new LogProof(List.of(listeners));
        try {
            for (int i = 0; i < records.size(); i++) {
                proof.accept(records.get(i), i);
            }
        } catch (Exception e) {
            throw new AssertionError(e);
        }
        return proof;
    }

    private static String order(List<LogRecord> records, GtidSet purged, long... binlog) {
        OrderProof order = new OrderProof(new FixedBinlog(purged, binlog));
        assertNull(log(records, order).difference());
        return order.difference();
    }

    private static String prefix(List<LogRecord> records, GtidSet executed) {
        PrefixProof prefix = new PrefixProof("satellite-1", executed);
        LogProof proof = log(records, prefix);
        assertNull(proof.difference());
        prefix.end(proof.set());
        return prefix.difference();
    }

    private static void assertBroken(String how, LogRecord... records) {
        String difference = log(List.of(records)).difference();
        assertNotNull(difference, how);
        assertTrue(difference.contains(how), difference);
    }

    /** Behind 1-3: numbers 4 … last; a new epoch at each third, with leftovers of a replaced capture and unfinished chunks. */
    private static List<LogRecord> goodLog(int last) {
        List<LogRecord> records = new ArrayList<>(List.of(start(1, "1-3")));
        long epoch = 1;
        int previous = 0;
        for (int number = 4; number <= last; number++) {
            if (number % 3 == 0) {
                records.add(chunk(epoch, number, previous, 0, false));
                records.add(start(++epoch, "1-" + (number - 1)));
                records.add(whole(epoch - 1, number, previous));
                previous = 0;
            }
            records.add(chunk(epoch, number, previous, 0, false));
            records.add(chunk(epoch, number, previous, 1, true));
            previous = number;
        }
        return records;
    }

    @Property
    void aLogThatKeepsItsContractPasses(@ForAll @IntRange(min = 4, max = 40) int last, @ForAll @IntRange(max = 40) int applied) {
        GtidSet executed = set("1-" + Math.max(3, Math.min(applied, last)));
        PrefixProof prefix = new PrefixProof("satellite-1", executed);
        OrderProof order = new OrderProof(new FixedBinlog(GtidSet.EMPTY, LongStream.rangeClosed(1, last).toArray()));
        LogProof proof = log(goodLog(last), prefix, order);
        prefix.end(proof.set());
        assertNull(proof.difference());
        assertNull(prefix.difference());
        assertNull(order.difference());
        assertEquals(set("1-" + last), proof.set());
        assertTrue(prefix.counts().contains((last - executed.count()) + " behind"), prefix.counts());
    }

    @Property
    void aLogThatLostAnyRecordOfATransactionDoesNotPass(@ForAll @IntRange(min = 8, max = 40) int last,
            @ForAll @IntRange(max = 1000) int which) {
        List<LogRecord> records = goodLog(last);
        int[] parts = IntStream.range(0, records.size()).filter(i -> countsInGoodLog(records, i)).toArray();
        records.remove(parts[which % parts.length]);
        OrderProof order = new OrderProof(new FixedBinlog(GtidSet.EMPTY, LongStream.rangeClosed(1, last).toArray()));
        LogProof proof = log(records, order);
        boolean told = !proof.withoutRecord().isEmpty() || !set("1-" + last).equals(proof.set());
        assertTrue(proof.difference() != null || order.difference() != null || told);
    }

    /** A chunk of a transaction that becomes whole: not of a replaced capture, and not one that an epoch start follows. */
    private static boolean countsInGoodLog(List<LogRecord> records, int i) {
        LogRecord r = records.get(i);
        boolean replaced = i > 0 && records.get(i - 1).hasEpochStart() && records.get(i - 1).getEpoch() > r.getEpoch();
        boolean unfinished = i + 1 < records.size() && records.get(i + 1).hasEpochStart();
        return !r.hasEpochStart() && !replaced && !(unfinished && !r.getLastChunk());
    }

    /** Checks are counted under a source of their own, and stand between other transactions. */
    @Example
    void checksAreTransactionsAsAnyOther() throws Exception {
        String checks = "00000000-0000-0001-0000-0000000000a1:";
        List<String> gtids = List.of(SERVER + 1, checks + 1, SERVER + 2, checks + 2);
        List<LogRecord> records = new ArrayList<>(List.of(start(1, "")));
        for (int i = 0; i < gtids.size(); i++) {
            Check check = Check.newBuilder().setExpected("1:AB").build();
            records.add(whole(1, 1, 0).toBuilder().setGtid(gtids.get(i)).setPreviousGtid(i == 0 ? "" : gtids.get(i - 1))
                    .setEmpty(Empty.newBuilder().setCheck(check)).build());
        }
        PrefixProof prefix = new PrefixProof("satellite-1", GtidSet.parse(SERVER + 1 + "," + checks + 1));
        LogProof proof = log(records, prefix);
        assertNull(proof.difference());
        assertNull(prefix.difference());
        assertEquals(GtidSet.parse(SERVER + "1-2," + checks + "1-2"), proof.set());
        assertTrue(prefix.counts().contains("2 behind"), prefix.counts());
        PrefixProof hole = new PrefixProof("satellite-2", GtidSet.parse(SERVER + "1-2"));
        log(records, hole);
        assertEquals("has " + SERVER + "2 but lacks " + checks + "1 before it", hole.difference());
    }

    @Example
    void aGapIsNamed() {
        assertBroken(SERVER + "3 follows " + SERVER + "2 but stands after " + SERVER + "1", start(1, ""), whole(1, 1, 0), whole(1, 3, 2));
    }

    @Example
    void aGapThatNobodyAdmitsIsFoundInTheBinlog() {
        List<LogRecord> records = List.of(start(1, ""), whole(1, 1, 0), whole(1, 3, 1));
        assertEquals("the log has " + SERVER + "3 where the master's binlog has " + SERVER + "2", order(records, GtidSet.EMPTY, 1, 2, 3));
        assertEquals(set("2"), log(records).passedOver(set("2:4")), "4 may still come");
    }

    @Example
    void aGapThatAnEpochStartCoversIsTold() {
        LogProof proof = log(List.of(start(1, ""), whole(1, 1, 0), start(1, "1-5"), whole(1, 6, 1)));
        assertEquals(set("2-5"), proof.withoutRecord());
        assertEquals(set("1-6"), proof.set());
    }

    @Example
    void aDuplicateIsNamed() {
        assertBroken(SERVER + "1 is in the log twice", start(1, ""), whole(1, 1, 0), start(2, "1"), whole(2, 1, 0));
        assertBroken(SERVER + "1 is in the log twice", start(1, ""), whole(1, 1, 0), whole(1, 1, 1));
    }

    @Example
    void aWrongPredecessorIsNamed() {
        assertBroken("but stands after " + SERVER + "2", start(1, ""), whole(1, 1, 0), whole(1, 2, 1), whole(1, 3, 1));
    }

    @Example
    void aWrongOrderIsNamed() {
        List<LogRecord> records = List.of(start(1, ""), whole(1, 1, 0), whole(1, 3, 1), whole(1, 2, 3));
        assertEquals("the log has " + SERVER + "3 where the master's binlog has " + SERVER + "2", order(records, GtidSet.EMPTY, 1, 2, 3));
        assertNull(order(records, GtidSet.EMPTY, 1, 3, 2), "numbers need not rise, if the binlog says so");
        assertNull(order(records, set("1-3")), "what is purged can't be compared");
    }

    @Example
    void anUnfinishedTransactionIsNamed() {
        assertBroken(SERVER + "2 starts inside " + SERVER + "1", start(1, ""), chunk(1, 1, 0, 0, false), whole(1, 2, 1));
        assertBroken("chunk 2 of " + SERVER + "1 has no beginning", start(1, ""), chunk(1, 1, 0, 0, false), chunk(1, 1, 0, 2, true));
        LogProof atTheEnd = log(List.of(start(1, ""), chunk(1, 1, 0, 0, false)));
        assertEquals(GtidSet.EMPTY, atTheEnd.set(), "it does not count");
    }

    @Example
    void anEpochThatStartsTooFarBackIsNamed() {
        assertBroken("epoch 2 starts without " + SERVER + "2", start(1, ""), whole(1, 1, 0), whole(1, 2, 1), start(2, "1"), whole(2, 3, 0));
        assertNull(log(List.of(start(1, ""), whole(1, 1, 0), start(2, ""), start(3, "1"), whole(3, 2, 0))).difference(),
                "it started once more");
    }

    @Example
    void aPlaceThatIsBrokenHoldsOnceAnEpochGoesOnFromBeforeIt() {
        List<LogRecord> records = new ArrayList<>(List.of(start(1, ""), whole(1, 1, 0), whole(1, 3, 2), whole(1, 4, 3)));
        assertNotNull(log(records).difference());
        records.addAll(List.of(start(2, "1"), whole(2, 2, 0), whole(2, 3, 2)));
        LogProof proof = log(records);
        assertNull(proof.difference());
        assertEquals(set("1-3"), proof.set());
        assertTrue(proof.counts().contains("1 places broken"), proof.counts());
        assertNull(order(records, GtidSet.EMPTY, 1, 2, 3));
        assertNull(prefix(records, set("1-2")));
    }

    @Example
    void anEpochThatGoesOnFromBehindAGapIsTold() {
        LogProof proof = log(List.of(start(1, ""), whole(1, 1, 0), whole(1, 3, 2), start(2, "1-3"), whole(2, 4, 0)));
        assertEquals(set("2-3"), proof.withoutRecord());
    }

    @Example
    void aGapDirectlyBehindAnEpochsStartIsNamed() {
        assertBroken(SERVER + "2 follows " + SERVER + "1 but stands after the epoch's start", start(1, ""), whole(1, 2, 1));
    }

    @Example
    void anEpochThatDoesNotSayThatItStartsIsNamed() {
        assertBroken("did not say that it starts", start(1, ""), whole(1, 1, 0), whole(2, 2, 1));
    }

    @Example
    void aLogWhoseBeginningHasExpiredCountsFromItsFirstEpochStart() {
        LogProof proof = log(List.of(chunk(1, 7, 6, 1, true), whole(1, 8, 7), start(1, "1-8"), whole(1, 9, 8)));
        assertNull(proof.difference());
        assertEquals(set("1-9"), proof.set());
        assertBroken("starts without " + SERVER + "8", whole(1, 8, 7), start(1, "1-7"));
    }

    @Example
    void aSatelliteWithAHoleIsNoPrefix() {
        List<LogRecord> records = List.of(start(1, "1-3"), whole(1, 4, 0), whole(1, 5, 4), whole(1, 6, 5));
        assertEquals("has " + SERVER + "6 but lacks " + SERVER + "5 before it", prefix(records, set("1-4:6")));
        assertTrue(prefix(records, set("1-2")).contains("lacks " + SERVER + "3, which lies before the log"));
        assertTrue(prefix(records, set("1-6:8")).contains("has " + SERVER + "8, which"));
        assertNull(prefix(records, set("1-4")));
    }

    @Example
    void aSatelliteMayHaveSomeOfWhatAnEpochStartAccountsForButNothingBehindIt() {
        List<LogRecord> records = List.of(start(1, "1"), start(2, "1-5"), whole(2, 6, 0));
        assertNull(prefix(records, set("1-3")));
        assertNotNull(prefix(records, set("1-3:6")));
    }
}
