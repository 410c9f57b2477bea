package multimed.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import multimed.gtid.GtidSet;
import multimed.log.EpochClaim;
import multimed.log.LogEvent;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;
import multimed.log.LogTail;
import multimed.log.LogTail.State;
import multimed.log.RecordAssembler;
import multimed.log.proto.Empty;
import multimed.log.proto.EpochStart;
import multimed.log.proto.LogRecord;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Captures that start, write and are replaced in any order, each noticing late: readers get the master's transactions once and in order. */
class TwoCapturesTest {
    private static final String SERVER = "aaaaaaaa-0000-0000-0000-000000000001:";

    private final List<LogRecord> log = new ArrayList<>();

    private final class InMemory implements LogTail.Source {
        @Override
        public long begin() {
            return 0;
        }

        @Override
        public long end() {
            return log.size();
        }

        @Override
        public void forEach(long from, long end, LogTail.Visitor visitor) {
            for (long offset = from; offset < end; offset++) {
                visitor.visit(new ConsumerRecord<>("log", 0, offset, null, log.get((int) offset).toByteArray()));
            }
        }
    }

    /** One step after the other, so that another's can come between any two. */
    private final class Writer {
        private final LogTail tail = new LogTail(new InMemory());
        private EpochClaim claim;
        private boolean holds;
        private long next;
        private boolean first;

        void step() {
            if (claim == null) {
                State state = tail.read();
                claim = EpochClaim.after(state, state.set() == null ? GtidSet.EMPTY : state.set());
            } else if (!holds) {
                log.add(LogRecord.newBuilder().setEpoch(claim.number()).setLastChunk(true)
                        .setEpochStart(EpochStart.newBuilder().setGtidSet(claim.set().toString())).build());
                State before = tail.readUpTo(log.size() - 1);
                holds = claim.holds(before);
                next = claim.set().count() + 1;
                first = true;
                claim = holds ? claim : claim.next(before);
            } else {
                log.add(LogRecord.newBuilder().setEpoch(claim.number()).setGtid(SERVER + next)
                        .setPreviousGtid(first ? "" : SERVER + (next - 1)).setLastChunk(true).setEmpty(Empty.getDefaultInstance()).build());
                first = false;
                next++;
            }
        }

        /** It ended, and was started again. */
        void restart() {
            claim = null;
            holds = false;
        }
    }

    private static GtidSet upTo(long number) {
        return number == 0 ? GtidSet.EMPTY : GtidSet.parse(SERVER + "1-" + number);
    }

    @Property(tries = 500)
    void anyInterleavingGivesEachTransactionOnceToReadersFromAnywhere(@ForAll @Size(max = 60) List<@IntRange(max = 19) Integer> steps) {
        Writer[] writers = {new Writer(), new Writer()};
        for (int step : steps) {
            Writer writer = writers[step % 2];
            if (step >= 18) {
                writer.restart();
            } else {
                writer.step();
            }
        }
        long all = assertProven();
        for (int offset = 0; offset < log.size(); offset++) {
            long there = read(0, offset, 0);
            assertTrue(read(Math.max(0, offset - 1), log.size(), there) >= all, "from offset " + offset);
        }
        log.clear();
    }

    private long assertProven() {
        LogProof proof = new LogProof(List.of());
        try {
            for (int i = 0; i < log.size(); i++) {
                proof.accept(log.get(i), i);
            }
        } catch (Exception e) {
            throw new AssertionError(e);
        }
        assertNull(proof.difference());
        long all = proof.set() == null ? 0 : proof.set().count();
        assertEquals(proof.set() == null ? GtidSet.EMPTY : proof.set(), upTo(all));
        return all;
    }

    /** What a satellite with this many transactions has after these records; it clones again only if the whole log says that it must. */
    private long read(int from, int end, long executed) {
        RecordAssembler assembler = new RecordAssembler();
        for (int i = from; i < end; i++) {
            for (LogEvent event : assembler.accept(log.get(i), i)) {
                boolean lacking = event instanceof EpochStarted start && start.before().count() > executed
                        || event instanceof Part part && part.previous() != null && part.previous().number() > executed;
                if (lacking) {
                    assertTrue(from > 0 && !assembler.certain(), "offset " + i + " asks for what the satellite lacks");
                    return read(0, end, executed);
                }
                if (event instanceof Part part && part.gtid().number() > executed) {
                    assertEquals(executed + 1, part.gtid().number());
                    executed++;
                }
            }
        }
        return executed;
    }
}
