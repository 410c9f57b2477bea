package multimed.log;

/** Going on would break the log's contract, and trying again does not help: an operator must act. */
public final class FatalException extends RuntimeException {
    public FatalException(String message) {
        super(message);
    }
}
