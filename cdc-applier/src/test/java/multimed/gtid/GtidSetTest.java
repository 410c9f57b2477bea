package multimed.gtid;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

class GtidSetTest {
    private static final UUID A = UUID.fromString("aaaaaaaa-0000-0000-0000-000000000001");
    private static final UUID B = UUID.fromString("00000000-0000-0000-0000-00000000000b");

    @Provide
    Arbitrary<List<Gtid>> gtids() {
        return Combinators.combine(Arbitraries.of(A, B), Arbitraries.of("", "tag", "z_1"), Arbitraries.longs().between(1, 30))
                .as(Gtid::of).list().ofMaxSize(60);
    }

    private static GtidSet set(Iterable<Gtid> gtids) {
        GtidSet set = GtidSet.EMPTY;
        for (Gtid gtid : gtids) {
            set = set.add(gtid);
        }
        return set;
    }

    @Property
    void is_the_same_as_a_plain_set(@ForAll("gtids") List<Gtid> left, @ForAll("gtids") List<Gtid> right) {
        Set<Gtid> both = new HashSet<>(left);
        both.addAll(right);
        Set<Gtid> rest = new HashSet<>(left);
        rest.removeAll(new HashSet<>(right));
        assertEquals(new HashSet<>(left).size(), set(left).count());
        assertEquals(set(both), set(left).union(set(right)));
        assertEquals(set(rest), set(left).minus(set(right)));
        assertEquals(new HashSet<>(left).containsAll(right), set(left).containsAll(set(right)));
        right.forEach(g -> assertEquals(left.contains(g), set(left).contains(g)));
    }

    @Property
    void knows_the_highest_number_of_a_source(@ForAll("gtids") List<Gtid> gtids) {
        Gtid.Source source = new Gtid.Source(A, "");
        long highest = gtids.stream().filter(g -> g.source().equals(source)).mapToLong(Gtid::number).max().orElse(0);
        assertEquals(highest, set(gtids).last(source));
    }

    @Property
    void prints_what_it_parses(@ForAll("gtids") List<Gtid> gtids) {
        GtidSet set = set(gtids);
        assertEquals(set, GtidSet.parse(set.toString()));
        assertEquals(set, GtidSet.parse(set.toString().replace(",", ",\n").toUpperCase()));
    }

    @Example
    void prints_as_mysql_does() {
        String text = "00000000-0000-0000-0000-00000000000b:5:tag:1-3:7,aaaaaaaa-0000-0000-0000-000000000001:1-9";
        assertEquals(text, GtidSet.parse(text).toString());
    }

    @Example
    void refuses_what_mysql_refuses() {
        for (String bad : List.of("x", A + "", A + ":", A + ":0", A + ":2-1", A + ":1-", A + ":tag", A + ":1:",
                A + ":9223372036854775807")) {
            assertThrows(IllegalArgumentException.class, () -> GtidSet.parse(bad), bad);
        }
        assertTrue(GtidSet.parse(" ").isEmpty());
    }
}
