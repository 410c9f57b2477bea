package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;

import multimed.log.proto.LogRecord;
import org.junit.jupiter.api.Test;

class LogicalClockTest {
    private final LogicalClock clock = new LogicalClock();

    private long freeOf(long sequence, long lastCommitted) {
        return clock.freeOf(LogRecord.newBuilder().setSequenceNumber(sequence).setLastCommitted(lastCommitted).build());
    }

    @Test
    void aTransactionIsFreeOfThoseAfterTheLastItMayConflictWith() {
        assertEquals(0, freeOf(1, 0));
        assertEquals(1, freeOf(2, 0));
        assertEquals(0, freeOf(3, 2));
        assertEquals(3, freeOf(4, 0));
    }

    @Test
    void nothingIsKnownAcrossBinlogFilesAndGaps() {
        freeOf(7, 6);
        assertEquals(0, freeOf(9, 1), "8 is missing");
        assertEquals(8, freeOf(10, 1));
        assertEquals(0, freeOf(1, 0), "the next file");
        assertEquals(1, freeOf(2, 0));
    }

    @Test
    void aRecordWithoutClockIsFreeOfNothing() {
        freeOf(1, 0);
        assertEquals(0, freeOf(0, 0));
        assertEquals(0, freeOf(0, 0));
        assertEquals(0, freeOf(1, 0));
    }

    @Test
    void aClockThatContradictsItselfFreesNothing() {
        freeOf(1, 0);
        assertEquals(0, freeOf(2, 5));
    }
}
