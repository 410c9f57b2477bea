package multimed.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Properties;
import multimed.process.ConfigException;
import multimed.process.Settings;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;
import org.junit.jupiter.api.Test;

class LogAccessTest {
    private static LogAccess reader(Map<String, String> env) {
        Settings s = new Settings(env);
        LogAccess access = LogAccess.reader(s);
        s.check();
        return access;
    }

    @Test
    void anyPasswordReachesTheBrokerAsItIs() {
        for (String password : List.of("plain", "a\"b\\c; d=\"e", "ünï ' ${x}")) {
            Properties p = reader(Map.of("LOG_READER_PASSWORD", password)).clientSettings();
            var jaas = new Password(p.getProperty(SaslConfigs.SASL_JAAS_CONFIG));
            Map<String, ?> options = JaasContext.loadClientContext(Map.of(SaslConfigs.SASL_JAAS_CONFIG, jaas)).configurationEntries().get(0)
                    .getOptions();
            assertEquals(password, options.get("password"));
            assertEquals("log_reader", options.get("username"));
        }
    }

    @Test
    void whoReadsNeedsNoPasswordOfTheWriter() {
        assertEquals("log_reader@kafka:9092", reader(Map.of("LOG_READER_PASSWORD", "hidden")).toString());
    }

    @Test
    void withoutAPasswordItIsAskedForUnlessTheBrokerAsksForNone() {
        ConfigException e = assertThrows(ConfigException.class, () -> reader(Map.of("KAFKA_BOOTSTRAP", "nowhere")));
        assertEquals(2, e.mistakes().size());
        assertTrue(e.getMessage().contains("LOG_READER_PASSWORD"));
        LogAccess open = reader(Map.of("LOG_AUTHENTICATION", "off", "LOG_READER_PASSWORD_FILE", "/none"));
        assertFalse(open.authenticated());
        assertNull(open.clientSettings().get("security.protocol"));
    }
}
