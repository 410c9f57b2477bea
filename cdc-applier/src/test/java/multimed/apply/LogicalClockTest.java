package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;

import multimed.log.proto.LogRecord;
import org.junit.jupiter.api.Test;

class LogicalClockTest {
    private final LogicalClock clock = new LogicalClock();

    private long sinceParent(long sequence, long lastCommitted) {
        return clock.sinceCommitParent(LogRecord.newBuilder().setSequenceNumber(sequence).setLastCommitted(lastCommitted).build());
    }

    @Test
    void aTransactionMayOvertakeThoseAfterItsCommitParent() {
        assertEquals(0, sinceParent(1, 0));
        assertEquals(1, sinceParent(2, 0));
        assertEquals(0, sinceParent(3, 2));
        assertEquals(3, sinceParent(4, 0));
    }

    @Test
    void nothingIsKnownAcrossBinlogFilesAndGaps() {
        sinceParent(7, 6);
        assertEquals(0, sinceParent(9, 1), "8 is missing");
        assertEquals(8, sinceParent(10, 1));
        assertEquals(0, sinceParent(1, 0), "the next file");
        assertEquals(1, sinceParent(2, 0));
    }

    @Test
    void aRecordWithoutClockOvertakesNothing() {
        sinceParent(1, 0);
        assertEquals(0, sinceParent(0, 0));
        assertEquals(0, sinceParent(0, 0));
        assertEquals(0, sinceParent(1, 0));
    }

    @Test
    void aClockThatContradictsItselfLetsNothingOvertake() {
        sinceParent(1, 0);
        assertEquals(0, sinceParent(2, 5));
    }
}
