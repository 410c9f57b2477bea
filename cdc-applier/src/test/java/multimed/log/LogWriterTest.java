package multimed.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.proto.Empty;
import multimed.log.proto.LogRecord;
import multimed.process.Metrics;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Measurable;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Time;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LogWriterTest {
    private final MockProducer<byte[], byte[]> kafka = new MockProducer<>(false, null, new ByteArraySerializer(),
            new ByteArraySerializer());
    private final AtomicInteger copies = new AtomicInteger();
    private volatile boolean back;
    private final LogWriter writer = new LogWriter(kafka, "log", 7, (gtid, last, record) -> copies.incrementAndGet(),
            new Metrics(), new BrokerReturn(() -> back));

    @AfterEach
    void close() {
        writer.close();
    }

    private void append(int number) {
        LogRecord.Builder record = LogRecord.newBuilder().setLastChunk(true).setEmpty(Empty.getDefaultInstance());
        writer.append(record, Gtid.parse("aaaaaaaa-0000-0000-0000-000000000001:" + number), null, 0);
    }

    @Test
    void nothing_is_sent_after_a_batch_that_was_refused() {
        append(1);
        append(2);
        assertTrue(kafka.errorNext(new OutOfOrderSequenceException("of a batch before")));
        assertTrue(kafka.closed(), "before its next round, not when somebody notices");
        assertThrows(IllegalStateException.class, () -> append(3));
        assertEquals(2, kafka.history().size());
        assertEquals(2, copies.get());
    }

    /** Appliers that follow capture stood still 30 s after Kafka's end. */
    @Test
    void while_kafka_is_away_the_copy_goes_on_and_nothing_is_sent_after_a_batch_that_has_expired() {
        append(1);
        append(2);
        assertTrue(kafka.errorNext(new TimeoutException("Expiring 1 record(s)")));
        assertTrue(kafka.closed(), "before its next round, not when somebody notices");
        append(3);
        writer.repeatEpochStart(GtidSet.EMPTY, "uuid");
        writer.checkAccount();
        assertEquals(2, kafka.history().size());
        assertEquals(4, copies.get());
        assertTrue(writer.stalled().toNanos() > 0);
        back = true;
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        assertThrows(IllegalStateException.class, () -> {
            while (System.nanoTime() < deadline) {
                writer.check();
                Thread.onSpinWait();
            }
        }, "the next epoch begins");
    }

    /** Capture was not ready for a moment at each transaction of a quiet master. */
    @Test
    void a_log_that_had_nothing_to_write_does_not_stand_still() throws InterruptedException {
        Thread.sleep(300);
        append(1);
        assertTrue(writer.stalled().toMillis() < 250, writer.stalled()::toString);
        kafka.completeNext();
        assertEquals(0, writer.stalled().toNanos());
    }

    @Test
    void what_else_ends_the_epoch_ends_it_while_kafka_is_away_too() {
        append(1);
        assertTrue(kafka.errorNext(new TimeoutException("Expiring 1 record(s)")));
        append(2);
        writer.fail(new IllegalStateException("the master's lock is lost"));
        assertThrows(IllegalStateException.class, () -> append(3));
    }

    @Test
    void what_was_written_since_the_epochs_start_is_known() {
        append(1);
        append(2);
        assertEquals(kafka.history().stream().mapToLong(each -> each.value().length).sum(), writer.bytesSinceEpochStart());
        writer.repeatEpochStart(GtidSet.EMPTY, "uuid");
        assertEquals(0, writer.bytesSinceEpochStart());
    }

    @Test
    void a_topic_that_was_created_anew_ends_the_epoch() {
        append(1);
        append(2);
        kafka.completeNext();
        assertTrue(kafka.completeNext());
        assertFalse(kafka.closed());
        kafka.clear();
        writer.acknowledged(0);
        assertTrue(kafka.closed());
        assertThrows(IllegalStateException.class, writer::check);
    }

    @Test
    void an_idle_writer_whose_account_is_refused_says_so() {
        append(1);
        kafka.completeNext();
        writer.checkAccount();
        MetricName name = new MetricName("failed-authentication-total", "producer-metrics", "", Map.of());
        Measurable once = (config, now) -> 1;
        kafka.setMockMetrics(name, new KafkaMetric(this, name, once, new MetricConfig(), Time.SYSTEM));
        Exception refused = assertThrows(IllegalStateException.class, writer::checkAccount);
        assertInstanceOf(AuthenticationException.class, refused.getCause());
        assertTrue(kafka.closed());
    }
}
