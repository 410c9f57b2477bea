package multimed.capture.debezium;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Locale;
import multimed.log.proto.ColumnType;
import multimed.log.proto.Value;
import org.apache.kafka.connect.data.Schema;

/** In: a value as Debezium gives it. Out: the same as the log has it. Must never: convert what it does not expect. */
final class Values {
    private static final long MICROS = 1_000_000;

    private Values() {}

    static Value of(ColumnType type, Schema schema, Object value) throws Differs {
        try {
            return convert(type, schema, value).build();
        } catch (RuntimeException e) {
            throw new Differs(type + " decoded as " + value.getClass().getSimpleName());
        }
    }

    private static Value.Builder convert(ColumnType type, Schema schema, Object value) throws Differs {
        Value.Builder out = Value.newBuilder();
        return switch (type) {
            case SIGNED -> out.setSigned(((Number) value).longValue());
            case UNSIGNED -> out.setUnsigned(((Number) value).longValue());
            case FLOAT, DOUBLE -> out.setReal(((Number) value).doubleValue());
            case DECIMAL -> out.setText((String) value);
            case TEXT -> out.setTextBytes(utf8(bytes(value)));
            case BINARY -> out.setBytes(bytes(value));
            case DATE -> out.setText(date(LocalDate.ofEpochDay(((Number) value).longValue())));
            case TIME -> out.setText(time((Long) value));
            case DATETIME -> out.setText(dateTime(dateTime(schema, (Long) value)));
            case TIMESTAMP -> out.setText(dateTime(utc((String) value)));
            default -> throw new Differs("column type " + type);
        };
    }

    private static ByteString bytes(Object value) {
        return ByteString.copyFrom(((ByteBuffer) value).duplicate());
    }

    /** Of a column whose character set, says the table map, is a part of UTF-8. */
    private static ByteString utf8(ByteString text) throws Differs {
        if (!text.isValidUtf8()) {
            throw new Differs("text that is not UTF-8");
        }
        return text;
    }

    private static String date(LocalDate date) {
        return String.format(Locale.ROOT, "%04d-%02d-%02d", date.getYear(), date.getMonthValue(), date.getDayOfMonth());
    }

    static String time(long micros) {
        long abs = Math.abs(micros);
        long seconds = abs / MICROS;
        String text = String.format(Locale.ROOT, "%s%d:%02d:%02d",
                micros < 0 ? "-" : "", seconds / 3600, seconds / 60 % 60, seconds % 60);
        return text + fraction(abs % MICROS);
    }

    private static String fraction(long micros) {
        return micros == 0 ? "" : String.format(Locale.ROOT, ".%06d", micros);
    }

    private static LocalDateTime dateTime(Schema schema, long value) throws Differs {
        long perSecond = switch (String.valueOf(schema.name())) {
            case "io.debezium.time.Timestamp" -> 1000;
            case "io.debezium.time.MicroTimestamp" -> MICROS;
            default -> throw new Differs("DATETIME decoded as " + schema.name());
        };
        int nanos = (int) (Math.floorMod(value, perSecond) * (1_000_000_000 / perSecond));
        return LocalDateTime.ofEpochSecond(Math.floorDiv(value, perSecond), nanos, ZoneOffset.UTC);
    }

    private static LocalDateTime utc(String text) {
        return OffsetDateTime.parse(text).withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime();
    }

    private static String dateTime(LocalDateTime t) {
        return String.format(Locale.ROOT, "%s %02d:%02d:%02d%s",
                date(t.toLocalDate()), t.getHour(), t.getMinute(), t.getSecond(), fraction(t.getNano() / 1000));
    }
}
