package multimed.log;

import java.time.Duration;
import java.util.List;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogEvent.Broken;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;
import multimed.log.proto.LogRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * In: the log. Out: its state at an offset: the highest epoch, and the transactions that count. Must never: count a transaction
 * whose last chunk is missing, one of a replaced capture, or one after the record where its epoch is broken: the next epoch goes on
 * from before that record, and readers wait for it.
 *
 * <p>Reads backwards in growing steps until it finds the start of the highest epoch that it saw; capture repeats that start at
 * intervals.
 */
public final class LogTail implements AutoCloseable {
    private static final int FIRST_STEP = 1000;
    private static final Duration POLL = Duration.ofMillis(500);
    private static final long READ_TIMEOUT_NANOS = Duration.ofSeconds(30).toNanos();

    /**
     * The state before {@code end}.
     *
     * @param epoch the highest that there can have been; 0 if nothing was ever written
     * @param set everything before the end that counts; null if unknown
     * @param broken what is wrong with the epoch's records, and from where on they don't count; null if nothing
     * @param newest the last transaction that counts, of those that were read; null if none was
     */
    public record State(long epoch, GtidSet set, long end, Broken broken, Newest newest) {}

    /** A transaction, and when the master committed it. */
    public record Newest(Gtid gtid, long commitMicros) {}

    /** The topic as it is read here. */
    public interface Source extends AutoCloseable {
        long begin();

        /** Offset after the last record. */
        long end();

        void forEach(long from, long end, Visitor visitor);

        @Override
        default void close() {}
    }

    public interface Visitor {
        void visit(ConsumerRecord<byte[], byte[]> record);
    }

    private final Source source;

    public LogTail(LogAccess access, String topic) {
        this(new InKafka(access, topic));
    }

    public LogTail(Source source) {
        this.source = source;
    }

    /** The state at the log's current end. */
    public State read() {
        return readUpTo(source.end());
    }

    /** The state before an offset. */
    public State readUpTo(long end) {
        long begin = source.begin();
        for (long step = FIRST_STEP;; step *= 10) {
            long from = Math.max(begin, end - step);
            Scan scan = scan(from, end);
            if (scan.proven >= 0 || from == begin && scan.first >= 0) {
                return replay(scan.proven >= 0 ? scan.proven : scan.first, end, scan.epoch);
            }
            if (from == begin) {
                // An expired record may have had any epoch up to the end offset, as epochs were once counted; readers ignore lower ones.
                return new State(Math.max(scan.epoch, end), null, end, null, null);
            }
        }
    }

    /**
     * Of a range of offsets: the highest epoch, the first epoch start, and the last that a transaction of its epoch follows. Only
     * such a start is proven: a capture can end before it corrects a start that lacks transactions before it.
     */
    private static final class Scan {
        long epoch;
        long first = -1;
        long proven = -1;
        private long latest = -1;

        void see(ConsumerRecord<byte[], byte[]> each) {
            try {
                see(LogTopic.parse(each), each.offset());
            } catch (LogBrokenException e) {
                // not written by a capture; replay() reports it
            }
        }

        private void see(LogRecord record, long offset) {
            if (record.getEpoch() < epoch) {
                return;
            }
            latest = record.getEpoch() > epoch ? -1 : latest;
            epoch = record.getEpoch();
            if (record.hasEpochStart()) {
                first = first < 0 ? offset : first;
                latest = offset;
            } else if (latest >= 0) {
                proven = latest;
            }
        }
    }

    /** Highest epoch of the records in [from, end). */
    public long highestEpoch(long from, long end) {
        return scan(from, end).epoch;
    }

    private Scan scan(long from, long end) {
        Scan scan = new Scan();
        source.forEach(from, end, scan::see);
        return scan;
    }

    private State replay(long start, long end, long epoch) {
        Replay replay = new Replay();
        source.forEach(start, end, replay::see);
        return new State(epoch, replay.set, end, replay.broken, replay.newest);
    }

    private static final class Replay {
        final RecordAssembler assembler = new RecordAssembler();
        GtidSet set = GtidSet.EMPTY;
        Broken broken;
        Newest newest;

        void see(ConsumerRecord<byte[], byte[]> record) {
            for (LogEvent event : assembler.read(record)) {
                if (event instanceof EpochStarted started) {
                    set = set.union(started.before());
                    broken = null;
                } else if (event instanceof Part part && part.last()) {
                    set = set.add(part.gtid());
                    newest = new Newest(part.gtid(), part.record().getCommitTimeUs());
                } else if (event instanceof Broken breach) {
                    broken = breach;
                }
            }
        }
    }

    private static final class InKafka implements Source {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final TopicPartition partition;

        InKafka(LogAccess access, String topic) {
            consumer = LogTopic.seekingConsumer(access, topic);
            partition = LogTopic.partition(topic);
        }

        @Override
        public long begin() {
            return consumer.beginningOffsets(List.of(partition)).get(partition);
        }

        @Override
        public long end() {
            return consumer.endOffsets(List.of(partition)).get(partition);
        }

        @Override
        public void forEach(long from, long end, Visitor visitor) {
            consumer.seek(partition, from);
            long deadline = System.nanoTime() + READ_TIMEOUT_NANOS;
            while (consumer.position(partition) < end) {
                var records = consumer.poll(POLL);
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    if (record.offset() < end) {
                        visitor.visit(record);
                    }
                }
                if (!records.isEmpty()) {
                    deadline = System.nanoTime() + READ_TIMEOUT_NANOS;
                } else if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("the log does not deliver offset " + consumer.position(partition));
                }
            }
        }

        @Override
        public void close() {
            consumer.close(Duration.ofSeconds(1));
        }
    }

    @Override
    public void close() {
        source.close();
    }
}
