package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import multimed.log.LogTopic;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.junit.jupiter.api.Test;

class RetentionIT {
    @Test
    void aChangedRetentionHoldsForALogThatIsThere() throws Exception {
        TestKafka kafka = new TestKafka(TestKafka.broker());
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrap()))) {
            String topic = kafka.topic() + "-retained";
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            assertTrue(LogTopic.create(admin, topic, 24, 0));
            Docker.await("the topic's settings are known", 10, () -> retention(admin, resource).equals("86400000 ms, -1 bytes"));
            assertFalse(LogTopic.create(admin, topic, 24, 0));
            assertTrue(LogTopic.create(admin, topic, 2, 1 << 30));
            Docker.await("the retention is what was said last", 10,
                    () -> retention(admin, resource).equals("7200000 ms, 1073741824 bytes"));
            assertFalse(LogTopic.create(admin, topic, 2, 1 << 30));
            assertEquals(1, admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
        }
    }

    private static String retention(Admin admin, ConfigResource topic) throws Exception {
        var is = admin.describeConfigs(List.of(topic)).all().get().get(topic);
        return is.get(TopicConfig.RETENTION_MS_CONFIG).value() + " ms, " + is.get(TopicConfig.RETENTION_BYTES_CONFIG).value() + " bytes";
    }
}
