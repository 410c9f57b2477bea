package multimed.capture.debezium;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import multimed.log.proto.ColumnType;
import multimed.log.proto.Value;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.junit.jupiter.api.Test;

class ValuesTest {
    private static final Schema MICROS = SchemaBuilder.int64().name("io.debezium.time.MicroTimestamp").build();
    private static final Schema MILLIS = SchemaBuilder.int64().name("io.debezium.time.Timestamp").build();

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static Value of(ColumnType type, Schema schema, Object value) throws Differs {
        return Values.of(type, schema, value);
    }

    @Test
    void dates_and_times_keep_every_digit() throws Differs {
        assertEquals("0999-12-31", of(ColumnType.DATE, Schema.INT32_SCHEMA, (int) LocalDate.of(999, 12, 31).toEpochDay()).getText());
        assertEquals("-838:59:59", of(ColumnType.TIME, Schema.INT64_SCHEMA, -3_020_399_000_000L).getText());
        assertEquals("-0:00:00.000001", of(ColumnType.TIME, Schema.INT64_SCHEMA, -1L).getText());
        assertEquals("1969-12-31 23:59:59.999999", of(ColumnType.DATETIME, MICROS, -1L).getText());
        assertEquals("1969-12-31 23:59:59.999000", of(ColumnType.DATETIME, MILLIS, -1L).getText());
        assertEquals("2001-09-09 01:46:40.123456", of(ColumnType.TIMESTAMP, Schema.STRING_SCHEMA, "2001-09-09T01:46:40.123456Z").getText());
    }

    @Test
    void numbers_text_and_bytes_keep_every_bit() throws Differs {
        assertEquals(-1L, of(ColumnType.UNSIGNED, Schema.INT64_SCHEMA, -1L).getUnsigned());
        assertEquals(Double.MIN_VALUE, of(ColumnType.DOUBLE, Schema.FLOAT64_SCHEMA, Double.MIN_VALUE).getReal());
        assertEquals(2, of(ColumnType.BINARY, Schema.BYTES_SCHEMA, ByteBuffer.wrap(new byte[] {0, -1})).getBytes().size());
        assertEquals("é\uFFFD😀", of(ColumnType.TEXT, Schema.BYTES_SCHEMA, bytes("é\uFFFD😀")).getText());
    }

    @Test
    void what_is_not_expected_is_refused() {
        assertThrows(Differs.class, () -> of(ColumnType.TEXT, Schema.STRING_SCHEMA, "a"));
        assertThrows(Differs.class, () -> of(ColumnType.TEXT, Schema.BYTES_SCHEMA, ByteBuffer.wrap(new byte[] {(byte) 0xe9})));
        assertThrows(Differs.class, () -> of(ColumnType.BINARY, Schema.STRING_SCHEMA, "a"));
        assertThrows(Differs.class, () -> of(ColumnType.DATETIME, Schema.INT64_SCHEMA, 1L));
        assertThrows(Differs.class, () -> of(ColumnType.SIGNED, Schema.STRING_SCHEMA, "1"));
    }
}
