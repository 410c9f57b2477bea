package multimed.capture.comparison;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import multimed.gtid.Gtid;
import multimed.log.proto.Check;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ChecksTest {
    private static final Gtid GTID = Gtid.parse("00000000-0000-0001-0000-0000000000a1:7");
    private static final Gtid OTHER = Gtid.parse("00000000-0000-0001-0000-0000000000a1:8");
    private static final Check CHECK = Check.newBuilder().setExpected("1:AB").build();

    private final Checks checks = new Checks();

    /** Capture, which has read this transaction. */
    private CompletableFuture<Check> taking(Gtid gtid) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return checks.take(gtid);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void captureGetsTheCheckOfItsTransactionOnce() throws Exception {
        checks.offer(GTID, CHECK);
        assertTrue(checks.decide(true));
        assertNull(checks.take(OTHER));
        assertEquals(CHECK, checks.take(GTID));
        assertNull(checks.take(GTID), "read again after an error");
        checks.awaitTaken(Long.MAX_VALUE / 4);
    }

    @Test
    void captureWaitsUntilItIsKnownWhetherTheRowsWereLocked() throws Exception {
        checks.offer(GTID, CHECK);
        CompletableFuture<Check> taken = taking(GTID);
        assertFalse(taken.isDone());
        checks.decide(true);
        assertEquals(CHECK, taken.get());
    }

    @Test
    void aCheckWhoseLocksMayHaveBeenLostDoesNotCount() throws Exception {
        checks.offer(GTID, CHECK);
        CompletableFuture<Check> taken = taking(GTID);
        assertFalse(checks.decide(false));
        assertNull(taken.get());
        assertNull(checks.take(GTID));
    }

    @Test
    void captureDoesNotWaitForLongAndThenTheCheckIsLost() throws Exception {
        checks.offer(GTID, CHECK);
        assertNull(checks.take(GTID));
        assertFalse(checks.decide(true));
    }

    @Test
    void aCaptureThatIsBehindIsWaitedForButNotForEver() throws Exception {
        checks.awaitTaken(0);
        checks.offer(GTID, CHECK);
        checks.decide(true);
        checks.awaitTaken(TimeUnit.MILLISECONDS.toNanos(1));
        assertNull(checks.take(GTID), "the next one may be under way");
    }
}
