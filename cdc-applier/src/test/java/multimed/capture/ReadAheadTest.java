package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import multimed.binlog.BinlogEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadAheadTest {
    private static final int LIMIT = 1000;

    private final ReadAhead ahead = new ReadAhead(LIMIT);
    private final CountDownLatch closed = new CountDownLatch(1);
    private final List<Integer> taken = new ArrayList<>();

    /** Its number is its type, and its length what is asked for. */
    private static BinlogEvent event(int number, int length) {
        byte[] bytes = new byte[length];
        bytes[4] = (byte) number;
        return BinlogEvent.of(bytes);
    }

    private void add(int number, boolean due) throws Exception {
        ahead.add(event(number, 100), due);
    }

    private void take(BinlogEvent event) {
        taken.add(event.type());
    }

    private static List<Integer> upTo(int last) {
        return IntStream.rangeClosed(1, last).boxed().toList();
    }

    @Test
    void eventsComeInOrderAndThenWhatEndedTheirSource() {
        IOException lost = new IOException("connection lost");
        Exception thrown = assertThrows(IOException.class, () -> ahead.run(() -> {
            for (int number = 1; number <= 100; number++) {
                add(number, number % 5 == 0);
            }
            throw lost;
        }, closed::countDown, this::take));
        assertSame(lost, thrown);
        assertEquals(upTo(100), taken);
    }

    @Test
    void theSourceGoesOnWhileAnEventIsInHandUpToTheLimit() {
        AtomicInteger read = new AtomicInteger();
        CountDownLatch tenWereRead = new CountDownLatch(10);
        assertThrows(EOFException.class, () -> ahead.run(() -> {
            for (int number = 1; number <= 30; number++) {
                add(number, true);
                read.set(number);
                tenWereRead.countDown();
            }
            throw new EOFException();
        }, closed::countDown, event -> {
            if (event.type() == 1) {
                tenWereRead.await();
                // The next one waits for room: ten are 1000 bytes.
                assertEquals(10, read.get());
            }
            take(event);
        }));
        assertEquals(upTo(30), taken);
    }

    @Test
    void anEventBeyondTheLimitPassesAlone() {
        assertThrows(EOFException.class, () -> ahead.run(() -> {
            ahead.add(event(1, 10 * LIMIT), true);
            ahead.add(event(2, 10 * LIMIT), true);
            throw new EOFException();
        }, closed::countDown, this::take));
        assertEquals(upTo(2), taken);
    }

    @Test
    void anErrorOfTheSinkEndsASourceThatWaitsForRoom() {
        AtomicBoolean ended = new AtomicBoolean();
        Exception broken = new IllegalStateException("the log is broken");
        Exception thrown = assertThrows(IllegalStateException.class, () -> ahead.run(() -> {
            try {
                for (int number = 1;; number++) {
                    add(number % 100, true);
                }
            } finally {
                ended.set(true);
            }
        }, closed::countDown, event -> {
            throw broken;
        }));
        assertSame(broken, thrown);
        assertEquals(0, closed.getCount());
        assertTrue(ended.get(), "the source's thread has ended");
    }

    @Test
    void aClosedSourceEndsTheRunWithoutTheRest() throws Exception {
        CountDownLatch inHand = new CountDownLatch(1);
        ahead.run(() -> {
            add(1, true);
            add(2, true);
            inHand.await();
        }, closed::countDown, event -> {
            take(event);
            inHand.countDown();
            // The source returns now; what it had read before is dropped.
            awaitEnd();
        });
        assertEquals(upTo(1), taken);
    }

    private static void awaitEnd() {
        while (Thread.getAllStackTraces().keySet().stream().anyMatch(t -> t.getName().equals("binlog-reader"))) {
            Thread.onSpinWait();
        }
    }
}
