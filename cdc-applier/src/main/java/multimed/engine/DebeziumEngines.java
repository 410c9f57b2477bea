package multimed.engine;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import multimed.master.MasterAccess;
import org.apache.kafka.connect.source.SourceRecord;

/** Builds Debezium's engine. Settings whose reason is not obvious carry it here. */
final class DebeziumEngines {
    static final String NOTIFICATIONS = "notifications";

    private DebeziumEngines() {}

    /**
     * Calls {@code handler} on Debezium's threads, in order; {@code ended} once when it stops, with the error if there was one.
     */
    static DebeziumTask create(MasterAccess access, Consumer<SourceRecord> handler, Consumer<Throwable> ended) {
        return new DebeziumTask(settings(access), handler, ended);
    }

    static Map<String, String> settings(MasterAccess access) {
        Map<String, String> p = new HashMap<>();
        p.put("name", "decode");
        p.put("topic.prefix", "master");
        p.put("connector.class", "io.debezium.connector.mysql.MySqlConnector");
        p.put("database.hostname", access.address().host());
        p.put("database.port", Integer.toString(access.address().port()));
        p.put("database.user", access.user());
        p.put("database.password", access.password());
        p.put("database.server.id", Long.toString(ThreadLocalRandom.current().nextLong(0x50000000L, 0x5fffffffL)));
        // TLS on the private network cost 1 ms per transaction; the password still goes RSA-encrypted.
        p.put("database.ssl.mode", "disabled");
        p.put("driver.allowPublicKeyRetrieval", "true");
        // Nothing is kept: every start begins at the master's position and reads the schemas again.
        p.put("schema.history.internal", NoSchemaHistory.class.getName());
        p.put("snapshot.mode", "no_data");
        p.put("snapshot.locking.mode", "none");
        p.put("notification.enabled.channels", "sink");
        p.put("notification.sink.topic.name", NOTIFICATIONS);
        p.put("include.schema.changes", "false");
        p.put("tombstones.on.delete", "false");
        p.put("extended.headers.enabled", "false");
        exactValues(p);
        // An error ends it.
        p.put("errors.max.retries", "0");
        p.put("connect.keep.alive", "false");
        // Nothing stays in Debezium's queue (HandOver), so nothing of it is counted; a poll only looks for errors.
        p.put("max.queue.size.in.bytes", "0");
        p.put("poll.interval.ms", "500");
        return p;
    }

    /** Exact values or an error, never an adjusted one. */
    private static void exactValues(Map<String, String> p) {
        p.put("decimal.handling.mode", "string");
        p.put("bigint.unsigned.handling.mode", "long");
        p.put("time.precision.mode", "adaptive_time_microseconds");
        p.put("binary.handling.mode", "bytes");
        p.put("enable.time.adjuster", "false");
        p.put("event.converting.failure.handling.mode", "fail");
        p.put("inconsistent.schema.handling.mode", "fail");
        p.put("event.processing.failure.handling.mode", "fail");
    }
}
