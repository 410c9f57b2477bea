package multimed.capture.debezium;

import io.debezium.config.CommonConnectorConfig.BinaryHandlingMode;
import io.debezium.config.CommonConnectorConfig.EventConvertingFailureHandlingMode;
import io.debezium.config.Configuration;
import io.debezium.connector.mysql.MySqlConnectorConfig;
import io.debezium.connector.mysql.jdbc.MySqlValueConverters;
import io.debezium.jdbc.JdbcValueConverters.BigIntUnsignedMode;
import io.debezium.jdbc.JdbcValueConverters.DecimalMode;
import io.debezium.jdbc.TemporalPrecisionMode;
import io.debezium.relational.Column;
import java.util.HashMap;
import java.util.Map;
import multimed.log.proto.ColumnType;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;

/** A decoder for each type of column, made of Debezium's value converters when it is first needed. There are some 2 500 types at most. */
final class ColumnDecoders {
    private record Key(DebeziumType debezium, ColumnType type) {}

    private final MySqlValueConverters converters = converters();
    private final Map<Key, ColumnDecoder> decoders = new HashMap<>();

    /** Exact values or an error, never an adjusted one. */
    private static MySqlValueConverters converters() {
        MySqlConnectorConfig services = new MySqlConnectorConfig(Configuration.from(Map.of("topic.prefix", "capture")));
        return new MySqlValueConverters(DecimalMode.STRING, TemporalPrecisionMode.ADAPTIVE_TIME_MICROSECONDS, BigIntUnsignedMode.LONG,
                BinaryHandlingMode.BYTES, time -> time, EventConvertingFailureHandlingMode.FAIL, services.getServiceRegistry());
    }

    ColumnDecoder of(DebeziumType debezium, ColumnType type) {
        return decoders.computeIfAbsent(new Key(debezium, type), this::create);
    }

    private ColumnDecoder create(Key key) {
        Column column = key.debezium().column();
        Schema schema = converters.schemaBuilder(column).build();
        return new ColumnDecoder(key.type(), schema, converters.converter(column, new Field(column.name(), 0, schema)));
    }
}
