package multimed.capture.debezium;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import multimed.binlog.BinlogEvent;
import multimed.binlog.ColumnTypes;
import multimed.log.proto.RowChange;
import multimed.master.Collations;
import multimed.process.Metrics;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RowSourceTest {
    private static final int ASCII = 11;
    private static final int UTF8 = 45;
    private static final ColumnKinds KINDS = new ColumnKinds(new Collations(Map.of(
            ASCII, new Collations.Collation("ascii_general_ci", "ascii"), UTF8,
            new Collations.Collation("utf8mb4_general_ci", "utf8mb4"))));

    private final RowSource source = new RowSource(KINDS, new Metrics());

    @BeforeEach
    void caughtUp() {
        source.caughtUp();
    }

    private static byte[] bytes(int... bytes) {
        byte[] out = new byte[bytes.length];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) bytes[i];
        }
        return out;
    }

    private static byte[] hex(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    /** With its length in front. */
    private static byte[] text(String text, int lengthBytes) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = 0; i < lengthBytes; i++) {
            out.write(bytes.length >>> 8 * i);
        }
        out.writeBytes(bytes);
        return out.toByteArray();
    }

    /** The values behind the key of the last row, or why there are none. */
    private String decoded(BinlogEvent... events) {
        RowSource.Answer answer = source.rows(List.of(events), 1);
        return answer.rows() == null
                ? answer.reason()
                : answer.rows().get(0).getChanges(0).getAfterList().stream().skip(1).map(ValueText::of)
                        .collect(Collectors.joining(" "));
    }

    private static byte[] key() {
        return bytes(7, 0, 0, 0);
    }

    @Test
    void integersAtTheirEdges() {
        TestTable table = new TestTable(1, "t").signed(ColumnTypes.TINY).unsigned(ColumnTypes.TINY).signed(ColumnTypes.INT24)
                .unsigned(ColumnTypes.INT24).unsigned(ColumnTypes.SHORT).unsigned(ColumnTypes.LONG).unsigned(ColumnTypes.LONGLONG);
        assertEquals("-128 128 -8388608 8388608 32768 2147483648 9223372036854775808",
                decoded(table.map(), table.inserted(key(), hex("80"), hex("80"), hex("000080"), hex("000080"), hex("0080"), hex("00000080"),
                        hex("0000000000000080"))));
        assertEquals("-1 255 -1 16777215 65535 4294967295 18446744073709551615",
                decoded(table.map(), table.inserted(key(), hex("ff"), hex("ff"), hex("ffffff"), hex("ffffff"), hex("ffff"), hex("ffffffff"),
                        hex("ffffffffffffffff"))));
    }

    @Test
    void decimalsKeepTheirDigits() {
        TestTable table = new TestTable(1, "t").signed(ColumnTypes.DECIMAL, 14, 4).signed(ColumnTypes.DECIMAL, 5, 0)
                .signed(ColumnTypes.DECIMAL, 5, 5);
        // The example of MySQL's strings/decimal.cc: 1234567890.1234.
        assertEquals("1234567890.1234 0 0.00001",
                decoded(table.map(), table.inserted(key(), hex("810DFB38D204D2"), hex("800000"), hex("800001"))));
        assertEquals("-1234567890.1234 -99999 NULL",
                decoded(table.map(), table.inserted(key(), hex("7EF204C72DFB2D"), hex("7E7960"), null)));
    }

    @Test
    void timesOfEveryPrecision() {
        for (int digits = 0; digits <= 6; digits++) {
            TestTable table = new TestTable(1, "t").column(ColumnTypes.TIME, digits).column(ColumnTypes.DATETIME, digits)
                    .column(ColumnTypes.TIMESTAMP, digits).column(ColumnTypes.DATE);
            // A half of a second, in hundredths, ten thousandths, or millionths.
            byte[] half = Arrays.copyOfRange(List.of(hex(""), hex("32"), hex("1388"), hex("07A120")).get((digits + 1) / 2), 0,
                    (digits + 1) / 2);
            String fraction = digits == 0 ? "" : ".500000";
            assertEquals("12:59:07" + fraction + " 1000-02-28 23:59:58" + fraction + " 2001-09-09 01:46:40" + fraction + " 9999-12-31",
                    decoded(table.map(), table.inserted(key(), joined(hex("80CEC7"), half), joined(hex("8CB2B97EFA"), half),
                            joined(hex("3B9ACA00"), half), hex("9F1F4E"))),
                    "digits " + digits);
        }
    }

    private static byte[] joined(byte[] one, byte[] two) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(one);
        out.writeBytes(two);
        return out.toByteArray();
    }

    @Test
    void textIsTheBytesThatTheServerHas() {
        // CHAR(255) of utf8mb4 has 1020 bytes: two of the bits stand in the type's byte, inverted.
        TestTable table = new TestTable(1, "t").text(ColumnTypes.STRING, UTF8, 254 ^ 0x30, 1020 & 0xff)
                .text(ColumnTypes.VARCHAR, UTF8, 80, 0)
                .text(ColumnTypes.VARCHAR, UTF8, 0, 1).text(ColumnTypes.BLOB, UTF8, 2).text(ColumnTypes.VARCHAR, ASCII, 80, 0);
        assertEquals("ü  €😀 \0 e", decoded(table.map(), table.inserted(key(), text("ü", 2), text("", 1), text("€😀", 2), text("\0", 2),
                text("e", 1))));
    }

    @Test
    void bytesAreTheColumns() {
        TestTable table = new TestTable(1, "t").text(ColumnTypes.STRING, Collations.BINARY, 254, 5)
                .text(ColumnTypes.VARCHAR, Collations.BINARY, 80, 0)
                .text(ColumnTypes.BLOB, Collations.BINARY, 4);
        assertEquals("0100000000 01 ff00", decoded(table.map(), table.inserted(key(), hex("0101"), hex("0101"), hex("02000000ff00"))));
        assertEquals("NULL NULL NULL", decoded(table.map(), table.inserted(key(), null, null, null)));
    }

    @Test
    void aTableThatHasChangedIsReadAsItIsNow() {
        TestTable before = new TestTable(1, "t").text(ColumnTypes.VARCHAR, UTF8, 80, 0);
        TestTable after = new TestTable(2, "t").unsigned(ColumnTypes.LONG).text(ColumnTypes.VARCHAR, Collations.BINARY, 80, 0);
        assertEquals("a", decoded(before.map(), before.inserted(key(), text("a", 1))));
        assertEquals("1 61", decoded(after.map(), after.inserted(key(), bytes(1, 0, 0, 0), text("a", 1))));
        assertEquals("a", decoded(before.map(), before.inserted(key(), text("a", 1))));
    }

    /** After a restart of the master they begin at low numbers again. */
    @Test
    void aTableNumberThatComesAgainIsReadAsTheTableInFrontOfTheRows() {
        TestTable one = new TestTable(1, "one").signed(ColumnTypes.TINY);
        TestTable other = new TestTable(1, "other").unsigned(ColumnTypes.TINY);
        assertEquals("-1", decoded(one.map(), one.inserted(key(), hex("ff"))));
        assertEquals("255", decoded(other.map(), other.inserted(key(), hex("ff"))));
        assertEquals("debezium_differs", decoded(other.inserted(key(), hex("ff"))));
    }

    @Test
    void aRowThatCannotBeDecodedCostsOnlyItsOwnTransaction() {
        TestTable table = new TestTable(1, "t").text(ColumnTypes.VARCHAR, UTF8, 80, 0);
        assertEquals("debezium_differs", decoded(table.map(), table.inserted(key(), bytes(1, 0xe9))));
        assertEquals("debezium_differs", decoded(table.map(), table.inserted(key(), bytes(100, 'a'))));
        assertEquals("a", decoded(table.map(), table.inserted(key(), text("a", 1))));
    }

    @Test
    void textThatAnAsciiColumnCanNotHoldIsRefused() {
        TestTable table = new TestTable(1, "t").text(ColumnTypes.VARCHAR, ASCII, 80, 0);
        assertEquals("debezium_differs", decoded(table.map(), table.inserted(key(), text("é", 1))));
    }

    /** A statement's table maps name all tables that it locks: those that its triggers write, too. */
    @Test
    void aTableWithoutRowsMayHaveAnyColumns() {
        TestTable json = new TestTable(1, "json").column(ColumnTypes.JSON, 4);
        TestTable table = new TestTable(2, "t").signed(ColumnTypes.TINY);
        assertEquals("1", decoded(json.map(), table.map(), table.inserted(key(), hex("01"))));
    }

    @Test
    void aDeletedRowIsTheOneBefore() {
        TestTable table = new TestTable(1, "t").signed(ColumnTypes.TINY);
        RowChange change = source.rows(List.of(table.map(), table.deleted(key(), hex("ff"))), 1).rows().get(0).getChanges(0);
        assertEquals(RowChange.Kind.DELETE, change.getKind());
        assertEquals(List.of("7", "-1"), change.getBeforeList().stream().map(ValueText::of).toList());
        assertEquals(List.of(), change.getAfterList());
    }

    @Test
    void rowsThatAreNotAllThereAreRefused() {
        TestTable table = new TestTable(1, "t");
        RowSource.Answer answer = source.rows(List.of(table.map(), table.inserted(key())), 2);
        assertNull(answer.rows());
        assertEquals("debezium_differs", answer.reason());
    }
}
