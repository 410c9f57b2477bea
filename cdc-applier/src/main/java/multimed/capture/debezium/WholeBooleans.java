package multimed.capture.debezium;

import io.debezium.spi.converter.CustomConverter;
import io.debezium.spi.converter.RelationalColumn;
import java.util.Properties;
import org.apache.kafka.connect.data.SchemaBuilder;

/**
 * Loaded by Debezium, by name. In: columns declared BOOL or BOOLEAN, which are TINYINT to MySQL. Out: their numbers; Debezium alone
 * would make true of every number but 0.
 */
public final class WholeBooleans implements CustomConverter<SchemaBuilder, RelationalColumn> {
    @Override
    public void configure(Properties settings) {
        // there are none
    }

    @Override
    public void converterFor(RelationalColumn column, ConverterRegistration<SchemaBuilder> registration) {
        if (column.typeName().equalsIgnoreCase("BOOL") || column.typeName().equalsIgnoreCase("BOOLEAN")) {
            registration.register(SchemaBuilder.int16().optional(), WholeBooleans::number);
        }
    }

    /** Rows have numbers; a default in a DDL can be anything. */
    private static Short number(Object value) {
        if (value == null) {
            return null;
        }
        if (value instanceof Boolean is) {
            return (short) (is ? 1 : 0);
        }
        return value instanceof Number number ? number.shortValue() : Short.valueOf(value.toString().strip());
    }
}
