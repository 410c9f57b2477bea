package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import multimed.binlog.EventType;
import multimed.gtid.GtidSet;
import org.junit.jupiter.api.Test;

class PreparedTransactionsTest {
    private static final GtidSet FIRST = GtidSet.parse("aaaaaaaa-0000-0000-0000-000000000001:1-5");
    private static final GtidSet LATER = GtidSet.parse("aaaaaaaa-0000-0000-0000-000000000001:1-6");

    private final PreparedTransactions prepared = new PreparedTransactions();
    private final MasterTransaction group = CapturedEvents.transactions().stream()
            .filter(t -> t.events().get(t.events().size() - 1).type() == EventType.XA_PREPARE).findFirst().orElseThrow();

    @Test
    void changes_are_given_out_once_without_what_is_not_a_change() {
        prepared.add("X'01'", group, null);
        assertEquals(2, prepared.take("X'01'").changes().size());
        assertNull(prepared.take("X'01'"));
    }

    @Test
    void an_interruption_without_another_writer_keeps_them() {
        prepared.resumeFrom(FIRST);
        prepared.add("X'01'", group, null);
        prepared.writtenUpTo(LATER);
        prepared.resumeFrom(LATER);
        assertNotNull(prepared.take("X'01'"));
    }

    @Test
    void what_another_capture_wrote_meanwhile_makes_every_xid_doubtful() {
        prepared.resumeFrom(FIRST);
        prepared.add("X'01'", group, null);
        prepared.writtenUpTo(FIRST);
        prepared.resumeFrom(LATER);
        assertNull(prepared.take("X'01'"));
    }

    @Test
    void what_can_not_be_replayed_stays_so() {
        prepared.add("X'01'", group, "a statement inside");
        assertEquals("a statement inside", prepared.take("X'01'").unsafe());
        assertTrue(prepared.take("X'02'") == null);
    }
}
