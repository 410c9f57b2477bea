package multimed.capture;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.regex.Pattern;
import multimed.capture.Verdict.AsStatement;
import multimed.log.proto.Statement;
import multimed.master.Master;
import multimed.master.MasterAccess;

/**
 * In: a statement for the log. Out: the same; where it creates or drops a routine and the master has automatic_sp_privileges=OFF, it says so. Must
 * never: guess the setting. It is the master's of now: the binlog does not have it.
 */
final class RoutinePrivileges implements AutoCloseable {
    /** Both words anywhere; one too many costs a question. Apart, so that a long text is read once each. */
    private static final Pattern DROP = Pattern.compile("(?i)\\bDROP\\b");
    private static final Pattern ROUTINE = Pattern.compile("(?i)\\b(PROCEDURE|FUNCTION)\\b");

    private final MasterAccess access;
    private Master master;

    RoutinePrivileges(MasterAccess access) {
        this.access = access;
    }

    AsStatement asOnMaster(AsStatement verdict) throws SQLException {
        return dependsOn(verdict.statement()) && !automatic()
                ? new AsStatement(verdict.statement().toBuilder().setKeepsPrivileges(true).build())
                : verdict;
    }

    /** Whether the setting decides what it does. */
    static boolean dependsOn(Statement statement) {
        String text = statement.getSql().toString(StandardCharsets.ISO_8859_1);
        return statement.hasCreator() || DROP.matcher(text).find() && ROUTINE.matcher(text).find();
    }

    private boolean automatic() throws SQLException {
        try {
            return asked();
        } catch (SQLException e) {
            // A session that has been idle for hours is gone.
            close();
            return asked();
        }
    }

    private boolean asked() throws SQLException {
        if (master == null) {
            master = new Master(access);
        }
        return master.grantsOnRoutines();
    }

    @Override
    public void close() {
        if (master != null) {
            master.close();
            master = null;
        }
    }
}
