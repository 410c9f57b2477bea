package multimed.capture;

import java.util.Map;
import java.util.function.Function;
import multimed.log.LogAccess;
import multimed.log.LogTopic;
import multimed.master.MasterAccess;
import multimed.process.Address;
import multimed.process.Settings;

/**
 * Everything an operator can set for capture.
 *
 * @param tableStreamListen where subscribers of the table stream connect
 * @param liveListen where appliers connect that follow capture and not the log
 * @param readersPassword of the log's readers; null where the log asks for no account
 * @param retentionBytes of the log; 0: no bound
 * @param largeBytes a transaction longer than this in the binlog is streamed raw, without Debezium and in bounded memory
 * @param compareHours that a pass over all tables takes which compares satellites with the master; 0: none
 * @param testFault test only: how to break the log's contract, or the table stream's
 */
public record CaptureConfig(
        LogAccess log, String topic, Address listen, Address tableStreamListen, Address liveListen, String readersPassword,
        MasterAccess master,
        long retentionHours, long retentionBytes, long largeBytes, double compareHours, TestFault testFault) {

    /** In what Kafka keeps there is an epoch's start, unless one transaction is longer. */
    private static final long LEAST_RETENTION_BYTES = 2L * LogTopic.SEGMENT_BYTES;

    static CaptureConfig from(Map<String, String> env) {
        return from(env, LogAccess::writer);
    }

    /** For what must not write into the log. */
    public static CaptureConfig forReading(Map<String, String> env) {
        return from(env, LogAccess::reader);
    }

    private static CaptureConfig from(Map<String, String> env, Function<Settings, LogAccess> access) {
        Settings s = new Settings(env);
        CaptureConfig config = new CaptureConfig(
                access.apply(s),
                s.text("LOG_TOPIC", "multimed.log"),
                s.address("STATUS_LISTEN", "0.0.0.0:8080"),
                s.address("TABLE_STREAM_LISTEN", "0.0.0.0:9095"),
                s.address("LIVE_LISTEN", "0.0.0.0:9096"),
                LogAccess.reader(s).password(),
                new MasterAccess(
                        new Address(s.required("MASTER_HOST"), s.port("MASTER_PORT", 3306)),
                        s.text("CAPTURE_USER", "multimed_capture"),
                        s.secret("CAPTURE_PASSWORD")),
                s.number("LOG_RETENTION_HOURS", 168, 1, 24 * 3650),
                s.size("LOG_RETENTION_SIZE", 10L << 30, LEAST_RETENTION_BYTES),
                s.number("CAPTURE_LARGE_BYTES", 4 * 1024 * 1024, 64 * 1024, 256L * 1024 * 1024),
                s.decimal("COMPARE_HOURS", 24, 0, 24 * 365),
                testFault(s));
        s.check();
        return config;
    }

    private static TestFault testFault(Settings s) {
        try {
            return TestFault.parse(s.text("CAPTURE_TEST_FAULT", ""));
        } catch (IllegalArgumentException e) {
            return s.mistake("CAPTURE_TEST_FAULT is " + e.getMessage(), TestFault.parse(""));
        }
    }
}
