package multimed.apply;

import java.sql.SQLException;
import java.util.Set;

/** What an SQLException says about the session, as opposed to the statement. */
final class SqlErrors {
    /** Shutdown in progress, query or connection killed by it, aborted, server gone, lost, lost while reading. */
    private static final Set<Integer> SESSION_ENDED = Set.of(1053, 1927, 3169, 2006, 2013, 4031);

    private SqlErrors() {}

    /** True if the session is gone, so that nothing is known about the statement's effect. */
    static boolean sessionLost(SQLException e) {
        String state = e.getSQLState();
        return state == null || state.startsWith("08") || SESSION_ENDED.contains(e.getErrorCode())
                || e.getErrorCode() == 0;
    }
}
