package multimed.binlog;

/** The bytes are not what this code understands; nothing may be concluded from them. */
public final class MalformedEventException extends RuntimeException {
    public MalformedEventException(String message) {
        super(message);
    }
}
