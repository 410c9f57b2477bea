package multimed.apply;

import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import multimed.log.proto.LogRecord;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A real broker: the one at KAFKA_TEST_BOOTSTRAP if that is set, else a container of the image KAFKA_TEST_IMAGE. */
final class TestKafka {
    private static final AtomicInteger TOPICS = new AtomicInteger();
    private static String broker;
    private final String bootstrap;
    private final String topic = "log-" + ProcessHandle.current().pid() + "-" + TOPICS.incrementAndGet();
    private final KafkaProducer<byte[], byte[]> producer;

    /** A new, empty log on the broker. */
    TestKafka(String bootstrap) {
        this.bootstrap = bootstrap;
        Docker.await("topic " + topic + " is there", 120, () -> {
            try (Admin admin = admin()) {
                Set<String> topics = admin.listTopics().names().get();
                return topics.contains(topic) || admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get() == null;
            }
        });
        producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 5), new ByteArraySerializer(),
                new ByteArraySerializer());
    }

    /** One for all tests of the run. */
    static synchronized String broker() {
        String given = System.getenv("KAFKA_TEST_BOOTSTRAP");
        if (broker == null) {
            broker = given != null ? given : start(System.getenv().getOrDefault("KAFKA_TEST_IMAGE", "multimed/kafka:0.2.0"));
        }
        return broker;
    }

    /** The same settings as in docker-compose.yml, which the official image and ours both read. */
    private static String start(String image) {
        String settings = "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://$(hostname -i | cut -d ' ' -f 1):9092;"
                + " exec /etc/kafka/docker/run";
        String name = Docker.startForAll("kafka", List.of("--entrypoint", "bash", "-e", "KAFKA_HEAP_OPTS=-Xms256m -Xmx512m",
                "-e", "KAFKA_NODE_ID=1", "-e", "KAFKA_PROCESS_ROLES=broker,controller",
                "-e", "KAFKA_LISTENERS=PLAINTEXT://:9092,CONTROLLER://localhost:9093",
                "-e", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "-e", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER", "-e", "KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9093",
                "-e", "KAFKA_LOG_DIRS=/tmp/kafka-data", "-e", "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1",
                "-e", "CLUSTER_ID=bXVsdGltZWQtbG9nLTAwMQ"), image, List.of("-c", settings));
        String bootstrap = Docker.address(name) + ":9092";
        Docker.await("Kafka answers", 60, () -> {
            try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
                return admin.describeCluster().nodes().get(5, TimeUnit.SECONDS).size() == 1;
            }
        });
        return bootstrap;
    }

    private Admin admin() {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        return Admin.create(p);
    }

    String bootstrap() {
        return bootstrap;
    }

    String topic() {
        return topic;
    }

    void append(LogRecord record) {
        producer.send(new ProducerRecord<>(topic, 0, null, record.toByteArray()));
    }

    void flush() {
        producer.flush();
    }

    /** What retention does, at once. */
    void forgetBefore(long offset) {
        try (Admin admin = admin()) {
            admin.deleteRecords(Map.of(new TopicPartition(topic, 0), RecordsToDelete.beforeOffset(offset))).all().get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }
}
