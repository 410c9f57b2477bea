package multimed.apply;

import java.sql.SQLException;
import multimed.gtid.GtidSet;

/**
 * Asks the satellite's supervisor to throw the data away and clone again: leaves the GTID set that the donor must contain
 * where the supervisor looks, then shuts mysqld down, which is what starts the rebuild.
 */
final class RebuildRequest {
    private RebuildRequest() {}

    static void send(SatelliteSession session, String file, GtidSet required) throws SQLException {
        // A GTID that was set and used up would make the server refuse both statements (1837).
        session.execute("ROLLBACK;SET gtid_next=_utf8mb4'AUTOMATIC'");
        try {
            session.execute("SELECT _utf8mb4'" + required + "' INTO DUMPFILE '" + file.replace("'", "''") + "'");
        } catch (SQLException e) {
            if (SqlErrors.sessionLost(e)) {
                throw e;
            }
            ApplyLoop.LOG.warn("event=rebuild-file-failed file={} error=\"{}\" next=shutdown", file, e.getMessage());
        }
        session.execute("SHUTDOWN");
    }
}
