package multimed.capture.comparison;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PassTest {
    private static final long HOUR = TimeUnit.HOURS.toNanos(1);
    private static final long TAKES = TimeUnit.MILLISECONDS.toNanos(10);
    private static final Piece BODY = new Piece(null, List.of("end"), false);
    private long now = 5 * HOUR;

    private static ComparedTable table(String name, long rows) {
        return new ComparedTable("app", name, rows, 100, List.of(new KeyPart("id", "int", null, null, false, false)));
    }

    private Pass pass(double hours) {
        return new Pass(hours, () -> now, new Random(1));
    }

    /** Goes through the pass on its own clock, in pieces of 500 rows; returns when each began, from the beginning of the pass on. */
    private List<Long> run(Pass pass, List<ComparedTable> tables) throws Exception {
        List<Long> begins = new ArrayList<>();
        pass.begin(tables);
        long began = now;
        while (!pass.isOver()) {
            now += pass.nanosUntilDue();
            begins.add(now - began);
            long left = pass.table().rows();
            Pass.Open open = pass.open() != null ? pass.open() : pass.open(new PieceQuery(pass.table(), List.of(new Column("id", "int"))));
            Piece piece = open.walk().next(new Rows(left, pass));
            now += TAKES;
            pass.rest(TAKES);
            pass.compared(piece, Math.min(500, left), TAKES);
        }
        return begins;
    }

    /** As many as the table has, numbered from 1. */
    private record Rows(long rows, Pass pass) implements TableWalk.Keys {
        @Override
        public List<String> nth(long n, List<String> after, List<String> upTo) {
            long number = (after == null ? 0 : Long.parseLong(after.get(0))) + n;
            return number > rows ? null : List.of(Long.toString(number));
        }

        @Override
        public List<String> last() {
            return List.of(Long.toString(rows));
        }
    }

    @Test
    void aPassIsSpreadOverItsTime() throws Exception {
        List<Long> begins = run(pass(24), List.of(table("a", 100_000), table("b", 10), table("c", 0), table("d", 150_000)));
        assertTrue(begins.size() > 500, begins.size() + " pieces");
        for (int i = 0; i < begins.size(); i++) {
            double due = 24.0 * HOUR * (i + 1) / begins.size();
            assertEquals(due, begins.get(i), 0.2 * HOUR, "piece " + i);
        }
        assertTrue(begins.get(0) > 0, "a capture that restarts again and again does not compare at each start");
    }

    @Test
    void aPassThatIsTooLargeForItsTimeRestsAllTheSame() throws Exception {
        List<Long> begins = run(pass(0.001), List.of(table("a", 100_000)));
        for (int i = 1; i < begins.size(); i++) {
            assertTrue(begins.get(i) - begins.get(i - 1) >= 21 * TAKES);
        }
    }

    @Test
    void theNextPassBeginsWhenItsTimeHasCome() throws Exception {
        Pass pass = pass(2);
        assertEquals(0, pass.nanosUntilDue(), "the first one begins at once");
        run(pass, List.of(table("a", 10)));
        assertEquals(20 * TAKES, pass.nanosUntilDue(), "the last piece ended it just in time");
        pass.begin(List.of(table("a", 10)));
        pass.skip();
        now += HOUR / 2;
        assertEquals(1.5 * HOUR, pass.nanosUntilDue());
        pass.begin(List.of());
        assertTrue(pass.isOver());
        assertEquals(2 * HOUR, pass.nanosUntilDue(), "a master without tables");
    }

    @Test
    void progressGoesFromNothingToAll() throws Exception {
        Pass pass = pass(1);
        assertEquals(1, pass.progress());
        pass.begin(List.of(table("a", 1000), table("b", 1000)));
        assertEquals(0, pass.progress());
        pass.open(new PieceQuery(pass.table(), List.of(new Column("id", "int"))));
        pass.compared(BODY, 500, TAKES);
        assertEquals(0.25, pass.progress());
        pass.compared(BODY, 100_000, TAKES);
        assertEquals(0.5, pass.progress(), "more rows than were estimated");
        pass.skip();
        assertEquals(0.5, pass.progress());
        pass.skip();
        assertEquals(1, pass.progress());
        assertEquals(2, pass.skipped());
    }

    @Test
    void tablesWithoutAKeyAreNamedAndLeftOut() {
        Pass pass = pass(1);
        ComparedTable bare = new ComparedTable("app", "bare", 5, 100, List.of());
        assertEquals(List.of(bare), pass.begin(List.of(table("a", 1), bare)));
        assertEquals(1, pass.skipped());
        assertEquals("a", pass.table().name());
    }

    @Test
    void eachPassBeginsWithAnotherTable() {
        Set<String> first = new HashSet<>();
        Pass pass = pass(1);
        for (int i = 0; i < 50; i++) {
            pass.begin(List.of(table("a", 1), table("b", 1), table("c", 1)));
            first.add(pass.table().name());
            while (!pass.isOver()) {
                pass.skip();
            }
        }
        assertEquals(Set.of("a", "b", "c"), first);
    }

    @Test
    void withNoHoursThereIsNone() {
        assertFalse(pass(0).isWanted());
        assertTrue(pass(0.0001).isWanted());
    }
}
