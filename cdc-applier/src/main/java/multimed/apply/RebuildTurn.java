package multimed.apply;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import multimed.live.LiveReader;
import multimed.live.Turns;

/**
 * Satellites that must clone again because of a record of the log, or of what the log no longer has, do so one after the other: capture
 * gives each its turn, and the others serve what they have, which is old and not wrong. In: capture's address. Out: the turn, which lasts
 * until it is ended, over restarts of capture. Must never: keep a satellite from cloning for good, because capture is not there.
 */
final class RebuildTurn {
    /** Longer than capture is away while it is replaced: without it the others would clone as well, at once. */
    private static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final Duration STEP = Duration.ofSeconds(1);

    /** Throws if it is gone. */
    interface Satellite {
        void ask() throws SQLException;
    }

    private final ApplyConfig config;
    private final long mostFailures;
    private Kept kept;

    RebuildTurn(ApplyConfig config) {
        this(config, PATIENCE);
    }

    RebuildTurn(ApplyConfig config, Duration patience) {
        this.config = config;
        mostFailures = patience.dividedBy(STEP);
    }

    /** Returns when it is this satellite's turn, or the satellite should wait no longer. Throws if it is gone. */
    void await(Satellite satellite, CountDownLatch stopped) throws SQLException, InterruptedException {
        end();
        if (config.live() == null) {
            return;
        }
        LiveReader connection = null;
        long failures = 0;
        try {
            for (boolean come = false; !come && failures < mostFailures && stopped.getCount() > 0;) {
                try {
                    connection = connection != null ? connection : LiveReader.askForTurn(config.live(), config.log().password());
                    come = !connection.poll(STEP).isEmpty();
                    failures = Math.max(0, failures - 1);
                } catch (IOException e) {
                    ApplyLoop.LOG.debug("event=no-turn error=\"{}\"", e.getMessage());
                    close(connection);
                    connection = null;
                    failures++;
                    stopped.await(STEP.toMillis(), TimeUnit.MILLISECONDS);
                }
                satellite.ask();
            }
        } catch (SQLException | InterruptedException e) {
            close(connection);
            throw e;
        }
        if (failures == mostFailures) {
            ApplyLoop.LOG.warn("event=rebuild-without-turn");
        }
        kept = new Kept(config, connection);
        Thread thread = new Thread(kept, "turn");
        thread.setDaemon(true);
        thread.start();
    }

    private static void close(LiveReader connection) {
        if (connection != null) {
            connection.close();
        }
    }

    void end() {
        if (kept != null) {
            kept.end();
            kept = null;
        }
    }

    /** Keeps the connection that stands for the turn, for its time; to each capture that begins anew, it says again that there is one. */
    private static final class Kept implements Runnable {
        private final ApplyConfig config;
        private final CountDownLatch ended = new CountDownLatch(1);
        private final long began = System.nanoTime();
        private LiveReader connection;

        Kept(ApplyConfig config, LiveReader connection) {
            this.config = config;
            this.connection = connection;
        }

        void end() {
            ended.countDown();
        }

        @Override
        public void run() {
            try {
                while (!ended.await(STEP.toMillis(), TimeUnit.MILLISECONDS) && System.nanoTime() - began < Turns.LONGEST.toNanos()) {
                    keep();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                close(connection);
            }
        }

        private void keep() {
            try {
                connection = connection != null ? connection : LiveReader.keepTurn(config.live(), config.log().password());
                connection.poll(Duration.ofMillis(1));
            } catch (IOException e) {
                close(connection);
                connection = null;
            }
        }
    }
}
