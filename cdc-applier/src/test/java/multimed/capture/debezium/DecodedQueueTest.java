package multimed.capture.debezium;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import multimed.capture.debezium.DecodedTransaction.Operation;
import multimed.capture.debezium.DecodedTransaction.Row;
import multimed.gtid.Gtid;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DecodedQueueTest {
    private static final UUID SERVER = UUID.fromString("11111111-1111-1111-1111-111111111111");
    private static final long LONG = TimeUnit.SECONDS.toMillis(30);
    private static final long MIB = 1024 * 1024;

    private final DecodedQueue queue = new DecodedQueue();

    private static Gtid gtid(long number) {
        return Gtid.of(SERVER, "", number);
    }

    private void add(long number, String table) throws InterruptedException {
        queue.add(gtid(number), new Row("app", table, Operation.INSERT, null, null, 100));
    }

    private DecodedTransaction take(long wanted, int rows) throws InterruptedException {
        DecodedTransaction found = queue.peek(gtid(wanted), rows, LONG);
        queue.remove();
        return found;
    }

    @Test
    void theWantedOneComesWithAllItsRows() throws Exception {
        add(1, "a");
        add(1, "b");
        DecodedTransaction found = take(1, 2);
        assertEquals(gtid(1), found.gtid());
        assertEquals(2, found.rows().size());
        assertTrue(found.complete());
    }

    @Test
    void withFewerItDoesNotCome() throws Exception {
        add(1, "a");
        assertNull(queue.peek(gtid(1), 2, 50));
    }

    @Test
    void theNextOneShowsThatNoMoreRowsCome() throws Exception {
        add(1, "a");
        add(2, "a");
        assertEquals(1, take(1, 2).rows().size());
    }

    @Test
    void anotherOneComesAtOnce() throws Exception {
        add(1, "a");
        assertEquals(gtid(1), take(2, 1).gtid());
        assertNull(queue.peek(gtid(2), 1, 50));
    }

    @Test
    void aRowThatCannotBeUsedMakesItIncomplete() throws Exception {
        add(1, "a");
        queue.add(gtid(1), null);
        add(1, "b");
        DecodedTransaction found = take(1, 3);
        assertFalse(found.complete());
        assertEquals(0, found.rows().size());
    }

    @Test
    void rowsThatAreTooManyToKeepAreDroppedAndSaySo() throws Exception {
        for (int i = 0; i < 70; i++) {
            queue.add(gtid(1), new Row("app", "a", Operation.INSERT, null, null, MIB));
        }
        DecodedTransaction found = take(1, 70);
        assertFalse(found.complete());
        assertEquals(0, found.bytes());
        add(2, "a");
        assertEquals(1, take(2, 1).rows().size());
    }

    @Test
    void whoIsAheadWaitsForRoom() throws Exception {
        Thread decoder = new Thread(() -> {
            try {
                for (int i = 1; i <= 200; i++) {
                    queue.add(gtid(i), new Row("app", "a", Operation.INSERT, null, null, MIB));
                }
            } catch (InterruptedException e) {
                // the test has failed
            }
        });
        decoder.start();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (decoder.getState() != Thread.State.WAITING && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        assertEquals(Thread.State.WAITING, decoder.getState());
        for (int i = 1; i <= 200; i++) {
            assertEquals(gtid(i), take(i, 1).gtid());
        }
        decoder.join();
    }

    @Test
    void closingEndsAllWaiting() throws Exception {
        Thread reader = new Thread(() -> {
            try {
                queue.peek(gtid(1), 1, LONG);
            } catch (InterruptedException e) {
                // it ends all the same
            }
        });
        reader.start();
        queue.close();
        reader.join();
        assertNull(queue.peek(gtid(1), 1, 0));
    }

    @Test
    void allComesInOrderWhicheverSideIsFaster() throws Exception {
        int transactions = 20_000;
        Thread decoder = new Thread(() -> {
            Random random = new Random(3);
            try {
                for (int i = 1; i <= transactions; i++) {
                    for (int row = random.nextInt(4); row >= 0; row--) {
                        add(i, "t" + row);
                    }
                }
            } catch (InterruptedException e) {
                // the test has failed
            }
        });
        decoder.start();
        Random random = new Random(3);
        for (int i = 1; i <= transactions; i++) {
            int rows = random.nextInt(4) + 1;
            DecodedTransaction found = queue.peek(gtid(i), rows, LONG);
            assertEquals(gtid(i), found.gtid());
            assertEquals(rows, found.rows().size());
            for (int row = 0; row < rows; row++) {
                assertEquals("t" + (rows - 1 - row), found.rows().get(row).table());
            }
            queue.remove();
        }
        decoder.join();
    }
}
