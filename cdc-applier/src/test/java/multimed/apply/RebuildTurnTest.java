package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import multimed.live.LiveServer;
import multimed.live.Turns;
import multimed.process.Address;
import multimed.process.Metrics;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two appliers and a capture, over real sockets. */
@Timeout(60)
class RebuildTurnTest {
    private static final Duration FIRST = Duration.ofSeconds(10);

    private LiveServer capture;
    private RebuildTurn one;
    private RebuildTurn other;
    private final CountDownLatch stopped = new CountDownLatch(1);

    @BeforeEach
    void begin() throws IOException {
        capture = capture(0, Duration.ZERO);
        ApplyConfig config = ApplyConfig.from(Map.of("LOG_AUTHENTICATION", "off", "SATELLITE_HOST", "none",
                "APPLIER_USER", "a", "APPLIER_PASSWORD", "secret", "LIVE_LOG", "127.0.0.1:" + capture.port()));
        one = new RebuildTurn(config, Duration.ofSeconds(3));
        other = new RebuildTurn(config);
    }

    @AfterEach
    void end() {
        stopped.countDown();
        one.end();
        other.end();
        capture.close();
    }

    private static LiveServer capture(int port, Duration firstTurn) throws IOException {
        return new LiveServer(new Address("127.0.0.1", port), null, 1000, new Metrics(), new Turns(firstTurn, Turns.LONGEST));
    }

    /** At the same port, which the one before gives up a moment after its end. */
    private static LiveServer captureAgain(int port) throws Exception {
        for (long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();;) {
            try {
                return capture(port, FIRST);
            } catch (BindException e) {
                if (System.nanoTime() > deadline) {
                    throw e;
                }
                Thread.sleep(10);
            }
        }
    }

    private CompletableFuture<Void> await(RebuildTurn turn) {
        return CompletableFuture.runAsync(() -> {
            try {
                turn.await(() -> {}, stopped);
            } catch (SQLException | InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    private static boolean comesWithin(CompletableFuture<Void> turn, Duration time) throws Exception {
        try {
            turn.get(time.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (java.util.concurrent.TimeoutException e) {
            return false;
        }
    }

    @Test
    void itIsKeptWhileCaptureBeginsAnewAndTheOtherWaits() throws Exception {
        assertTrue(comesWithin(await(one), Duration.ofSeconds(20)));
        var waiting = await(other);
        assertFalse(comesWithin(waiting, Duration.ofMillis(500)));
        int port = capture.port();
        capture.close();
        capture = captureAgain(port);
        assertFalse(comesWithin(waiting, FIRST.plusSeconds(2)));
        one.end();
        assertTrue(comesWithin(waiting, Duration.ofSeconds(20)));
    }

    @Test
    void itComesWithoutCaptureInTime() throws Exception {
        capture.close();
        var waiting = await(other);
        assertTrue(comesWithin(await(one), Duration.ofSeconds(40)));
        assertFalse(waiting.isDone(), "one after the other while capture is replaced");
    }

    @Test
    void whoseSatelliteIsGoneWaitsNoLonger() throws Exception {
        assertTrue(comesWithin(await(one), Duration.ofSeconds(20)));
        assertThrows(SQLException.class, () -> other.await(() -> {
            throw new SQLException("gone");
        }, stopped));
        one.end();
        assertTrue(comesWithin(await(one), Duration.ofSeconds(20)), "who has left waits for no turn");
    }
}
