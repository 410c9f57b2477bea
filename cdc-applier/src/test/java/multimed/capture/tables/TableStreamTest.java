package multimed.capture.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import multimed.binlog.TableName;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.master.MasterAccess;
import multimed.process.Address;
import multimed.process.MetricValues;
import multimed.process.Metrics;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TableStreamTest {
    private static final String MASTER = "aaaaaaaa-0000-0000-0000-000000000001";
    private static final GtidSet FIRST = GtidSet.parse(MASTER + ":1-9");
    private static final int CAPACITY = 8;
    private static final long BYTES = 200_000;

    /** Nothing listens there: there is no catalog. */
    private static final MasterAccess NOBODY = new MasterAccess(new Address("127.0.0.1", 1), "nobody", "");

    private final Metrics metrics = new Metrics();
    private final TableStream stream = new TableStream(new Address("127.0.0.1", 0), NOBODY, metrics, new TableRing(CAPACITY, BYTES));

    TableStreamTest() throws IOException {}

    @AfterEach
    void close() {
        stream.close();
    }

    private TestSubscriber subscriber() throws IOException {
        return new TestSubscriber(stream.port());
    }

    private void publish(long number, WrittenTables written) {
        stream.publish(Gtid.parse(MASTER + ":" + number), 1000 + number, written);
    }

    private void publish(long number) {
        publish(number, WrittenTables.of(List.of(new TableName("app", "t" + number))));
    }

    private static String told(long number) {
        return MASTER + ":" + number + " " + (1000 + number) + " [app.t" + number + "]";
    }

    private static String hello(String before) {
        return "hello 1 " + MASTER + " " + MASTER + ":" + before;
    }

    private static void assertClosed(TestSubscriber subscriber) {
        assertThrows(IOException.class, () -> {
            while (!subscriber.next().isEmpty()) {
                // what was on the way
            }
        });
    }

    private double metric(String series) {
        return MetricValues.of(metrics, "multimed_capture_table_stream_" + series);
    }

    private void awaitSubscribers(int count) {
        while (metric("subscribers") != count) {
            Thread.yield();
        }
    }

    @Test
    void aSubscriberGetsTheRingAndThenWhatComesInOrder() throws IOException {
        stream.restart(MASTER, FIRST);
        publish(10);
        publish(11, WrittenTables.ALL);
        try (TestSubscriber subscriber = subscriber()) {
            assertEquals(hello("1-9"), subscriber.next());
            assertEquals(told(10), subscriber.next());
            assertEquals(MASTER + ":11 1011 ALL", subscriber.next());
            publish(12, WrittenTables.NONE);
            publish(13, WrittenTables.of(List.of(new TableName("ä", "a.b"), new TableName("ä", "€"))));
            assertEquals(MASTER + ":12 1012 []", subscriber.next());
            assertEquals(MASTER + ":13 1013 [ä.a.b, ä.€]", subscriber.next());
        }
        assertEquals(3, metric("transactions_total{kind=\"tables\"}"));
        assertEquals(1, metric("transactions_total{kind=\"all\"}"));
    }

    @Test
    void manySubscribersGetTheSame() throws IOException {
        stream.restart(MASTER, FIRST);
        List<TestSubscriber> all = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            all.add(subscriber());
            assertEquals(hello("1-9"), all.get(i).next());
        }
        for (int i = 10; i < 18; i++) {
            publish(i);
        }
        for (TestSubscriber each : all) {
            for (int i = 10; i < 18; i++) {
                assertEquals(told(i), each.next());
            }
            each.close();
        }
        awaitSubscribers(0);
    }

    @Test
    void whatFallsOutOfTheRingJoinsBefore() throws IOException {
        stream.restart(MASTER, FIRST);
        for (int i = 10; i < 10 + CAPACITY + 3; i++) {
            publish(i);
        }
        try (TestSubscriber subscriber = subscriber()) {
            assertEquals(hello("1-12"), subscriber.next());
            for (int i = 13; i < 10 + CAPACITY + 3; i++) {
                assertEquals(told(i), subscriber.next());
            }
        }
    }

    private static WrittenTables large(int characters) {
        String name = "x".repeat(characters / 1000 - 5);
        return WrittenTables.of(IntStream.range(100, 1100).mapToObj(i -> new TableName("", name + i)).toList());
    }

    @Test
    void theRingIsBoundedInBytes() throws IOException {
        stream.restart(MASTER, FIRST);
        for (int i = 10; i < 15; i++) {
            publish(i, large(60_000));
        }
        try (TestSubscriber subscriber = subscriber()) {
            assertEquals(hello("1-11"), subscriber.next());
        }
    }

    @Test
    void aTransactionLongerThanAFrameCountsAsEverything() throws IOException {
        stream.restart(MASTER, FIRST);
        publish(10, large(70_000));
        try (TestSubscriber subscriber = subscriber()) {
            subscriber.next();
            assertEquals(MASTER + ":10 1010 ROWS", subscriber.next());
        }
        assertEquals(1, metric("transactions_total{kind=\"all\"}"));
    }

    @Test
    void aNewEpochBeginsWithAnEmptyRingAndNewConnections() throws IOException {
        stream.restart(MASTER, FIRST);
        publish(10);
        try (TestSubscriber old = subscriber()) {
            old.next();
            assertEquals(told(10), old.next());
            stream.restart(MASTER, GtidSet.parse(MASTER + ":1-20"));
            publish(21);
            assertClosed(old);
            try (TestSubscriber anew = subscriber()) {
                assertEquals(hello("1-20"), anew.next());
                assertEquals(told(21), anew.next());
            }
        }
        assertEquals(0, metric("slow_total"));
    }

    @Test
    void transactionsThatCanNotBeToldDoNotStayAHole() throws IOException {
        stream.restart(MASTER, FIRST);
        publish(10);
        // It was told before it was written to the log.
        publish(11);
        stream.restart(GtidSet.parse(MASTER + ":1-10," + MASTER.replace('a', 'b') + ":1-1000"));
        publish(12);
        try (TestSubscriber subscriber = subscriber()) {
            assertEquals(hello("1-11," + MASTER.replace('a', 'b') + ":1-1000"), subscriber.next());
            assertEquals(told(12), subscriber.next());
        }
    }

    @Test
    void nobodyIsToldAnythingBeforeTheFirstEpoch() throws IOException {
        try (TestSubscriber subscriber = subscriber()) {
            assertClosed(subscriber);
        }
        awaitSubscribers(0);
    }

    /** The operating system's buffers take megabytes; then the subscriber's thread is blocked, and capture's must not be. */
    @Test
    void aSlowSubscriberIsDisconnectedAndNobodyElse() throws IOException {
        stream.restart(MASTER, FIRST);
        try (TestSubscriber slow = new TestSubscriber(stream.port(), 4096); TestSubscriber fast = subscriber()) {
            slow.next();
            fast.next();
            WrittenTables large = large(60_000);
            for (int i = 10; metric("slow_total") == 0; i++) {
                publish(i, large);
                fast.next();
            }
            assertEquals(1, metric("slow_total"));
            awaitSubscribers(1);
            assertClosed(slow);
        }
    }

    private CompletableFuture<Void> settling() {
        return CompletableFuture.runAsync(() -> {
            try {
                stream.settle();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    /** One that has acknowledged all that it was sent, and knows that. */
    private TestSubscriber acknowledging() throws IOException {
        TestSubscriber subscriber = subscriber();
        subscriber.acknowledge(0, 7);
        subscriber.markOf(7);
        return subscriber;
    }

    @Test
    void theLogWaitsUntilWhoAcknowledgesHasWhatWasRedefined() throws IOException {
        stream.restart(MASTER, FIRST);
        try (TestSubscriber first = acknowledging(); TestSubscriber second = acknowledging(); TestSubscriber silent = subscriber()) {
            publish(10, WrittenTables.ALL);
            CompletableFuture<Void> settling = settling();
            assertEquals(MASTER + ":10 1010 ALL", first.next());
            assertEquals(MASTER + ":10 1010 ALL", second.next());
            first.acknowledge(first.markOf(7), 8);
            // The mark with its time shows that this was read.
            first.markOf(8);
            assertFalse(settling.isDone());
            second.acknowledge(second.markOf(7), 8);
            settling.join();
            assertEquals(0, metric("slow_total"));
            awaitSubscribers(3);
            assertEquals(hello("1-9"), silent.next());
            publish(11);
            settling().join();
        }
    }

    @Test
    void whoDoesNotAcknowledgeInTimeIsDisconnected() throws IOException {
        stream.restart(MASTER, FIRST);
        try (TestSubscriber hung = acknowledging(); TestSubscriber silent = subscriber()) {
            publish(10, WrittenTables.ALL);
            settling().join();
            assertEquals(1, metric("slow_total"));
            assertClosed(hung);
            silent.next();
            assertEquals(MASTER + ":10 1010 ALL", silent.next());
            awaitSubscribers(1);
        }
    }

    /** It may not know yet that it was disconnected. */
    @Test
    void theLogWaitsForWhoWasLostAMomentAgo() throws IOException {
        stream.restart(MASTER, FIRST);
        long began = System.nanoTime();
        acknowledging().close();
        awaitSubscribers(0);
        publish(10, WrittenTables.ALL);
        settling().join();
        assertTrue(System.nanoTime() - began >= 1_000_000_000);
    }

    /** A mark says that all before it came: while a batch of the ring is left, or between epochs, none is sent. */
    @Test
    void aMarkComesBehindAllThatWasPublishedBeforeItsTime() throws IOException {
        stream.restart(MASTER, FIRST);
        try (TestSubscriber subscriber = acknowledging()) {
            for (int i = 10; i < 16; i++) {
                publish(i);
                subscriber.acknowledge(0, i);
                assertEquals(told(i), subscriber.next());
                assertEquals(i - 9, subscriber.markOf(i));
            }
            stream.pause();
            subscriber.acknowledge(0, 99);
            for (String frame = subscriber.any(); !frame.equals("heartbeat"); frame = subscriber.any()) {
                assertFalse(frame.endsWith(" 99"));
            }
        }
    }

    @Test
    void aSilentStreamBeats() throws IOException {
        stream.restart(MASTER, FIRST);
        try (TestSubscriber subscriber = subscriber()) {
            subscriber.next();
            assertEquals("heartbeat", subscriber.any());
            assertEquals("heartbeat", subscriber.any());
            publish(10);
            assertEquals(told(10), subscriber.next());
        }
    }

    @Test
    void whatAClientSendsHarmsNothing() throws IOException {
        stream.restart(MASTER, FIRST);
        byte[] garbage = new byte[10_000];
        new Random(1).nextBytes(garbage);
        try (TestSubscriber rude = subscriber(); TestSubscriber polite = subscriber()) {
            polite.next();
            rude.send(garbage);
            assertEquals(hello("1-9"), rude.next());
            publish(10);
            assertEquals(told(10), rude.next());
            assertEquals(told(10), polite.next());
        }
        awaitSubscribers(0);
    }

    @Test
    void oneMoreThanTheMostIsRefusedAndAPlaceBecomesFree() throws IOException {
        stream.restart(MASTER, FIRST);
        List<TestSubscriber> all = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            all.add(subscriber());
            all.get(i).next();
        }
        try (TestSubscriber refused = subscriber()) {
            assertClosed(refused);
        }
        all.remove(0).close();
        awaitSubscribers(63);
        try (TestSubscriber admitted = subscriber()) {
            assertEquals(hello("1-9"), admitted.next());
        }
        for (TestSubscriber each : all) {
            each.close();
        }
    }

    @Test
    void aPortThatIsTakenIsAnError() {
        assertThrows(BindException.class, () -> new TableStream(new Address("127.0.0.1", stream.port()), NOBODY, metrics));
    }
}
