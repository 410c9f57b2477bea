package multimed.capture.debezium;

import com.google.protobuf.ByteString;
import io.debezium.spi.converter.CustomConverter;
import io.debezium.spi.converter.RelationalColumn;
import java.nio.charset.StandardCharsets;
import java.sql.Types;
import java.util.Properties;
import java.util.Set;
import multimed.capture.debezium.RowsBuilder.Differs;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;

/**
 * Loaded by Debezium, by name. In: columns that Debezium takes for text. Out: their bytes as they stand in the binlog. Debezium would
 * decode them with the character set that it believes they have, and the binlog's table map may say another one: it does not know what
 * a COLLATE of a table or database implies, nor the defaults of a session.
 */
public final class TextBytes implements CustomConverter<SchemaBuilder, RelationalColumn> {
    private static final String NAME = "multimed.TextBytes";
    private static final Set<Integer> TEXT = Set.of(Types.CHAR, Types.VARCHAR, Types.LONGVARCHAR, Types.CLOB,
            Types.NCHAR, Types.NVARCHAR, Types.LONGNVARCHAR, Types.NCLOB);

    @Override
    public void configure(Properties settings) {
        // there are none
    }

    @Override
    public void converterFor(RelationalColumn column, ConverterRegistration<SchemaBuilder> registration) {
        if (TEXT.contains(column.jdbcType())) {
            registration.register(schema(), TextBytes::bytes);
        }
    }

    static SchemaBuilder schema() {
        return SchemaBuilder.bytes().name(NAME).optional();
    }

    static boolean isText(Schema schema) {
        return NAME.equals(schema.name());
    }

    /** Text in rows comes as bytes; what does not is a default in a DDL. */
    private static byte[] bytes(Object value) {
        return value == null || value instanceof byte[] ? (byte[]) value : value.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** @param value of a column whose character set, says the table map, is a part of UTF-8 */
    static ByteString utf8(Schema schema, Object value) throws Differs {
        if (!isText(schema)) {
            throw new Differs("text decoded as " + schema.type());
        }
        ByteString text = ByteString.copyFrom((byte[]) value);
        if (!text.isValidUtf8()) {
            throw new Differs("text that is not UTF-8");
        }
        return text;
    }
}
