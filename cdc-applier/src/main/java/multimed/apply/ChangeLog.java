package multimed.apply;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogAccess;
import multimed.log.LogBrokenException;
import multimed.log.LogTopic;
import multimed.log.proto.LogRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;

/**
 * Owns the two consumers of the log's one partition: one follows the log, the other searches it. Used by one thread; {@link
 * #wakeUp} by any. Throws Kafka's own exceptions while the log can't be reached.
 */
final class ChangeLog implements OffsetFinder.LogView, AutoCloseable {
    private static final Duration PROBE = Duration.ofSeconds(10);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaConsumer<byte[], byte[]> jumping;
    private final TopicPartition partition;

    ChangeLog(LogAccess access, String topic) {
        consumer = LogTopic.consumer(access, topic);
        jumping = LogTopic.jumpingConsumer(access, topic);
        partition = LogTopic.partition(topic);
    }

    @Override
    public long begin() {
        return offset(jumping.beginningOffsets(List.of(partition)));
    }

    @Override
    public long end() {
        return offset(jumping.endOffsets(List.of(partition)));
    }

    private long offset(Map<TopicPartition, Long> offsets) {
        Long offset = offsets.get(partition);
        if (offset == null) {
            throw new TimeoutException("no offsets for " + partition);
        }
        return offset;
    }

    @Override
    public OffsetFinder.Entry at(long offset) {
        jumping.seek(partition, offset);
        List<ConsumerRecord<byte[], byte[]>> records = jumping.poll(PROBE).records(partition);
        if (records.isEmpty()) {
            throw new TimeoutException("no record at offset " + offset + " within " + PROBE);
        }
        return entry(records.get(0));
    }

    private static OffsetFinder.Entry entry(ConsumerRecord<byte[], byte[]> record) {
        LogRecord parsed = LogTopic.parse(record);
        try {
            if (parsed.hasEpochStart()) {
                return new OffsetFinder.Entry.EpochStart(record.offset(), GtidSet.parse(parsed.getEpochStart().getGtidSet()));
            }
            return new OffsetFinder.Entry.Transaction(record.offset(), Gtid.parse(parsed.getGtid()));
        } catch (IllegalArgumentException e) {
            throw new LogBrokenException("offset " + record.offset() + ": " + e.getMessage(), e);
        }
    }

    void seek(long offset) {
        consumer.seek(partition, offset);
    }

    /** Records that are there, or that come within this time. Empty if none do or {@link #wakeUp} was called. */
    List<ConsumerRecord<byte[], byte[]>> poll(Duration timeout) {
        try {
            return consumer.poll(timeout).records(partition);
        } catch (WakeupException e) {
            return List.of();
        }
    }

    /** From any thread: ends the {@link #poll} that is under way, or the next one, and nothing else. */
    void wakeUp() {
        consumer.wakeup();
    }

    @Override
    public void close() {
        consumer.close();
        jumping.close();
    }
}
