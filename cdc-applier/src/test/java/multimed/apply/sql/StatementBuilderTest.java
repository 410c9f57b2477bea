package multimed.apply.sql;

import static multimed.log.TestRecords.column;
import static multimed.log.TestRecords.delete;
import static multimed.log.TestRecords.insert;
import static multimed.log.TestRecords.key;
import static multimed.log.TestRecords.signed;
import static multimed.log.TestRecords.text;
import static multimed.log.TestRecords.update;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import multimed.log.LogBrokenException;
import multimed.log.TestRecords;
import multimed.log.proto.ColumnType;
import multimed.log.proto.RowChange;
import multimed.log.proto.Rows;
import multimed.log.proto.Table;
import multimed.log.proto.Value;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

class StatementBuilderTest {
    private static final Table A = TestRecords.table("d", "a`b", key("id", ColumnType.SIGNED), column("v", ColumnType.TEXT));
    private static final Table B = TestRecords.table("d", "b", key("k", ColumnType.TEXT), key("id", ColumnType.SIGNED));

    @Provide
    Arbitrary<List<RowChange>> changes() {
        Arbitrary<Long> ids = Arbitraries.longs().between(-5, 5);
        Arbitrary<String> texts = Arbitraries.strings().withChars("a',(;").ofMaxLength(4);
        Arbitrary<RowChange> any = Combinators.combine(Arbitraries.of(0, 0, 0, 1, 2), Arbitraries.of(0, 0, 1), ids, texts)
                .as((kind, table, id, s) -> change(kind, row(table, id, s), row(table, id, s + "x")).toBuilder().setTable(table).build());
        return any.list().ofMaxSize(30);
    }

    private static List<Value> row(int table, long id, String s) {
        return table == 0 ? List.of(signed(id), text(s)) : List.of(text(s), signed(id));
    }

    private static RowChange change(int kind, List<Value> row, List<Value> after) {
        return switch (kind) {
            case 0 -> insert(row.toArray(Value[]::new));
            case 1 -> update(row, after);
            default -> delete(row.toArray(Value[]::new));
        };
    }

    private static List<RowStatement> build(StatementBuilder builder, List<RowChange> changes) {
        List<RowStatement> statements = new ArrayList<>();
        builder.statements(Rows.newBuilder().addTables(A).addTables(B).addAllChanges(changes).build()).forEachRemaining(statements::add);
        return statements;
    }

    private static String sql(RowStatement statement) {
        return new String(statement.sql(), StandardCharsets.UTF_8);
    }

    /** What one statement does is what the statements for its changes, one by one, do in this order. */
    @Property
    void joiningKeepsEveryChangeAndTheirOrder(@ForAll("changes") List<RowChange> changes, @ForAll @IntRange(min = 1, max = 5) int maxRows,
            @ForAll @IntRange(min = 1, max = 200) int maxBytes) {
        List<RowStatement> single = build(new StatementBuilder(1, 1), changes);
        assertEquals(changes.size(), single.size());
        int next = 0;
        for (RowStatement joined : build(new StatementBuilder(maxRows, maxBytes), changes)) {
            StringBuilder expected = new StringBuilder(sql(single.get(next)));
            for (int i = 1; i < joined.changes(); i++) {
                String one = sql(single.get(next + i));
                expected.append(',').append(one.substring(one.indexOf(" VALUES ") + " VALUES ".length()));
                assertEquals(changes.get(next).getTable(), changes.get(next + i).getTable());
                assertEquals(RowChange.Kind.INSERT, changes.get(next + i).getKind());
            }
            assertEquals(expected.toString(), sql(joined));
            assertTrue(joined.changes() <= maxRows);
            next += joined.changes();
        }
        assertEquals(changes.size(), next);
    }

    @Example
    void insertsIntoOneTableAreJoined() {
        var rows = List.of(insert(signed(1), text("a")), insert(signed(2), text("b")), delete(signed(1), text("a")),
                insert(signed(3), TestRecords.nothing()));
        assertEquals(List.of("INSERT INTO `d`.`a``b` (`id`,`v`) VALUES (1,'a'),(2,'b')", "DELETE FROM `d`.`a``b` WHERE `id`=1",
                "INSERT INTO `d`.`a``b` (`id`,`v`) VALUES (3,NULL)"),
                build(new StatementBuilder(10, 1000), rows).stream().map(StatementBuilderTest::sql).toList());
    }

    @Example
    void anUpdateSetsAllButItsKey() {
        var change = update(List.of(signed(1), text("a")), List.of(signed(1), text("a")));
        assertEquals("UPDATE `d`.`a``b` SET `v`='a' WHERE `id`=1", sql(build(new StatementBuilder(9, 9), List.of(change)).get(0)));
    }

    @Example
    void aKeyThatChangesItsLettersCaseIsSet() {
        var change = update(List.of(text("x"), signed(1)), List.of(text("X"), signed(1))).toBuilder().setTable(1).build();
        assertEquals("UPDATE `d`.`b` SET `k`='X' WHERE `k`='x' AND `id`=1", sql(build(new StatementBuilder(9, 9), List.of(change)).get(0)));
    }

    @Example
    void anUpdateOfATableThatIsAllKeyStillFindsItsRow() {
        var change = update(List.of(text("x"), signed(1)), List.of(text("x"), signed(1))).toBuilder().setTable(1).build();
        assertEquals("UPDATE `d`.`b` SET `k`='x' WHERE `k`='x' AND `id`=1", sql(build(new StatementBuilder(9, 9), List.of(change)).get(0)));
    }

    @Example
    void recordsThatMakeNoSenseAreRefused() {
        StatementBuilder builder = new StatementBuilder(9, 9);
        assertThrows(LogBrokenException.class, () -> build(builder, List.of(insert(signed(1)))));
        assertThrows(LogBrokenException.class, () -> build(builder, List.of(delete(TestRecords.nothing(), text("a")))));
        assertThrows(LogBrokenException.class, () -> build(builder, List.of(RowChange.getDefaultInstance())));
        assertThrows(LogBrokenException.class, () -> build(builder, List.of(insert(signed(1), text("a")).toBuilder().setTable(7).build())));
        Table keyless = TestRecords.table("d", "n", column("v", ColumnType.TEXT));
        Rows rows = Rows.newBuilder().addTables(keyless).addChanges(delete(text("a"))).build();
        assertThrows(LogBrokenException.class, () -> builder.statements(rows).next());
    }

    @Example
    void aFailureNamesTableAndKey() {
        var change = delete(text("it's"), signed(7)).toBuilder().setTable(1).build();
        assertEquals("delete table=d.b key=k='it''s',id=7", build(new StatementBuilder(9, 9), List.of(change)).get(0).about().get());
    }
}
