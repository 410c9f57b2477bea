package multimed.apply;

import java.nio.file.Path;
import java.util.Map;
import multimed.log.LogAccess;
import multimed.process.Address;
import multimed.process.Settings;

/**
 * All settings of {@code apply}, immutable.
 *
 * @param live where capture gives records at once; null: all comes from the log
 * @param socket the satellite's Unix socket, for the sessions that execute transactions side by side; null: TCP
 * @param workers sessions that execute transactions at the same time; with 1 all is done on one session
 * @param ddlReaderWaitMs how long a change waits for locks that readers hold before their connections are ended
 * @param rebuildFile where the satellite's supervisor looks for the GTID set that its next donor must contain
 * @param testDelayMs test only: no transaction is applied sooner after it was written to the log
 * @param testSkipRowEvery test only: leave out every nth row change; 0 for none
 */
record ApplyConfig(
        LogAccess log,
        String logTopic,
        Address live,
        Address statusListen,
        Address satellite,
        Path socket,
        String user,
        String password,
        int workers,
        long ddlReaderWaitMs,
        String rebuildFile,
        int batchRows,
        int batchBytes,
        long testDelayMs,
        long testSkipRowEvery) {

    /** Throws ConfigException naming every mistake. */
    static ApplyConfig from(Map<String, String> env) {
        Settings s = new Settings(env);
        ApplyConfig config = new ApplyConfig(
                LogAccess.reader(s),
                s.text("LOG_TOPIC", "multimed.log"),
                s.text("LIVE_LOG", "").isEmpty() ? null : s.address("LIVE_LOG", ""),
                s.address("STATUS_LISTEN", "0.0.0.0:8080"),
                new Address(s.required("SATELLITE_HOST"), s.port("SATELLITE_PORT", 3306)),
                s.text("SATELLITE_SOCKET", "").isEmpty() ? null : Path.of(s.text("SATELLITE_SOCKET", "")),
                s.text("APPLIER_USER", "multimed_applier"),
                s.secret("APPLIER_PASSWORD"),
                (int) s.number("APPLIER_WORKERS", 4, 1, 64),
                s.number("APPLIER_DDL_READER_WAIT_MS", 5000, 0, 86_400_000),
                s.text("APPLIER_REBUILD_FILE", "/var/lib/multimed/rebuild"),
                (int) s.number("APPLIER_BATCH_ROWS", 1000, 1, 100_000),
                (int) s.number("APPLIER_BATCH_BYTES", 262_144, 1024, 64 << 20),
                s.number("APPLIER_TEST_DELAY_MS", 0, 0, 600_000),
                s.number("APPLIER_TEST_SKIP_ROW_EVERY", 0, 0, Integer.MAX_VALUE));
        s.check();
        return config;
    }

    /** Never the password. */
    @Override
    public String toString() {
        return "kafka=" + log + " topic=" + logTopic + " live=" + live + " satellite=" + satellite + " socket=" + socket + " user=" + user
                + " workers=" + workers
                + " status_listen=" + statusListen + " ddl_reader_wait_ms=" + ddlReaderWaitMs;
    }
}
