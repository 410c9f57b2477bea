package multimed.apply;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.live.LiveReader;
import multimed.log.LogAccess;
import multimed.log.LogBrokenException;
import multimed.log.LogTopic;
import multimed.log.proto.LogRecord;
import multimed.process.Address;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;

/**
 * Owns the two consumers of the log's one partition: one follows the log, the other searches it; and, while the applier follows capture
 * itself, the connection to it. Used by one thread; {@link #wakeUp} by any. Throws Kafka's own exceptions while the log can't be reached.
 */
final class ChangeLog implements OffsetFinder.LogView, AutoCloseable {
    /** A record that came straight from capture: where it lies in the log is not known. */
    static final long LIVE_OFFSET = -1;

    private static final Duration PROBE = Duration.ofSeconds(10);
    private static final Headers NO_HEADERS = new RecordHeaders();

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaConsumer<byte[], byte[]> jumping;
    private final TopicPartition partition;
    private final LogAccess access;
    private final Address capture;
    private volatile LiveReader live;

    /** The applier can't follow capture any more; the log has what comes next. */
    static final class LiveEnded extends Exception {
        LiveEnded(IOException cause) {
            super(cause.getMessage(), cause);
        }
    }

    /** @param capture where its live records are; null: it is never followed */
    ChangeLog(LogAccess access, String topic, Address capture) {
        this.access = access;
        this.capture = capture;
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

    boolean canFollowCapture() {
        return capture != null;
    }

    boolean isLive() {
        return live != null;
    }

    /** From now on {@link #poll} gives what comes after this transaction straight from capture, in place of the log. */
    void goLive(Gtid after) throws LiveEnded {
        try {
            live = LiveReader.open(capture, access.password(), after, LogTopic.MAX_RECORD_BYTES);
        } catch (IOException e) {
            throw new LiveEnded(e);
        }
    }

    /** From now on {@link #poll} gives what the log has; seek first. */
    void leaveLive() {
        LiveReader left = live;
        live = null;
        if (left != null) {
            left.close();
        }
    }

    /** Records that are there, or that come within this time. Empty if none do or {@link #wakeUp} was called. */
    List<ConsumerRecord<byte[], byte[]>> poll(Duration timeout) throws LiveEnded {
        LiveReader reader = live;
        if (reader != null) {
            return pollLive(reader, timeout);
        }
        try {
            return consumer.poll(timeout).records(partition);
        } catch (WakeupException e) {
            return List.of();
        }
    }

    private List<ConsumerRecord<byte[], byte[]>> pollLive(LiveReader reader, Duration timeout) throws LiveEnded {
        try {
            List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (byte[] record : reader.poll(timeout)) {
                records.add(new ConsumerRecord<>(partition.topic(), partition.partition(), LIVE_OFFSET, System.currentTimeMillis(),
                        TimestampType.CREATE_TIME, ConsumerRecord.NULL_SIZE, record.length, null, record, NO_HEADERS, Optional.empty()));
            }
            return records;
        } catch (IOException e) {
            throw new LiveEnded(e);
        }
    }

    /** From any thread: ends the {@link #poll} that is under way, or the next one, and nothing else. */
    void wakeUp() {
        LiveReader reader = live;
        if (reader == null) {
            consumer.wakeup();
        } else {
            reader.wakeUp();
        }
    }

    @Override
    public void close() {
        leaveLive();
        consumer.close();
        jumping.close();
    }
}
