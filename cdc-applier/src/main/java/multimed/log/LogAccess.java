package multimed.log;

import java.util.Properties;
import multimed.process.Settings;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.plain.PlainLoginModule;

/**
 * The log's broker and the account that this process has there; no account where the broker asks for none. Must never: print the
 * password.
 *
 * @param bootstrap host:port[,host:port…]
 * @param user null: without authentication
 */
public record LogAccess(String bootstrap, String user, String password) {
    /** Capture: everything. */
    public static final String WRITER = "log_writer";

    /** Appliers and what only looks at the log. */
    public static final String READER = "log_reader";

    public static LogAccess writer(Settings s) {
        return from(s, WRITER, "LOG_WRITER_PASSWORD");
    }

    public static LogAccess reader(Settings s) {
        return from(s, READER, "LOG_READER_PASSWORD");
    }

    private static LogAccess from(Settings s, String user, String secret) {
        String bootstrap = s.addresses("KAFKA_BOOTSTRAP", "kafka:9092");
        return s.flag("LOG_AUTHENTICATION", true)
                ? new LogAccess(bootstrap, user, s.secret(secret))
                : new LogAccess(bootstrap, null, null);
    }

    public boolean authenticated() {
        return user != null;
    }

    /** What every client of the broker starts from. */
    public Properties clientSettings() {
        Properties p = new Properties();
        p.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        if (authenticated()) {
            p.put(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG, SecurityProtocol.SASL_PLAINTEXT.name);
            p.put(SaslConfigs.SASL_MECHANISM, "PLAIN");
            p.put(SaslConfigs.SASL_JAAS_CONFIG, PlainLoginModule.class.getName() + " required username=" + quoted(user)
                    + " password=" + quoted(password) + ";");
        }
        return p;
    }

    /** As JAAS reads it. */
    private static String quoted(String value) {
        return '"' + value.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    /** What to say of a broker that refuses this account. */
    public String refused(Exception e) {
        return "the broker refuses " + (authenticated() ? "account " + user : "a client without account") + ": " + e.getMessage()
                + " (LOG_AUTHENTICATION and the password must be the broker's)";
    }

    /** Never the password. */
    @Override
    public String toString() {
        return authenticated() ? user + "@" + bootstrap : bootstrap;
    }
}
