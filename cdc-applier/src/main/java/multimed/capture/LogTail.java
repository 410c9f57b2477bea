package multimed.capture;

import java.time.Duration;
import java.util.List;
import multimed.log.GtidSet;
import multimed.log.LogEvent;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;
import multimed.log.LogTopic;
import multimed.log.RecordAssembler;
import multimed.log.proto.LogRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * In: the log. Out: where it ends. Must never: count a transaction whose last chunk is missing, or one of a replaced capture.
 * Reads backwards in growing steps until it finds the start of the highest epoch that it saw; capture repeats that at intervals.
 */
final class LogTail implements AutoCloseable {
    private static final int FIRST_STEP = 1000;
    private static final Duration POLL = Duration.ofMillis(500);
    private static final long PATIENCE_NANOS = Duration.ofSeconds(30).toNanos();

    /**
     * The state before {@code end}.
     *
     * @param epoch the highest that there can have been; 0 if nothing was ever written
     * @param set everything before the end; null if unknown
     */
    record State(long epoch, GtidSet set, long end) {}

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final TopicPartition partition;

    LogTail(CaptureConfig config) {
        consumer = LogTopic.seekingConsumer(config.log(), config.topic());
        partition = LogTopic.partition(config.topic());
    }

    /** The state at the log's current end. */
    State read() {
        return readUpTo(consumer.endOffsets(List.of(partition)).get(partition));
    }

    /** The state before an offset. */
    State readUpTo(long end) {
        long begin = consumer.beginningOffsets(List.of(partition)).get(partition);
        for (long step = FIRST_STEP; ; step *= 10) {
            long from = Math.max(begin, end - step);
            Scan scan = scan(from, end);
            if (scan.start >= 0) {
                return replay(scan.start, end, scan.epoch);
            }
            if (from == begin) {
                // What has expired may have had any epoch, but each took an offset; readers ignore a lower one for ever.
                return new State(Math.max(scan.epoch, end), null, end);
            }
        }
    }

    /** Highest epoch anywhere in a range of offsets, and the last place where it says that it starts, or -1. */
    private static final class Scan {
        long epoch;
        long start = -1;

        void see(LogRecord record, long offset) {
            if (record.getEpoch() > epoch) {
                epoch = record.getEpoch();
                start = -1;
            }
            if (record.getEpoch() == epoch && record.hasEpochStart()) {
                start = offset;
            }
        }
    }

    /** Highest epoch of the records in [from, end). */
    long highestEpoch(long from, long end) {
        return scan(from, end).epoch;
    }

    private Scan scan(long from, long end) {
        Scan scan = new Scan();
        forEach(from, end, r -> scan.see(LogTopic.parse(r), r.offset()));
        return scan;
    }

    private State replay(long start, long end, long epoch) {
        RecordAssembler assembler = new RecordAssembler();
        GtidSet[] set = {GtidSet.EMPTY};
        forEach(start, end, r -> {
            for (LogEvent event : assembler.accept(LogTopic.parse(r), r.offset())) {
                if (event instanceof EpochStarted started) {
                    set[0] = set[0].union(started.before());
                } else if (event instanceof Part part && part.last()) {
                    set[0] = set[0].add(part.gtid());
                }
            }
        });
        return new State(epoch, set[0], end);
    }

    private interface Visitor {
        void visit(ConsumerRecord<byte[], byte[]> record);
    }

    private void forEach(long from, long end, Visitor visitor) {
        consumer.seek(partition, from);
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (consumer.position(partition) < end) {
            var records = consumer.poll(POLL);
            for (ConsumerRecord<byte[], byte[]> record : records) {
                if (record.offset() < end) {
                    visitor.visit(record);
                }
            }
            if (!records.isEmpty()) {
                deadline = System.nanoTime() + PATIENCE_NANOS;
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
