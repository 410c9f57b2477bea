package multimed.capture.debezium;

import io.debezium.relational.ValueConverter;
import java.io.Serializable;
import multimed.log.proto.ColumnType;
import multimed.log.proto.Value;
import org.apache.kafka.connect.data.Schema;

/** In: a value of one column, as Debezium's row deserializers give it; null for NULL. Out: the same as the log has it. */
record ColumnDecoder(ColumnType type, Schema schema, ValueConverter converter) {

    Value decode(Serializable value) throws Differs {
        if (value == null) {
            return Value.getDefaultInstance();
        }
        Object converted = convert(value);
        if (converted == null) {
            throw new Differs(type + " decoded as NULL");
        }
        return Values.of(type, schema, converted);
    }

    private Object convert(Serializable value) throws Differs {
        try {
            return converter.convert(value);
        } catch (RuntimeException e) {
            throw new Differs(type + " not decoded: " + e.getMessage());
        }
    }
}
