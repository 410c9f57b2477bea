package multimed.apply;

import java.sql.SQLException;
import java.util.Set;

/**
 * The satellite did not do what it was told. Whether that is divergence is decided by trying the transaction again, one
 * statement at a time, from the position that the satellite itself states.
 */
final class ApplyFailure extends Exception {
    private static final int LOCK_WAIT_TIMEOUT = 1205;
    private static final int DEADLOCK = 1213;
    private static final int QUERY_INTERRUPTED = 1317;
    private static final int QUERY_TIMEOUT = 3024;
    /** Refused by malloc (mysys and server), no more resources or threads, memory of all connections, of this one. */
    private static final Set<Integer> OUT_OF_MEMORY = Set.of(5, 1037, 1041, 1135, 4081, 4082);

    private final Divergence.Reason reason;
    private final int code;

    ApplyFailure(Divergence.Reason reason, String message, SQLException cause) {
        super(message + ": " + cause.getErrorCode() + " " + shortened(cause.getMessage()), cause);
        this.reason = reason;
        this.code = cause.getErrorCode();
    }

    ApplyFailure(Divergence.Reason reason, String message) {
        super(message);
        this.reason = reason;
        this.code = 0;
    }

    Divergence.Reason reason() {
        return reason;
    }

    /** True for what can go away by itself: the same transaction is simply tried again, as often as it takes. */
    boolean retryable() {
        return code == LOCK_WAIT_TIMEOUT || code == DEADLOCK || code == QUERY_INTERRUPTED || code == QUERY_TIMEOUT || outOfMemory();
    }

    /** Others have taken the server's memory: the same transaction is tried again in new sessions, after a pause. */
    boolean outOfMemory() {
        return OUT_OF_MEMORY.contains(code);
    }

    /** The label of the metric. */
    String retry() {
        if (outOfMemory()) {
            return "memory";
        }
        return retryable() ? "lock" : "check";
    }

    /** Messages can quote the statement, and with it values. */
    private static String shortened(String message) {
        String line = String.valueOf(message).replace('\n', ' ');
        return line.length() <= 300 ? line : line.substring(0, 300) + "…";
    }
}
