package multimed.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import multimed.gtid.Gtid;
import multimed.process.Address;
import multimed.process.Metrics;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Both ends over a real socket. */
@Timeout(60)
class LiveTest {
    private static final UUID SERVER = UUID.fromString("11111111-1111-1111-1111-111111111111");
    private static final int LONGEST = 1 << 20;
    private static final long RING_BYTES = 256 * 1024;
    private static final long DEADLINE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private LiveServer server;
    private final List<LiveReader> readers = new ArrayList<>();

    @BeforeEach
    void listen() throws IOException {
        listen(0, Duration.ZERO, Turns.LONGEST);
    }

    private void listen(int port, Duration firstTurn, Duration longestTurn) throws IOException {
        server = new LiveServer(new Address("127.0.0.1", port), "secret", RING_BYTES, new Metrics(), new Turns(firstTurn, longestTurn));
    }

    @AfterEach
    void close() {
        readers.forEach(LiveReader::close);
        server.close();
    }

    private LiveReader reader(String password, long after) throws IOException {
        LiveReader reader = LiveReader.open(new Address("127.0.0.1", server.port()), password, gtid(after), LONGEST);
        readers.add(reader);
        return reader;
    }

    private static Gtid gtid(long number) {
        return Gtid.of(SERVER, "", number);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private void publish(long number) {
        server.publish(gtid(number), true, bytes("record " + number));
    }

    private static List<String> read(LiveReader reader, int count) throws IOException {
        List<String> found = new ArrayList<>();
        long deadline = System.nanoTime() + DEADLINE_NANOS;
        while (found.size() < count && System.nanoTime() < deadline) {
            reader.poll(Duration.ofSeconds(1)).forEach(record -> found.add(new String(record, StandardCharsets.UTF_8)));
        }
        return found;
    }

    /** Until the connection ends; how. */
    private static IOException end(LiveReader reader) {
        long deadline = System.nanoTime() + DEADLINE_NANOS;
        return assertThrows(IOException.class, () -> {
            while (System.nanoTime() < deadline) {
                reader.poll(Duration.ofSeconds(1));
            }
        });
    }

    @Test
    void aReaderGetsWhatFollowsWhatItHas() throws IOException {
        for (int i = 1; i <= 5; i++) {
            publish(i);
        }
        LiveReader reader = reader("secret", 3);
        assertEquals(List.of("record 4", "record 5"), read(reader, 2));
        publish(6);
        assertEquals(List.of("record 6"), read(reader, 1));
    }

    @Test
    void itBeginsBehindAWholeTransactionAndGetsWhatIsNoTransaction() throws IOException {
        server.publish(gtid(1), false, bytes("1, first half"));
        server.publish(gtid(1), true, bytes("1, second half"));
        server.publish(null, false, bytes("epoch"));
        publish(2);
        assertEquals(List.of("epoch", "record 2"), read(reader("secret", 1), 2));
    }

    @Test
    void whoHasSomethingElseIsSentAway() throws IOException {
        publish(1);
        end(reader("secret", 7));
        server.publish(gtid(2), false, bytes("a part"));
        end(reader("secret", 2));
    }

    @Test
    void whatFellOutOfTheMemoryCanNotBeFollowed() throws IOException {
        publish(1);
        server.publish(gtid(2), true, new byte[(int) RING_BYTES - 10]);
        end(reader("secret", 1));
    }

    @Test
    void oneSatelliteAfterTheOtherClonesAgainAndNotAllAtOnce() throws IOException {
        LiveReader first = turn();
        assertEquals(1, read(first, 1).size());
        List<LiveReader> others = List.of(turn(), turn());
        server.restart();
        for (LiveReader other : others) {
            assertEquals(List.of(), other.poll(Duration.ofMillis(300)));
        }
        first.close();
        long deadline = System.nanoTime() + DEADLINE_NANOS;
        List<LiveReader> next = List.of();
        while (next.isEmpty() && System.nanoTime() < deadline) {
            next = others.stream().filter(this::hasTurn).toList();
        }
        assertEquals(1, next.size(), "one of both");
        next.get(0).close();
        LiveReader last = others.get(1 - others.indexOf(next.get(0)));
        assertEquals(1, read(last, 1).size());
    }

    @Test
    void aTurnThatIsUnderWayLastsWhenCaptureBeginsAnew() throws IOException {
        LiveReader first = turn();
        assertEquals(1, read(first, 1).size());
        server.close();
        listen(0, Duration.ofSeconds(5), Turns.LONGEST);
        LiveReader second = turn();
        first = LiveReader.keepTurn(new Address("127.0.0.1", server.port()), "secret");
        assertEquals(List.of(), second.poll(Duration.ofSeconds(7)));
        first.close();
        assertEquals(1, read(second, 1).size());
    }

    @Test
    void aTurnOutlivesItsConnection() throws IOException {
        LiveReader first = turn();
        assertEquals(1, read(first, 1).size());
        LiveReader second = turn();
        first.close();
        first = LiveReader.keepTurn(new Address("127.0.0.1", server.port()), "secret");
        assertEquals(List.of(), second.poll(Duration.ofSeconds(5)));
        first.close();
        assertEquals(1, read(second, 1).size());
    }

    @Test
    void aTurnThatDoesNotEndKeepsNobodyWaitingForGood() throws IOException {
        server.close();
        listen(0, Duration.ZERO, Duration.ofMillis(500));
        LiveReader first = turn();
        assertEquals(1, read(first, 1).size());
        assertEquals(1, read(turn(), 1).size());
        assertEquals(List.of(), first.poll(Duration.ofMillis(1)), "its connection stays");
    }

    private LiveReader turn() throws IOException {
        LiveReader turn = LiveReader.askForTurn(new Address("127.0.0.1", server.port()), "secret");
        readers.add(turn);
        return turn;
    }

    private boolean hasTurn(LiveReader turn) {
        try {
            return !turn.poll(Duration.ofMillis(100)).isEmpty();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aNewEpochEndsAllConnectionsAndForgetsAll() throws IOException {
        publish(1);
        LiveReader reader = reader("secret", 1);
        publish(2);
        assertEquals(List.of("record 2"), read(reader, 1));
        server.restart();
        end(reader);
        end(reader("secret", 2));
    }

    @Test
    void whoDoesNotKnowThePasswordGetsNothingAndGivesNothing() throws IOException {
        publish(1);
        publish(2);
        IOException refused = assertThrows(IOException.class, () -> reader("wrong", 1));
        assertTrue(refused.getMessage().contains("password"), refused.getMessage());
        assertThrows(IOException.class, () -> reader(null, 1));
        assertEquals(List.of("record 2"), read(reader("secret", 1), 1));
    }

    @Test
    void heartbeatsKeepAnIdleConnection() throws IOException {
        publish(1);
        LiveReader reader = reader("secret", 1);
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(4)) {
            assertEquals(List.of(), reader.poll(Duration.ofSeconds(2)));
        }
        publish(2);
        assertEquals(List.of("record 2"), read(reader, 1));
    }

    /** Records of any length, to readers of any speed, while they come: in order, none left out, or the connection ends. */
    @Test
    void recordsOfAllLengthsComeWholeAndInOrder() throws Exception {
        publish(1);
        List<LiveReader> all = List.of(reader("secret", 1), reader("secret", 1), reader("secret", 1));
        Random random = new Random(5);
        byte[][] records = new byte[3000][];
        for (int i = 0; i < records.length; i++) {
            records[i] = new byte[1 + (i % 500 == 0 ? 200_000 : random.nextInt(2000))];
            random.nextBytes(records[i]);
        }
        // What is published before a reader has begun could fall out of the memory.
        CountDownLatch begun = new CountDownLatch(all.size());
        Thread publisher = new Thread(() -> {
            try {
                begun.await();
            } catch (InterruptedException e) {
                return;
            }
            for (int i = 0; i < records.length; i++) {
                server.publish(gtid(i + 3), true, records[i]);
            }
        });
        publisher.start();
        publish(2);
        List<Thread> threads = new ArrayList<>();
        List<String> wrong = new ArrayList<>();
        for (LiveReader reader : all) {
            Thread thread = new Thread(() -> check(reader, records, begun, wrong));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        publisher.join();
        assertEquals(List.of(), wrong);
    }

    private static void check(LiveReader reader, byte[][] records, CountDownLatch begun, List<String> wrong) {
        int next = 0;
        try {
            assertEquals(List.of("record 2"), read(reader, 1));
            begun.countDown();
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            while (next < records.length && System.nanoTime() < deadline) {
                for (byte[] record : reader.poll(Duration.ofSeconds(1))) {
                    if (!java.util.Arrays.equals(record, records[next++])) {
                        throw new IOException("record " + next + " differs");
                    }
                }
            }
        } catch (IOException | AssertionError e) {
            synchronized (wrong) {
                wrong.add("after " + next + ": " + e);
            }
            begun.countDown();
        }
    }

    @Test
    void aReaderThatDoesNotReadIsSentAwayAndHoldsNobodyUp() throws IOException {
        publish(1);
        LiveReader slow = reader("secret", 1);
        LiveReader quick = reader("secret", 1);
        publish(2);
        assertEquals(List.of("record 2"), read(quick, 1));
        assertEquals(List.of("record 2"), read(slow, 1));
        byte[] large = new byte[200_000];
        for (int i = 3; i < 203; i++) {
            server.publish(gtid(i), true, large);
            assertEquals(1, read(quick, 1).size());
        }
        end(slow);
    }

    @Test
    void aPollCanBeEndedFromOutside() throws Exception {
        publish(1);
        LiveReader reader = reader("secret", 1);
        reader.wakeUp();
        long begin = System.nanoTime();
        assertEquals(List.of(), reader.poll(Duration.ofSeconds(30)));
        assertTrue(System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(20));
    }
}
