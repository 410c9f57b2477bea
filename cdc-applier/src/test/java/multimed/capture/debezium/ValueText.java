package multimed.capture.debezium;

import java.util.HexFormat;
import multimed.log.proto.Value;

/** A value of a record as tests write it down. */
public final class ValueText {
    private ValueText() {}

    public static String of(Value value) {
        return switch (value.getKindCase()) {
            case SIGNED -> Long.toString(value.getSigned());
            case UNSIGNED -> Long.toUnsignedString(value.getUnsigned());
            case REAL -> Double.toString(value.getReal());
            case TEXT -> value.getText();
            case BYTES -> HexFormat.of().formatHex(value.getBytes().toByteArray());
            default -> "NULL";
        };
    }
}
