package multimed.apply;

import static multimed.log.TestRecords.UUID;
import static multimed.log.TestRecords.empty;
import static multimed.log.TestRecords.gtid;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogEvent.EpochStarted;
import multimed.log.LogEvent.Part;
import org.junit.jupiter.api.Test;

class GapDetectorTest {
    private static GapDetector satelliteAt(String set) {
        return new GapDetector(GtidSet.parse(set));
    }

    private static Part part(long n, Long previous) {
        return new Part(Gtid.parse(gtid(n)), previous == null ? null : Gtid.parse(gtid(previous)), empty(n), true, true, n);
    }

    private static EpochStarted epoch(String set) {
        return new EpochStarted(1, GtidSet.parse(set), UUID, 0);
    }

    private static void assertDivergence(Divergence.Reason reason, String required, Runnable action) {
        Divergence e = assertThrows(Divergence.class, action::run);
        assertEquals(reason, e.reason());
        assertEquals(GtidSet.parse(required), e.required());
    }

    @Test
    void aTransactionIsWantedOnceAndOnlyAfterItsPredecessor() {
        GapDetector c = satelliteAt(UUID + ":1-4");
        assertFalse(c.wants(part(4, 3L)));
        assertTrue(c.wants(part(5, 4L)));
        c.written(Gtid.parse(gtid(5)));
        assertFalse(c.wants(part(5, 4L)));
        assertTrue(c.wants(part(6, 5L)));
        assertDivergence(Divergence.Reason.LACKING, UUID + ":7", () -> c.wants(part(8, 7L)));
    }

    @Test
    void aTransactionWithoutPredecessorNeedsAnEpochStartBeforeIt() {
        GapDetector c = satelliteAt(UUID + ":1-4");
        assertDivergence(Divergence.Reason.LACKING, UUID + ":5", () -> c.wants(part(5, null)));
        c.epochStarted(epoch(UUID + ":1-4"));
        assertTrue(c.wants(part(5, null)));
        c.written(Gtid.parse(gtid(5)));
        assertDivergence(Divergence.Reason.LACKING, UUID + ":6", () -> c.wants(part(6, null)));
    }

    @Test
    void whatAnEpochStartHasAndTheSatelliteLacksCannotComeAnymore() {
        GapDetector c = satelliteAt(UUID + ":1-4");
        assertDivergence(Divergence.Reason.LACKING, UUID + ":1-9", () -> c.epochStarted(epoch(UUID + ":1-9")));
    }

    @Test
    void whatOnlyTheSatelliteHasIsNotAskedOfADonor() {
        GapDetector c = satelliteAt(UUID + ":1-4,ffffffff-0000-0000-0000-000000000001:1");
        assertDivergence(Divergence.Reason.LACKING, UUID + ":1-9", () -> c.epochStarted(epoch(UUID + ":1-9")));
        assertDivergence(Divergence.Reason.LACKING, UUID + ":7", () -> c.wants(part(8, 7L)));
    }

    @Test
    void aSatelliteAheadOfTheLogWaitsForIt() {
        GapDetector c = satelliteAt(UUID + ":1-9");
        c.epochStarted(epoch(UUID + ":1-4"));
        assertFalse(c.wants(part(5, null)));
        assertFalse(c.wants(part(6, 5L)));
    }

    @Test
    void whatTheLogDoesNotHaveIsForeignOnceSomethingWasWritten() {
        String foreign = "ffffffff-0000-0000-0000-000000000001:1";
        GapDetector c = satelliteAt(UUID + ":1-4," + foreign);
        c.epochStarted(epoch(UUID + ":1-4"));
        assertTrue(c.wants(part(5, null)));
        c.written(Gtid.parse(gtid(5)));
        c.epochStarted(epoch(UUID + ":1-5"));
        assertDivergence(Divergence.Reason.FOREIGN, UUID + ":1-5", () -> c.wants(part(6, 5L)));
    }

    @Test
    void aStartThatIsCorrectedBeforeATransactionComesDoesNotCount() {
        GapDetector c = satelliteAt(UUID + ":1-4");
        assertTrue(c.wants(part(5, 4L)));
        c.written(Gtid.parse(gtid(5)));
        c.epochStarted(epoch(UUID + ":1-4"));
        c.epochStarted(epoch(UUID + ":1-5"));
        assertTrue(c.wants(part(6, 5L)));
    }

    @Test
    void whatAReplacedCaptureWroteAndTheNewOneBringsAgainIsNotForeign() {
        GapDetector c = satelliteAt(UUID + ":1-4");
        assertTrue(c.wants(part(5, 4L)));
        c.written(Gtid.parse(gtid(5)));
        assertTrue(c.wants(part(6, 5L)));
        c.written(Gtid.parse(gtid(6)));
        c.epochStarted(epoch(UUID + ":1-4"));
        assertFalse(c.wants(part(5, null)));
        assertFalse(c.wants(part(6, 5L)));
        assertTrue(c.wants(part(7, 6L)));
    }

    @Test
    void whatASatelliteHasOfItsOwnIsForeignWhileNothingIsOnItsWay() {
        GapDetector c = satelliteAt(UUID + ":1-4");
        c.idle(GtidSet.parse(UUID + ":1-4"));
        c.epochStarted(epoch(UUID + ":1-4"));
        assertTrue(c.wants(part(5, null)));
        c.written(Gtid.parse(gtid(5)));
        c.idle(GtidSet.parse(UUID + ":1-5"));
        String foreign = "ffffffff-0000-0000-0000-000000000001:1";
        c.idle(GtidSet.parse(UUID + ":1-5," + foreign));
        assertDivergence(Divergence.Reason.FOREIGN, UUID + ":1-5", () -> c.idle(GtidSet.parse(UUID + ":1-5," + foreign)));
    }

    private static final String MARK = "00000000-0000-0000-1234-0123456789ab:7";

    private static Part mark(long previous) {
        return new Part(Gtid.parse(MARK), Gtid.parse(gtid(previous)), empty(1), true, true, 1);
    }

    /** It followed capture while Kafka was away. Then a copy of the master was restored that has what the log has, but not that. */
    @Test
    void whatARestoredMasterHasLostIsForeignAtTheMarkOfItsBoot() {
        GapDetector c = satelliteAt(UUID + ":1-9");
        c.epochStarted(epoch(UUID + ":1-4"));
        assertFalse(c.wants(part(5, null)));
        assertDivergence(Divergence.Reason.FOREIGN, MARK, () -> c.wants(mark(5)));
    }

    @Test
    void whatAMasterHasThatBootedAgainComesBeforeTheMark() {
        GapDetector c = satelliteAt(UUID + ":1-6");
        c.epochStarted(epoch(UUID + ":1-4"));
        assertFalse(c.wants(part(5, null)));
        assertFalse(c.wants(part(6, 5L)));
        assertTrue(c.wants(mark(6)));
    }

    @Test
    void aMarkCountsOnlyForWhoHasSeenWhatLiesBeforeIt() {
        GapDetector c = satelliteAt(UUID + ":1-9");
        assertFalse(c.wants(part(5, 4L)));
        assertDivergence(Divergence.Reason.LACKING, MARK, () -> c.wants(mark(5)));
    }

    @Test
    void whoLacksNoMarkIsOnlyOld() {
        GtidSet executed = GtidSet.parse(UUID + ":1-4");
        assertTrue(new Divergence(Divergence.Reason.LACKING, GtidSet.parse(UUID + ":1-9"), "").isOnlyOld(executed));
        assertFalse(new Divergence(Divergence.Reason.LACKING, GtidSet.parse(UUID + ":1-9," + MARK), "").isOnlyOld(executed));
        assertTrue(new Divergence(Divergence.Reason.REBUILD_RECORD, GtidSet.parse(MARK), "").isOnlyOld(executed));
        assertFalse(new Divergence(Divergence.Reason.FOREIGN, executed, "").isOnlyOld(executed));
    }
}
