package multimed.capture;

/** Going on would break the log's contract, and trying again does not help: an operator must act. */
final class FatalException extends RuntimeException {
    FatalException(String message) {
        super(message);
    }
}
