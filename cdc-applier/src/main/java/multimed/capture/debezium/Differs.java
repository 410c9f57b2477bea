package multimed.capture.debezium;

/** Debezium's row is not what the binlog's table map leads to expect, or Debezium can't decode it. The message is for the operator. */
final class Differs extends Exception {
    Differs(String message) {
        super(message);
    }
}
