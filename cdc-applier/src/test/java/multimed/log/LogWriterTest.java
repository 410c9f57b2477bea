package multimed.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import multimed.gtid.Gtid;
import multimed.log.proto.Empty;
import multimed.log.proto.LogRecord;
import multimed.process.Metrics;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Measurable;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Time;
import org.junit.jupiter.api.Test;

class LogWriterTest {
    private final MockProducer<byte[], byte[]> kafka = new MockProducer<>(false, null, new ByteArraySerializer(),
            new ByteArraySerializer());
    private final LogWriter writer = new LogWriter(kafka, "log", 7, LogWriter.Copy.NONE, new Metrics());

    private void append(int number) {
        LogRecord.Builder record = LogRecord.newBuilder().setLastChunk(true).setEmpty(Empty.getDefaultInstance());
        writer.append(record, Gtid.parse("aaaaaaaa-0000-0000-0000-000000000001:" + number), null, 0);
    }

    @Test
    void nothing_is_sent_after_a_batch_that_has_expired() {
        append(1);
        append(2);
        assertTrue(kafka.errorNext(new TimeoutException("Expiring 1 record(s)")));
        assertTrue(kafka.closed(), "before its next round, not when somebody notices");
        assertThrows(IllegalStateException.class, () -> append(3));
        assertEquals(2, kafka.history().size());
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
