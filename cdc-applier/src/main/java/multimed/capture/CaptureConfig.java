package multimed.capture;

import java.util.Map;
import java.util.function.Function;
import multimed.log.LogAccess;
import multimed.master.MasterAccess;
import multimed.process.Address;
import multimed.process.Settings;

/**
 * Everything an operator can set for capture.
 *
 * @param tableStreamListen where subscribers of the table stream connect
 * @param liveListen where appliers connect that follow capture and not the log
 * @param readersPassword of the log's readers; null where the log asks for no account
 * @param largeBytes a transaction longer than this in the binlog is streamed raw, without Debezium and in bounded memory
 * @param testFault test only: how to break the log's contract, or the table stream's
 */
public record CaptureConfig(
        LogAccess log, String topic, Address listen, Address tableStreamListen, Address liveListen, String readersPassword,
        MasterAccess master,
        long retentionHours, long largeBytes, TestFault testFault) {

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
                s.number("CAPTURE_LARGE_BYTES", 4 * 1024 * 1024, 64 * 1024, 256L * 1024 * 1024),
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
