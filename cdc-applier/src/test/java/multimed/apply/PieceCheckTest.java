package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import multimed.log.proto.Check;
import multimed.log.proto.Empty;
import multimed.log.proto.LogRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PieceCheckTest {
    private static final Check CHECK = Check.newBuilder().setExpected("2:AB").setPiece("app.t up to 9").build();

    @Test
    void anotherAnswerIsADifference() {
        assertNull(PieceCheck.difference(CHECK, "2:AB"));
        assertEquals("piece=\"app.t up to 9\" expected=2:AB found=2:AC", PieceCheck.difference(CHECK, "2:AC"));
        assertEquals("piece=\"app.t up to 9\" expected=2:AB found=null", PieceCheck.difference(CHECK, null));
    }

    @Test
    void whatIsOlderThanTheSessionIsNotCompared() {
        LogRecord.Builder record = LogRecord.newBuilder().setEmpty(Empty.newBuilder().setCheck(CHECK));
        assertTrue(PieceCheck.isDue(record.setCommitTimeUs(12_000_000).build(), 10_000));
        assertFalse(PieceCheck.isDue(record.setCommitTimeUs(10_500_000).build(), 10_000), "clocks differ");
        assertFalse(PieceCheck.isDue(record.setCommitTimeUs(9_000_000).build(), 10_000));
        assertFalse(PieceCheck.isDue(record.setEmpty(Empty.getDefaultInstance()).setCommitTimeUs(12_000_000).build(), 10_000));
    }

    @ParameterizedTest
    @ValueSource(ints = {1049, 1054, 1146, 1176})
    void whatIsNotThereIsADifference(int code) {
        assertTrue(PieceCheck.isNotThere(new SQLException("", "42S02", code)));
    }

    @ParameterizedTest
    @ValueSource(ints = {1038, 1205, 1317, 3024, 3141})
    void aQueryThatDidNotRunSaysNothing(int code) {
        assertFalse(PieceCheck.isNotThere(new SQLException("", "HY000", code)));
    }
}
