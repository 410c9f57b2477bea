package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import multimed.gtid.Gtid;
import org.junit.jupiter.api.Test;

class TestFaultTest {
    private static final String MASTER = "aaaaaaaa-0000-0000-0000-000000000001:";

    @Test
    void everyNthTransactionAndNoOther() {
        TestFault fault = TestFault.parse("untold:3");
        assertEquals(TestFault.Kind.UNTOLD, fault.at(Gtid.parse(MASTER + 6)));
        assertEquals(TestFault.Kind.NONE, fault.at(Gtid.parse(MASTER + 7)));
    }

    @Test
    void nothingByDefaultAndNothingElse() {
        assertEquals(TestFault.Kind.NONE, TestFault.parse("").at(Gtid.parse(MASTER + 1)));
        assertThrows(IllegalArgumentException.class, () -> TestFault.parse("untold"));
        assertThrows(IllegalArgumentException.class, () -> TestFault.parse("none:1"));
    }
}
