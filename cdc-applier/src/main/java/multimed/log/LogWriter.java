package multimed.log;

import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.proto.EpochStart;
import multimed.log.proto.LogRecord;
import multimed.process.Metric;
import multimed.process.Metrics;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.MetadataRecoveryStrategy;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: records in order. Out: the same records in the log, in order, none lost: after the first failure nothing more is sent there. Sends
 * without waiting; one thread calls, Kafka's own thread reports.
 *
 * <p>If the failure is that Kafka is away, the copy still gets all records, for as long as it is: what the log lacks, the next epoch reads
 * from the master's binlog, so nothing is to be remembered. When Kafka is back, and after any other failure, {@link #check()} throws.
 *
 * <p>Left to itself, Kafka's producer goes on with the next batch after one that has expired. So the callback of the first failure
 * closes it, on its own thread and before its next round. What that round has on the way already follows the expired batch by
 * sequence number, and the broker refuses it where that batch is missing; the epoch's start, which was waited for, made the broker
 * know the numbers.
 *
 * <p>While this is the only writer, the offsets of its records follow each other. A gap shows that another capture wrote: see
 * {@link #intruder()}.
 */
public final class LogWriter implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(LogWriter.class);

    private static final String REFUSALS = "failed-authentication-total";

    private final Producer<byte[], byte[]> producer;
    private final String topic;
    private final long epoch;
    private final Metrics metrics;
    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong acknowledged = new AtomicLong();
    /** When the last acknowledgement came; when the first record was sent that waits for one, if that was later. */
    private volatile long progressNanos = System.nanoTime();
    private final AtomicReference<Exception> failure = new AtomicReference<>();
    /** Since a record could not be written in time. */
    private final AtomicBoolean away = new AtomicBoolean();
    private final BrokerReturn broker;
    private final Copy copy;
    private volatile long lastOffset = -1;
    private long sinceEpochStart;
    private volatile Range intruder;

    /** Gets each record but the first epoch start when it is on its way to the log, or Kafka is away, on the thread that appends. */
    public interface Copy {
        /** Nobody wants one. */
        Copy NONE = (gtid, last, record) -> {};

        /**
         * @param gtid of the record's transaction; null: it is no transaction's
         * @param last whether it is the transaction's last record
         */
        void record(Gtid gtid, boolean last, byte[] record);
    }

    /** Offsets [from, end) that are not this writer's. */
    public record Range(long from, long end) {}

    /**
     * @param lingerMs how long a record may wait for others, so that they share a request
     * @param copy gets the records, too
     */
    public LogWriter(LogAccess access, String topic, long epoch, int lingerMs, Copy copy, Metrics metrics) {
        this(new KafkaProducer<>(settings(access, lingerMs), new ByteArraySerializer(), new ByteArraySerializer()), topic, epoch, copy,
                metrics, new BrokerReturn(access, topic));
    }

    LogWriter(Producer<byte[], byte[]> producer, String topic, long epoch, Copy copy, Metrics metrics, BrokerReturn broker) {
        this.producer = producer;
        this.broker = broker;
        this.copy = copy;
        this.topic = topic;
        this.epoch = epoch;
        this.metrics = metrics;
    }

    private static Properties settings(LogAccess access, int lingerMs) {
        Properties p = access.clientSettings();
        p.put(ProducerConfig.ACKS_CONFIG, "all");
        p.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        // With idempotence Kafka keeps the order for up to 5 requests in flight.
        p.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 5);
        p.put(ProducerConfig.LINGER_MS_CONFIG, lingerMs);
        p.put(ProducerConfig.BATCH_SIZE_CONFIG, LogTopic.RECORD_BYTES);
        p.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4");
        p.put(ProducerConfig.BUFFER_MEMORY_CONFIG, (long) LogTopic.MAX_RECORD_BYTES);
        p.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, LogTopic.MAX_RECORD_BYTES);
        p.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 30_000);
        p.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 10_000);
        p.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 30_000);
        // Else it forgets the topic when no broker answers, and send() waits until one does.
        p.put(CommonClientConfigs.METADATA_RECOVERY_STRATEGY_CONFIG, MetadataRecoveryStrategy.NONE.name);
        p.put(ProducerConfig.RECONNECT_BACKOFF_MS_CONFIG, 50);
        p.put(ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, 1000);
        return p;
    }

    /** Appends the start of this writer's epoch and waits for its offset. */
    public long appendEpochStart(GtidSet set, String serverUuid) throws InterruptedException, ExecutionException, TimeoutException {
        LogRecord record = epochStart(set, serverUuid);
        RecordMetadata at = producer.send(new ProducerRecord<>(topic, 0, null, record.toByteArray()), this::started)
                .get(40, TimeUnit.SECONDS);
        count(record);
        return at.offset();
    }

    private void started(RecordMetadata metadata, Exception error) {
        if (error != null) {
            fail(error);
        } else {
            done(metadata, null, 0, false);
        }
    }

    /** Repeats the start of the epoch between two transactions; chunks without their last one are void then. */
    public void repeatEpochStart(GtidSet set, String serverUuid) {
        append(epochStart(set, serverUuid), null, 0);
    }

    private LogRecord epochStart(GtidSet set, String serverUuid) {
        EpochStart start = EpochStart.newBuilder().setGtidSet(set.toString()).setServerUuid(serverUuid).build();
        return LogRecord.newBuilder().setEpoch(epoch).setLastChunk(true).setEpochStart(start).build();
    }

    /** Appends a chunk; the epoch is filled in here. */
    public void append(LogRecord.Builder record, Gtid gtid, Gtid previous, long commitMicros) {
        record.setEpoch(epoch).setGtid(gtid.toString()).setCommitTimeUs(commitMicros);
        if (previous != null) {
            record.setPreviousGtid(previous.toString());
        }
        append(record.build(), gtid, commitMicros);
    }

    private void append(LogRecord record, Gtid gtid, long commitMicros) {
        check();
        byte[] bytes = record.toByteArray();
        sinceEpochStart = record.hasEpochStart() ? 0 : sinceEpochStart + bytes.length;
        boolean endsTransaction = gtid != null && record.getLastChunk();
        if (!away.get()) {
            send(bytes, commitMicros, endsTransaction);
            count(record);
        }
        copy.record(gtid, endsTransaction, bytes);
    }

    private void send(byte[] record, long commitMicros, boolean endsTransaction) {
        long sentAt = System.nanoTime();
        if (sent.getAndIncrement() == acknowledged.get()) {
            progressNanos = sentAt;
        }
        try {
            producer.send(
                    new ProducerRecord<>(topic, 0, null, record),
                    (metadata, error) -> {
                        acknowledged.incrementAndGet();
                        metrics.observe(Metric.CAPTURE_ACKNOWLEDGE, (System.nanoTime() - sentAt) / 1e9);
                        done(metadata, error, commitMicros, endsTransaction);
                    });
        } catch (KafkaException | IllegalStateException e) {
            // Another thread closed the producer while this one was about to send, or waited for room.
            if (!away.get()) {
                throw e;
            }
        }
    }

    private void count(LogRecord record) {
        metrics.add(Metric.CAPTURE_RECORDS, record.getBodyCase().name().toLowerCase(), 1);
        metrics.add(Metric.CAPTURE_BYTES, record.getSerializedSize());
    }

    private void done(RecordMetadata metadata, Exception error, long commitMicros, boolean endsTransaction) {
        if (error != null) {
            notWritten(error);
            return;
        }
        progressNanos = System.nanoTime();
        acknowledged(metadata.offset());
        if (endsTransaction) {
            metrics.observe(Metric.CAPTURE_LAG, (System.currentTimeMillis() * 1000 - commitMicros) / 1e6);
        }
    }

    /** What the log says where a record lies. */
    void acknowledged(long offset) {
        if (offset <= lastOffset) {
            fail(new IllegalStateException("offset " + offset + " after " + lastOffset + ": the topic was created anew"));
            return;
        }
        if (lastOffset >= 0 && offset != lastOffset + 1) {
            intruder = new Range(lastOffset + 1, offset);
        }
        lastOffset = offset;
    }

    /** Called again from the callbacks of what waits when this closes the producer. */
    private void notWritten(Exception error) {
        if (away.get() || failure.get() != null) {
            return;
        }
        // Kafka's producer tries again what may pass, until its time is over.
        if (!(error instanceof RetriableException)) {
            fail(error);
        } else if (away.compareAndSet(false, true)) {
            log.warn("the log is away, appliers that follow capture go on without it epoch={} error=\"{}\"", epoch, error.getMessage());
            producer.close(Duration.ZERO);
            broker.await(this::returned);
        }
    }

    private void returned() {
        log.info("the log is back, a new epoch brings what it lacks epoch={}", epoch);
        failure.compareAndSet(null, new IllegalStateException("it was away"));
    }

    /** On any thread. */
    public void fail(Exception error) {
        if (failure.compareAndSet(null, error)) {
            log.error("log not written, nothing more is sent in this epoch epoch={} error=\"{}\"", epoch, error.getMessage());
            producer.close(Duration.ZERO);
        }
    }

    /** Throws if a record could not be written, unless Kafka is away; then, when it is back. */
    public void check() {
        Exception e = failure.get();
        if (e != null) {
            throw new IllegalStateException("log not written: " + e.getMessage(), e);
        }
    }

    /**
     * Throws if the broker refuses this writer's account, too. Kafka's producer says so only in a metric while it has nothing to
     * send.
     */
    public void checkAccount() {
        boolean refused = !away.get() && producer.metrics().values().stream()
                .anyMatch(m -> m.metricName().name().equals(REFUSALS) && m.metricValue() instanceof Double count && count > 0);
        if (refused) {
            fail(new SaslAuthenticationException("the account or its password has changed"));
        }
        check();
    }

    /** How long records have been waiting for the log without any progress. */
    public Duration stalled() {
        boolean waiting = away.get() || sent.get() > acknowledged.get();
        return !waiting ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - progressNanos);
    }

    /** Bytes of records behind the epoch's start, or its last repetition. */
    public long bytesSinceEpochStart() {
        return sinceEpochStart;
    }

    /** Offsets between this writer's records that somebody else wrote, once; null if none since the last call. */
    public Range intruder() {
        Range range = intruder;
        intruder = null;
        return range;
    }

    @Override
    public void close() {
        broker.close();
        producer.close(failure.get() == null ? Duration.ofSeconds(5) : Duration.ZERO);
    }
}
