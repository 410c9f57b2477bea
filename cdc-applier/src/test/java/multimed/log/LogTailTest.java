package multimed.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogTail.Newest;
import multimed.log.LogTail.State;
import multimed.log.proto.Empty;
import multimed.log.proto.EpochStart;
import multimed.log.proto.LogRecord;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Where capture goes on, whatever stands at the log's end. */
class LogTailTest {
    private static final String SERVER = "aaaaaaaa-0000-0000-0000-000000000001:";

    private record InMemory(List<byte[]> values) implements LogTail.Source {
        @Override
        public long begin() {
            return 0;
        }

        @Override
        public long end() {
            return values.size();
        }

        @Override
        public void forEach(long from, long end, LogTail.Visitor visitor) {
            for (long offset = from; offset < end; offset++) {
                visitor.visit(new ConsumerRecord<>("log", 0, offset, null, values.get((int) offset)));
            }
        }
    }

    private final List<byte[]> log = new ArrayList<>();

    private void start(long epoch, int upTo) {
        add(LogRecord.newBuilder().setEpoch(epoch).setLastChunk(true)
                .setEpochStart(EpochStart.newBuilder().setGtidSet(upTo == 0 ? "" : SERVER + "1-" + upTo)));
    }

    private void chunk(long epoch, int number, int previous, int chunk, boolean last) {
        add(LogRecord.newBuilder().setEpoch(epoch).setGtid(SERVER + number).setPreviousGtid(previous == 0 ? "" : SERVER + previous)
                .setChunk(chunk).setLastChunk(last).setEmpty(Empty.getDefaultInstance()));
    }

    private void whole(long epoch, int number, int previous) {
        chunk(epoch, number, previous, 0, true);
    }

    private void add(LogRecord.Builder record) {
        log.add(record.build().toByteArray());
    }

    private State read() {
        return new LogTail(new InMemory(log)).read();
    }

    private static GtidSet upTo(int number) {
        return number == 0 ? GtidSet.EMPTY : GtidSet.parse(SERVER + "1-" + number);
    }

    @Example
    void capture_goes_on_from_before_a_gap_instead_of_failing_on_it_for_ever() {
        start(1, 0);
        whole(1, 1, 0);
        whole(1, 2, 1);
        whole(1, 4, 3);
        whole(1, 5, 4);
        State state = read();
        assertEquals(upTo(2), state.set());
        assertEquals(3, state.broken().offset());
        start(2, 2);
        whole(2, 3, 0);
        assertEquals(upTo(3), read().set());
        assertNull(read().broken());
    }

    @Example
    void the_last_transaction_that_counts_is_known_with_the_time_of_its_commit() {
        start(1, 0);
        assertNull(read().newest());
        add(LogRecord.newBuilder().setEpoch(1).setGtid(SERVER + 1).setLastChunk(true).setCommitTimeUs(77)
                .setEmpty(Empty.getDefaultInstance()));
        chunk(1, 2, 1, 0, false);
        start(2, 1);
        assertEquals(new Newest(Gtid.parse(SERVER + 1), 77), read().newest());
    }

    @Example
    void capture_goes_on_from_before_a_missing_chunk() {
        start(1, 3);
        chunk(1, 4, 0, 0, false);
        chunk(1, 4, 0, 2, true);
        whole(1, 5, 4);
        assertEquals(upTo(3), read().set());
    }

    @Example
    void capture_goes_on_from_before_a_record_that_is_none() {
        start(1, 0);
        whole(1, 1, 0);
        log.add("not a record".getBytes());
        whole(1, 2, 1);
        assertEquals(upTo(1), read().set());
        assertNotNull(read().broken());
    }

    @Property
    void the_tail_is_what_lies_before_the_first_record_that_is_missing(
            @ForAll @IntRange(min = 2, max = 30) int last, @ForAll @IntRange(min = 1, max = 29) int missing) {
        start(1, 0);
        for (int number = 1; number <= last; number++) {
            if (number != missing) {
                whole(1, number, number - 1);
            }
        }
        assertEquals(upTo(Math.min(last, missing - 1)), read().set());
        log.clear();
    }
}
