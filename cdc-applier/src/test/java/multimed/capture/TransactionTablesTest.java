package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.TableName;
import multimed.binlog.TransactionEnd;
import multimed.capture.tables.WrittenTables;
import org.junit.jupiter.api.Test;

class TransactionTablesTest {
    private static final int INCIDENT = 26;
    private static final int IGNORABLE_FLAG = 0x80;
    private static final BinlogEvent BEGIN = query("BEGIN");
    private static final BinlogEvent XID = event(EventType.XID, new byte[8]);
    private static final BinlogEvent START = query("XA START X'01',X'',1");
    private static final BinlogEvent END = query("XA END X'01',X'',1");
    private static final BinlogEvent COMMIT = query("XA COMMIT X'01',X'',1");

    private final PreparedTables prepared = new PreparedTables();

    private static BinlogEvent event(int type, byte[] body, int... flags) {
        int length = BinlogEvent.HEADER + body.length;
        return BinlogEvent.of(ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN).putInt(0).put((byte) type).putInt(1)
                .putInt(length).putInt(0).putShort((short) Arrays.stream(flags).sum()).put(body).array());
    }

    private static BinlogEvent query(String text) {
        byte[] sql = text.getBytes(StandardCharsets.UTF_8);
        return event(EventType.QUERY, ByteBuffer.allocate(14 + sql.length).put(new byte[14]).put(sql).array());
    }

    /** Without columns: nobody may need them. */
    private static BinlogEvent map(int id, String schema, String table) {
        ByteBuffer body = ByteBuffer.allocate(200).order(ByteOrder.LITTLE_ENDIAN).putInt(id).putInt(0);
        for (String name : List.of(schema, table)) {
            byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
            body.put((byte) bytes.length).put(bytes).put((byte) 0);
        }
        return event(EventType.TABLE_MAP, Arrays.copyOf(body.array(), body.position()));
    }

    private static BinlogEvent rows(int id) {
        return event(EventType.WRITE_ROWS, ByteBuffer.allocate(10).order(ByteOrder.LITTLE_ENDIAN).putInt(id).array());
    }

    private static BinlogEvent prepare(int onePhase) {
        return event(EventType.XA_PREPARE, new byte[] {(byte) onePhase});
    }

    private String written(List<BinlogEvent> events) {
        TransactionTables tables = new TransactionTables();
        TransactionEnd end = new TransactionEnd();
        events.forEach(each -> tables.add(each, end.isLast(each)));
        return text(tables.written(prepared));
    }

    private String written(BinlogEvent... events) {
        return written(List.of(events));
    }

    private static String text(WrittenTables written) {
        String tables = written.tables().stream().map(t -> t.schema() + "." + t.table()).collect(Collectors.joining(" "));
        return (written.all() ? written.keepsNames() ? "ROWS" : "ALL " + tables : tables).strip();
    }

    @Test
    void rowChangesNameTheirTablesOnceInTheirOrder() {
        assertEquals("b.zwei a.eins", written(BEGIN, event(EventType.ROWS_QUERY, new byte[5]), map(7, "b", "zwei"), map(8, "a", "eins"),
                rows(7), rows(8), query("SAVEPOINT `s`"), map(9, "b", "zwei"), rows(9), XID));
        assertEquals("a.tä", written(BEGIN, map(1, "a", "tä"), rows(1), query("COMMIT")));
    }

    @Test
    void anIgnorableEventSaysNothing() {
        assertEquals("a.t", written(BEGIN, event(99, new byte[3], IGNORABLE_FLAG), map(1, "a", "t"), rows(1), XID));
    }

    @Test
    void anEmptyTransactionWroteNothing() {
        assertEquals("", written(BEGIN, query("COMMIT")));
        assertEquals("", written(BEGIN, XID));
    }

    @Test
    void statementsCountAsHavingWrittenEverything() {
        for (String sql : List.of("begin", "XA RECOVER", "XA COMMIT ", "")) {
            assertEquals("ALL", written(query(sql)), sql);
        }
        for (String sql : List.of("CREATE TABLE t (i INT)", "DROP TABLE t", "TRUNCATE t", "GRANT SELECT ON *.* TO u",
                "CREATE TEMPORARY TABLE t (i INT)", "ALTER USER u", "/* a */ alter table t rename to u")) {
            assertEquals("ROWS", written(query(sql)), sql);
        }
    }

    @Test
    void whatMakesOrRenamesAViewOrFunctionIsToldApart() {
        for (String sql : List.of("CREATE VIEW v AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1", "RENAME TABLE v TO w",
                "CREATE ALGORITHM=MERGE DEFINER=u@h VIEW v AS SELECT 1", "ALTER VIEW v AS SELECT 1",
                "CREATE FUNCTION f() RETURNS INT RETURN 1",
                "CREATE /*!50000 DEFINER=`a`@`b` */ FUNCTION f() RETURNS INT RETURN 1", "(CREATE TABLE t (i INT))")) {
            assertTrue(written(query(sql)).startsWith("ALL"), sql);
        }
        assertEquals("ALL .v .w", written(BEGIN, query("INSERT INTO t VALUES (1)"), query("RENAME TABLE v TO w"), XID));
        assertEquals("ALL", written(query("RENAME TABLE v TO w"), query("CREATE VIEW `ä` AS SELECT 1")));
    }

    @Test
    void aStatementInsideATransactionCountsAsHavingWrittenEverything() {
        assertEquals("ROWS", written(BEGIN, query("INSERT INTO t VALUES (1)"), XID));
        assertEquals("ROWS", written(BEGIN, query("CREATE TABLE t (i INT) START TRANSACTION"), map(1, "a", "t"), rows(1), XID));
        assertEquals("ROWS", written(BEGIN, event(EventType.INTVAR, new byte[9]), query("INSERT INTO t VALUES (1)"), query("COMMIT")));
        assertEquals("ROWS", written(BEGIN, map(1, "a", "t"), rows(1), query("ROLLBACK TO `s`"), XID));
        assertEquals("ROWS", written(BEGIN, map(1, "a", "t"), rows(1), query("ROLLBACK")));
        assertEquals("ROWS", written(START, query("INSERT INTO t VALUES (1)"), END, prepare(0)));
    }

    @Test
    void whatIsNotUnderstoodCountsAsHavingWrittenEverything() {
        BinlogEvent cut = event(EventType.TABLE_MAP, new byte[] {1, 0, 0, 0, 0, 0, 0, 0, 40, 'a'});
        assertEquals("ALL", written(BEGIN, cut, rows(1), XID));
        assertEquals("ROWS", written(BEGIN, map(1, "a", "t"), rows(2), XID), "rows of a table without table map");
        assertEquals("ALL", written(BEGIN, event(INCIDENT, new byte[2]), XID));
        assertEquals("ALL", written(event(INCIDENT, new byte[2])));
        assertEquals("ALL", written(BEGIN, map(1, "a", "t"), rows(1), prepare(1)));
        assertEquals("ROWS", written(START, map(1, "a", "t"), rows(1), END, XID));
        assertEquals("ALL", written(START, END, event(EventType.XA_PREPARE, new byte[0])));
        assertEquals("ALL", written());
    }

    /** CONVERT_TZ() reads mysql.time_zone, and no statement names it. */
    @Test
    void aTableOfTheServersOwnCountsAsEverything() {
        assertEquals("ROWS", written(BEGIN, map(1, "mysql", "time_zone"), rows(1), XID));
    }

    @Test
    void moreTablesThanAFrameTakesCountAsEverything() {
        List<BinlogEvent> events = new ArrayList<>(List.of(BEGIN));
        for (int i = 0; i < WrittenTables.MOST; i++) {
            events.addAll(List.of(map(i, "a", "t" + i), rows(i)));
        }
        assertEquals(WrittenTables.MOST, written(with(events, XID)).split(" ").length);
        assertEquals("ROWS", written(with(events, map(-1, "a", "more"), rows(-1), XID)));
    }

    private static List<BinlogEvent> with(List<BinlogEvent> events, BinlogEvent... more) {
        List<BinlogEvent> all = new ArrayList<>(events);
        all.addAll(List.of(more));
        return all;
    }

    @Test
    void xaChangesCountWhenTheyAreCommitted() {
        List<BinlogEvent> group = List.of(START, map(1, "a", "t"), rows(1), END, prepare(0));
        assertEquals("ROWS", written(COMMIT), "prepared before it is known");
        assertEquals("", written(group));
        assertEquals("ROWS", written(query("XA COMMIT X'02',X'',1")), "another one");
        assertEquals("a.t", written(COMMIT));
        assertEquals("ROWS", written(COMMIT), "it is over");
        assertEquals("", written(group));
        assertEquals("", written(query("XA ROLLBACK X'01',X'',1")));
        assertEquals("ROWS", written(COMMIT), "rolled back");
        assertEquals("a.t", written(START, map(1, "a", "t"), rows(1), END, prepare(1)), "one phase");
    }

    /** The xid is used again: what was prepared under it before must not be taken for this. */
    @Test
    void whatAnXaTransactionPreparedIsForgottenWhenAnotherOfItsNameIsNotUnderstood() {
        assertEquals("", written(START, map(1, "a", "t"), rows(1), END, prepare(0)));
        assertEquals("ROWS", written(START, map(2, "a", "u"), rows(3), END, prepare(0)));
        assertEquals("ROWS", written(COMMIT));
    }

    @Test
    void theOldestPreparedTransactionsAreForgotten() {
        WrittenTables wide = WrittenTables.of(IntStream.range(0, 1000).mapToObj(i -> new TableName("a", "t" + i)).toList());
        IntStream.range(0, 101).forEach(i -> prepared.put("wide" + i, wide));
        assertEquals(WrittenTables.ALL_ROWS, prepared.remove("wide0"));
        assertEquals(wide, prepared.remove("wide1"));
        assertEquals(wide, prepared.remove("wide100"));
    }

    @Test
    void everyTransactionCapturedFromARealServer() {
        List<String> all = new ArrayList<>();
        for (MasterTransaction each : CapturedEvents.transactions()) {
            all.add(written(each.events()));
        }
        assertEquals(CAPTURED.strip(), String.join("\n", all).replace("\n\n", "\n-\n"));
    }

    @Test
    void aTableIsNamedOnce() {
        assertEquals(1, WrittenTables.of(List.of(new TableName("a", "t"), new TableName("a", "t"))).tables().size());
    }

    private static final String CAPTURED = """
            ROWS
            ROWS
            w2.tä
            w2.tä
            w2.tä
            w2.tä
            ROWS
            w2.js
            w2.js
            ROWS
            w2.nk
            ROWS
            ROWS
            w2.p
            w2.ch
            w2.p w2.ch
            ROWS
            w2.l1
            w2.p
            w2.p
            w2.p
            -
            w2.p
            w2.p
            ROWS
            ROWS
            w2.p
            w2.p
            ROWS
            ROWS
            ROWS
            ROWS
            """;
}
