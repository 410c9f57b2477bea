package multimed.apply;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import multimed.live.LiveReader;

/**
 * Satellites that must clone again because of a record of the log, or of what the log no longer has, do so one after the other: capture
 * gives each its turn, and the others serve what they have, which is old and not wrong. In: capture's address. Out: the turn, which lasts until it is ended. Must never: keep a
 * satellite from cloning for good: without capture, or after a while without a turn, it goes without.
 */
final class RebuildTurn {
    private static final long LONGEST_WAIT_NANOS = TimeUnit.MINUTES.toNanos(10);
    /** Tries, a second apart. */
    private static final int MOST_FAILURES = 15;
    private static final Duration STEP = Duration.ofSeconds(1);

    private final ApplyConfig config;
    private LiveReader connection;

    RebuildTurn(ApplyConfig config) {
        this.config = config;
    }

    /** Returns when it is this satellite's turn, or the satellite should wait no longer. Throws if it is gone. */
    void await(SatelliteSession session, CountDownLatch stopped) throws SQLException, InterruptedException {
        end();
        if (config.live() == null) {
            return;
        }
        long deadline = System.nanoTime() + LONGEST_WAIT_NANOS;
        for (int failures = 0; failures < MOST_FAILURES && System.nanoTime() < deadline;) {
            try {
                if (stopped.getCount() == 0 || hasCome()) {
                    return;
                }
                session.executed();
            } catch (IOException e) {
                ApplyLoop.LOG.debug("event=no-turn error=\"{}\"", e.getMessage());
                end();
                failures++;
                stopped.await(STEP.toMillis(), TimeUnit.MILLISECONDS);
            }
        }
        ApplyLoop.LOG.warn("event=rebuild-without-turn");
    }

    private boolean hasCome() throws IOException {
        if (connection == null) {
            connection = LiveReader.askForTurn(config.live(), config.log().password());
        }
        return !connection.poll(STEP).isEmpty();
    }

    void end() {
        if (connection != null) {
            connection.close();
            connection = null;
        }
    }
}
