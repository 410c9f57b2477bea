package multimed.apply.sql;

import static multimed.log.TestRecords.bytes;
import static multimed.log.TestRecords.column;
import static multimed.log.TestRecords.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import multimed.log.LogBrokenException;
import multimed.log.TestRecords;
import multimed.log.proto.ColumnType;
import multimed.log.proto.Value;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.CharRange;

/** The text of literals. That MySQL reads them as the same values is shown by RowsIT. */
class LiteralsTest {
    private static byte[] literal(ColumnType type, Value value) {
        SqlBuffer sql = new SqlBuffer();
        Literals.add(sql, column("c", type), value);
        return sql.toBytes();
    }

    private static String literalText(ColumnType type, Value value) {
        return new String(literal(type, value), StandardCharsets.UTF_8);
    }

    /** Reads 'a''b' back; fails if a single quote stands inside. */
    private static byte[] unquoted(byte[] literal, int from) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        assertEquals('\'', literal[from]);
        assertEquals('\'', literal[literal.length - 1]);
        for (int i = from + 1; i < literal.length - 1; i++) {
            if (literal[i] == '\'') {
                assertEquals('\'', literal[++i]);
            }
            out.write(literal[i]);
        }
        return out.toByteArray();
    }

    @Property
    void anyBytesStayTheSame(@ForAll byte[] value) {
        assertArrayEquals(value, unquoted(literal(ColumnType.BINARY, bytes(value)), "_binary".length()));
    }

    @Property
    void anyTextStaysTheSame(@ForAll String value) {
        String sendable = new String(value.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
        assertArrayEquals(sendable.getBytes(StandardCharsets.UTF_8), unquoted(literal(ColumnType.TEXT, text(sendable)), 0));
    }

    @Property
    void quotesAreDoubledWhereverTheyStand(@ForAll @CharRange(from = '&', to = '(') String value) {
        assertEquals("'" + value.replace("'", "''") + "'", literalText(ColumnType.TEXT, text(value)));
    }

    @Property
    void realsReadBackBitByBit(@ForAll double value) {
        String literal = literalText(ColumnType.DOUBLE, Value.newBuilder().setReal(value).build());
        assertEquals(Double.doubleToRawLongBits(value), Double.doubleToRawLongBits(Double.parseDouble(literal)));
        assertEquals(1, literal.chars().filter(c -> c == 'E').count(), "a DECIMAL literal: " + literal);
    }

    @Property
    void unsignedNumbersAreNotNegative(@ForAll long value) {
        assertEquals(Long.toUnsignedString(value), literalText(ColumnType.UNSIGNED, Value.newBuilder().setUnsigned(value).build()));
    }

    @Example
    void decimalsStandUnquotedAndCannotSmuggleSql() {
        assertEquals("-0.10", literalText(ColumnType.DECIMAL, text("-0.10")));
        for (String bad : new String[] {"", "1e3", "1,2", "1)", "--1", "1.", "NaN", "0x1", "1 "}) {
            assertThrows(LogBrokenException.class, () -> literal(ColumnType.DECIMAL, text(bad)), bad);
        }
    }

    @Example
    void aValueThatDoesNotFitItsColumnIsNeverGuessed() {
        assertThrows(LogBrokenException.class, () -> literal(ColumnType.SIGNED, text("1")));
        assertThrows(LogBrokenException.class, () -> literal(ColumnType.TEXT, bytes(new byte[1])));
        assertThrows(LogBrokenException.class, () -> literal(ColumnType.UNSIGNED, TestRecords.signed(1)));
        assertThrows(LogBrokenException.class, () -> literal(ColumnType.BINARY, text("a")));
        assertThrows(LogBrokenException.class, () -> literal(ColumnType.DOUBLE, Value.newBuilder().setReal(Double.NaN).build()));
        assertThrows(LogBrokenException.class, () -> literal(ColumnType.COLUMN_TYPE_UNSPECIFIED, text("a")));
    }

    @Example
    void nullIsNullInAnyColumn() {
        assertEquals("NULL", literalText(ColumnType.DECIMAL, TestRecords.nothing()));
    }
}
