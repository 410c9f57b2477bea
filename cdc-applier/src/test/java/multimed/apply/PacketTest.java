package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PacketTest {
    private static Packet.Expectation expectation(String sql) {
        Packet packet = new Packet();
        packet.add(sql);
        return packet.expectations().get(0);
    }

    @Test
    void aCommitThatTheServerRefusesIsAFailureOfTheTransactionWithItsCode() throws SQLException {
        SQLException full = new SQLException("Got error 28 - 'No space left on device' during COMMIT", "HY000", 1180);
        ApplyFailure failure = expectation("COMMIT").refusal(full, Divergence.Reason.ROW);
        assertEquals(Divergence.Reason.COMMIT, failure.reason());
        assertTrue(failure.getMessage().contains("COMMIT: 1180 Got error 28"), failure.getMessage());
        assertFalse(failure.retryable(), "told again, once, and then divergence");
        assertTrue(expectation("COMMIT").refusal(new SQLException("Deadlock", "40001", 1213), Divergence.Reason.ROW).retryable());
    }

    @Test
    void aSessionThatIsLostAtCommitLeavesItToTheServersSet() {
        SQLException lost = new SQLException("Lost connection", "08S01", 2013);
        assertSame(lost, assertThrows(SQLException.class, () -> expectation("COMMIT").refusal(lost, Divergence.Reason.ROW)));
    }

    @ParameterizedTest
    @ValueSource(ints = {5, 1037, 1041, 1135, 4081, 4082})
    void aServerWhoseMemoryOthersHaveTakenIsNoDivergence(int code) throws SQLException {
        ApplyFailure failure = expectation("COMMIT").refusal(new SQLException("Out of memory", "HY000", code), Divergence.Reason.ROW);
        assertTrue(failure.retryable() && failure.outOfMemory());
        assertEquals("memory", failure.retry());
    }

    @Test
    void anyOtherStatementKeepsItsReason() throws SQLException {
        SQLException error = new SQLException("Duplicate entry", "23000", 1062);
        assertEquals(Divergence.Reason.RAW, expectation("BEGIN").refusal(error, Divergence.Reason.RAW).reason());
    }
}
