package multimed.log;

/** The log does not keep its contract (a gap, a chunk out of order, unreadable bytes). Nothing after it may be applied. */
public final class LogBrokenException extends RuntimeException {
    public LogBrokenException(String message) {
        super(message);
    }

    public LogBrokenException(String message, Throwable cause) {
        super(message, cause);
    }
}
