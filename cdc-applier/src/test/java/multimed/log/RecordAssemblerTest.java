package multimed.log;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.List;
import multimed.log.LogEvent.Abandoned;
import multimed.log.LogEvent.Broken;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;
import multimed.log.proto.Empty;
import multimed.log.proto.EpochStart;
import multimed.log.proto.LogRecord;
import multimed.log.proto.Raw;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class RecordAssemblerTest {
    private static final String SERVER = "aaaaaaaa-0000-0000-0000-000000000001:";

    /** A log is built transaction by transaction; what a reader must get is noted beside it. */
    private static final class LogBuilder {
        final List<LogRecord> records = new ArrayList<>();
        final List<String> expected = new ArrayList<>();
        long epoch;
        int number;
        String previous = "";

        void startEpoch() {
            epoch++;
            previous = "";
            records.add(epochStart(epoch, number));
            expected.add("epoch " + epoch);
        }

        void transaction(int events, int cut) {
            String gtid = SERVER + ++number;
            StringBuilder content = new StringBuilder();
            int chunk = 0;
            for (int i = 0; i < events; i++) {
                String event = number + "." + i + " ".repeat(i);
                content.append('[').append(event).append(']');
                int at = Math.min(cut, event.length() - 1);
                if (at > 0) {
                    records.add(raw(gtid, chunk++, false, true, event.substring(0, at)));
                }
                records.add(raw(gtid, chunk++, i == events - 1, false, event.substring(at)));
            }
            previous = gtid;
            expected.add(gtid + " " + content);
        }

        /** A capture that dies in the middle, and what a replaced one still writes afterwards. */
        void unfinishedThenReplaced() {
            records.add(raw(SERVER + (number + 1), 0, false, false, "lost"));
            expected.add("abandoned " + SERVER + (number + 1));
            long stale = epoch;
            startEpoch();
            records.add(raw(SERVER + (number + 1), 0, true, false, "stale").toBuilder().setEpoch(stale).build());
            records.add(epochStart(stale, 0));
        }

        private LogRecord raw(String gtid, int chunk, boolean last, boolean cut, String event) {
            return LogRecord.newBuilder().setEpoch(epoch).setGtid(gtid).setPreviousGtid(previous).setChunk(chunk).setLastChunk(last)
                    .setRaw(Raw.newBuilder().addEvents(ByteString.copyFromUtf8(event)).setLastEventCut(cut)).build();
        }

        private static LogRecord epochStart(long epoch, int upTo) {
            String set = upTo == 0 ? "" : SERVER + "1-" + upTo;
            return LogRecord.newBuilder().setEpoch(epoch).setLastChunk(true)
                    .setEpochStart(EpochStart.newBuilder().setGtidSet(set)).build();
        }
    }

    private static List<String> read(List<LogRecord> records) {
        RecordAssembler assembler = new RecordAssembler();
        List<String> seen = new ArrayList<>();
        StringBuilder content = new StringBuilder();
        for (int i = 0; i < records.size(); i++) {
            for (LogEvent event : assembler.accept(records.get(i), i)) {
                if (event instanceof EpochStarted started) {
                    seen.add("epoch " + started.epoch());
                } else if (event instanceof Abandoned abandoned) {
                    seen.add("abandoned " + abandoned.gtid());
                    content.setLength(0);
                } else if (event instanceof Broken broken) {
                    seen.add("broken " + broken.offset());
                } else if (event instanceof Part part) {
                    assertEquals(part.first(), content.isEmpty());
                    part.record().getRaw().getEventsList().forEach(e -> content.append('[').append(e.toStringUtf8()).append(']'));
                    if (part.last()) {
                        seen.add(part.gtid() + " " + content);
                        content.setLength(0);
                    }
                }
            }
        }
        return seen;
    }

    @Property
    void any_split_of_a_transaction_gives_the_same_transaction(
            @ForAll @Size(max = 12) List<@IntRange(min = 0, max = 5) Integer> steps, @ForAll @IntRange(min = 0, max = 3) int cut) {
        LogBuilder log = new LogBuilder();
        log.startEpoch();
        for (int step : steps) {
            if (step == 0) {
                log.unfinishedThenReplaced();
            } else {
                log.transaction(step, cut);
            }
        }
        assertEquals(log.expected, read(log.records));
    }

    @Property
    void a_reader_that_starts_anywhere_gets_whole_transactions(
            @ForAll @Size(min = 1, max = 12) List<@IntRange(min = 1, max = 5) Integer> steps, @ForAll @IntRange(max = 100) int from) {
        LogBuilder log = new LogBuilder();
        log.startEpoch();
        steps.forEach(s -> log.transaction(s, 1));
        List<LogRecord> rest = log.records.subList(Math.min(from, log.records.size()), log.records.size());
        List<String> seen = read(rest);
        assertEquals(log.expected.subList(log.expected.size() - seen.size(), log.expected.size()), seen);
    }

    @Example
    void a_missing_transaction_is_noticed() {
        LogBuilder log = new LogBuilder();
        log.startEpoch();
        log.transaction(1, 0);
        log.transaction(1, 0);
        log.transaction(1, 0);
        log.records.remove(2);
        assertEquals(List.of("epoch 1", SERVER + "1 [1.0]", "broken 2"), read(log.records));
    }

    @Example
    void a_missing_first_transaction_is_noticed() {
        LogBuilder log = new LogBuilder();
        log.startEpoch();
        log.transaction(1, 0);
        log.transaction(1, 0);
        log.records.remove(1);
        assertEquals(List.of("epoch 1", "broken 1"), read(log.records));
    }

    @Example
    void a_missing_chunk_is_noticed() {
        LogBuilder log = new LogBuilder();
        log.startEpoch();
        log.transaction(3, 0);
        log.records.remove(2);
        assertEquals(List.of("epoch 1", "abandoned " + SERVER + 1, "broken 2"), read(log.records));
    }

    @Example
    void an_epoch_that_did_not_start_is_noticed() {
        LogRecord first = LogBuilder.epochStart(3, 0);
        LogRecord other = LogRecord.newBuilder().setEpoch(4).setGtid(SERVER + 1).setLastChunk(true)
                .setEmpty(Empty.getDefaultInstance()).build();
        assertEquals(List.of("epoch 2", "epoch 3", "broken 2"), read(List.of(LogBuilder.epochStart(2, 0), first, other)));
    }

    @Example
    void behind_a_gap_readers_wait_for_the_epoch_that_goes_on_from_before_it() {
        LogBuilder log = new LogBuilder();
        log.startEpoch();
        log.transaction(1, 0);
        log.transaction(1, 0);
        log.transaction(1, 0);
        log.transaction(2, 0);
        log.records.remove(2);
        log.number = 1;
        log.startEpoch();
        log.transaction(1, 0);
        log.transaction(1, 0);
        assertEquals(List.of("epoch 1", SERVER + "1 [1.0]", "broken 2", "epoch 2", SERVER + "2 [2.0]", SERVER + "3 [3.0]"),
                read(log.records));
    }

    @Example
    void a_reader_that_starts_at_a_record_of_a_replaced_capture_goes_over_to_the_epoch_that_holds() {
        LogBuilder log = new LogBuilder();
        log.startEpoch();
        log.transaction(1, 0);
        log.unfinishedThenReplaced();
        log.transaction(1, 0);
        log.transaction(1, 0);
        List<LogRecord> fromTheReplaced = log.records.subList(4, log.records.size());
        assertEquals(List.of(SERVER + "2 [stale]", "epoch 1", SERVER + "2 [2.0]", SERVER + "3 [3.0]"), read(fromTheReplaced));
    }
}
