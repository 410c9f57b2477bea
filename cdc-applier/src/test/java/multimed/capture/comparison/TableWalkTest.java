package multimed.capture.comparison;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeSet;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class TableWalkTest {
    private static final long SOON = 1_000_000;
    private static final long LATE = 60_000_000;

    /** A table whose key is a number. */
    private static final class Numbers implements TableWalk.Keys {
        private final NavigableSet<Integer> rows = new TreeSet<>();

        @Override
        public List<String> nth(long n, List<String> after, List<String> upTo) {
            return key(in(new Piece(after, upTo, false)).stream().skip(n - 1).findFirst().orElse(null));
        }

        @Override
        public List<String> last() {
            return rows.isEmpty() ? null : key(rows.last());
        }

        private static List<String> key(Integer number) {
            return number == null ? null : List.of(number.toString());
        }

        NavigableSet<Integer> in(Piece piece) {
            NavigableSet<Integer> behind = piece.after() == null ? rows : rows.tailSet(number(piece.after()), false);
            return piece.upTo() == null ? behind : behind.headSet(number(piece.upTo()), true);
        }

        private static Integer number(List<String> key) {
            return Integer.valueOf(key.get(0));
        }

        Numbers upTo(int count) {
            for (int i = 1; i <= count; i++) {
                rows.add(i);
            }
            return this;
        }
    }

    private static List<Piece> walk(TableWalk walk, Numbers table) throws SQLException {
        List<Piece> pieces = new ArrayList<>();
        while (!walk.isOver()) {
            Piece piece = walk.next(table);
            pieces.add(piece);
            walk.compared(piece, SOON);
        }
        return pieces;
    }

    @Example
    void a_small_table_is_one_piece() throws SQLException {
        assertEquals(List.of(new Piece(null, null, false)), walk(new TableWalk(100), new Numbers()));
        assertEquals(List.of(new Piece(null, null, false)), walk(new TableWalk(100), new Numbers().upTo(499)));
    }

    @Example
    void what_only_a_satellite_has_behind_the_last_row_is_compared_first() throws SQLException {
        List<Piece> pieces = walk(new TableWalk(100), new Numbers().upTo(1200));
        assertEquals(List.of(new Piece(List.of("1200"), null, false), new Piece(null, List.of("500"), false),
                new Piece(List.of("500"), List.of("1000"), false), new Piece(List.of("1000"), List.of("1200"), false)), pieces);
    }

    @Example
    void a_piece_of_large_rows_has_few() throws SQLException {
        assertEquals(4, new TableWalk(1 << 20).size());
        assertEquals(1, new TableWalk(64 << 20).size());
        assertEquals(TableWalk.MOST_ROWS, new TableWalk(0).size(), "not known");
    }

    @Example
    void a_piece_that_took_long_makes_the_next_one_smaller() throws SQLException {
        TableWalk walk = new TableWalk(100);
        Numbers table = new Numbers().upTo(2000);
        walk.compared(walk.next(table), LATE);
        assertEquals(250, table.in(walk.next(table)).size());
        walk.compared(walk.next(table), SOON);
        assertEquals(500, table.in(walk.next(table)).size());
    }

    @Example
    void rows_that_stay_locked_are_tried_one_by_one_and_given_up_after_a_wait() throws SQLException {
        TableWalk walk = new TableWalk(100);
        Numbers table = new Numbers().upTo(2000);
        walk.compared(walk.next(table), SOON);
        List<Integer> sizes = new ArrayList<>();
        List<Boolean> waits = new ArrayList<>();
        boolean givenUp = false;
        while (!givenUp) {
            Piece piece = walk.next(table);
            sizes.add(table.in(piece).size());
            waits.add(piece.waits());
            givenUp = walk.blocked(piece);
        }
        assertEquals(List.of(500, 62, 7, 1, 1), sizes);
        assertEquals(List.of(false, false, false, false, true), waits, "only who has no other lock may wait for one");
        assertEquals(new Piece(List.of("1"), List.of("2"), false), walk.next(table), "goes on behind it");
    }

    @Property
    void every_row_that_stays_is_in_exactly_one_piece_whatever_happens_meanwhile(@ForAll @IntRange(max = 3000) int rows, @ForAll long seed)
            throws SQLException {
        Random random = new Random(seed);
        Numbers table = new Numbers();
        for (int i = 1; i <= rows; i++) {
            table.rows.add(3 * i);
        }
        List<Integer> seen = new ArrayList<>();
        TableWalk walk = new TableWalk(random.nextInt(1 << 20));
        int added = 3 * rows + 3;
        for (int steps = 0; !walk.isOver(); steps++) {
            assertTrue(steps < 100 + 20 * rows, "it ends, though rows are added without end");
            Piece piece = walk.next(table);
            boolean done = random.nextInt(3) > 0;
            if (done || walk.blocked(piece)) {
                seen.addAll(table.in(piece));
            }
            if (done) {
                walk.compared(piece, random.nextBoolean() ? SOON : LATE);
            }
            table.rows.add(added++);
            table.rows.remove(3 * random.nextInt(rows + 1) + 1);
            table.rows.add(3 * random.nextInt(rows + 1) + 1);
        }
        List<Integer> stayed = seen.stream().filter(i -> i % 3 == 0 && i <= 3 * rows).sorted().toList();
        assertEquals(table.rows.stream().filter(i -> i % 3 == 0 && i <= 3 * rows).toList(), stayed);
    }
}
