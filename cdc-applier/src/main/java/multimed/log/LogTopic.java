package multimed.log;

import com.google.protobuf.InvalidProtocolBufferException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import multimed.log.proto.LogRecord;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** How the log lies in Kafka: one partition, values are {@link LogRecord}s, no keys, no consumer groups. */
public final class LogTopic {
    /** Records stay below this but for a longer Statement; Kafka's default limits hold it. */
    public static final int RECORD_BYTES = 512 * 1024;

    /** The topic's max.message.bytes: the longest Statement that can pass. */
    public static final int MAX_RECORD_BYTES = 64 * 1024 * 1024;

    /** Kafka deletes whole segments, and takes no record that is longer than one. */
    public static final int SEGMENT_BYTES = 2 * MAX_RECORD_BYTES;

    private LogTopic() {}

    /**
     * Makes the topic, or has the one that is there keep records for this long, and not more bytes. Returns whether something was changed.
     *
     * @param bytes Kafka keeps so many and deletes a segment as soon as it can without going below; 0: time alone decides
     */
    public static boolean create(Admin admin, String topic, long hours, long bytes) throws ExecutionException, InterruptedException {
        Map<String, String> settings = Map.of(
                TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_DELETE,
                TopicConfig.RETENTION_MS_CONFIG, Long.toString(hours * 3_600_000),
                TopicConfig.RETENTION_BYTES_CONFIG, Long.toString(bytes == 0 ? -1 : bytes),
                TopicConfig.SEGMENT_BYTES_CONFIG, Integer.toString(SEGMENT_BYTES),
                TopicConfig.MAX_MESSAGE_BYTES_CONFIG, Integer.toString(MAX_RECORD_BYTES));
        try {
            admin.createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty()).configs(settings))).all().get();
            return true;
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof TopicExistsException)) {
                throw e;
            }
            return change(admin, new ConfigResource(ConfigResource.Type.TOPIC, topic), settings);
        }
    }

    private static boolean change(Admin admin, ConfigResource topic, Map<String, String> settings)
            throws ExecutionException, InterruptedException {
        Config now = admin.describeConfigs(List.of(topic)).all().get().get(topic);
        List<AlterConfigOp> changes = settings.entrySet().stream()
                .filter(each -> !each.getValue().equals(now.get(each.getKey()).value()))
                .map(each -> new AlterConfigOp(new ConfigEntry(each.getKey(), each.getValue()), AlterConfigOp.OpType.SET))
                .toList();
        if (!changes.isEmpty()) {
            admin.incrementalAlterConfigs(Map.of(topic, changes)).all().get();
        }
        return !changes.isEmpty();
    }

    /** Readers find nothing of what it had; offsets go on. */
    public static void empty(Admin admin, String topic) throws ExecutionException, InterruptedException {
        admin.deleteRecords(Map.of(partition(topic), RecordsToDelete.beforeOffset(-1))).all().get();
    }

    /** The one partition whose offsets are the total order. */
    public static TopicPartition partition(String topic) {
        return new TopicPartition(topic, 0);
    }

    /** A consumer that is assigned the log and stands nowhere yet: seek first. Owned by one thread. */
    public static KafkaConsumer<byte[], byte[]> consumer(LogAccess access, String topic) {
        return assigned(settings(access), topic);
    }

    /**
     * For ranges of the log, one after the other. A consumer asks ahead; at the log's end, what an ordinary one has asked for would
     * hold each seek up for 500 ms (fetch.max.wait.ms).
     */
    static KafkaConsumer<byte[], byte[]> seekingConsumer(LogAccess access, String topic) {
        Properties p = settings(access);
        p.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 1);
        return assigned(p, topic);
    }

    /** For single records here and there. */
    public static KafkaConsumer<byte[], byte[]> jumpingConsumer(LogAccess access, String topic) {
        Properties p = settings(access);
        p.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 1);
        p.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, 16 * 1024);
        p.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 1);
        return assigned(p, topic);
    }

    private static Properties settings(LogAccess access) {
        Properties p = access.clientSettings();
        p.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        p.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
        p.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        p.put(ConsumerConfig.FETCH_MIN_BYTES_CONFIG, 1);
        p.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, 4 * 1024 * 1024);
        // Compressed records say nothing about the memory that they take: at most 64 MiB at once.
        p.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 64 * 1024 * 1024 / RECORD_BYTES);
        p.put(ConsumerConfig.RECONNECT_BACKOFF_MS_CONFIG, 50);
        p.put(ConsumerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, 1000);
        p.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 10_000);
        p.put(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, 9_000);
        return p;
    }

    private static KafkaConsumer<byte[], byte[]> assigned(Properties p, String topic) {
        var consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.assign(List.of(partition(topic)));
        return consumer;
    }

    /** Throws LogBrokenException if the value is not a record of the log. */
    public static LogRecord parse(ConsumerRecord<byte[], byte[]> record) {
        try {
            LogRecord parsed = LogRecord.parseFrom(record.value());
            if (parsed.getEpoch() == 0) {
                throw new LogBrokenException("offset " + record.offset() + ": a record without epoch");
            }
            return parsed;
        } catch (InvalidProtocolBufferException | NullPointerException e) {
            throw new LogBrokenException("offset " + record.offset() + ": not a log record", e);
        }
    }
}
