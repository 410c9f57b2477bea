package multimed.apply;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;
import multimed.apply.sql.SessionSettings;
import multimed.gtid.GtidSet;
import multimed.mysql.PipelinedConnection;
import multimed.process.Address;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: address and account. Out: plain connections, and sessions that own the satellite. Must never: hand out a session
 * while another applier may still write.
 */
final class SatelliteConnector {
    private static final Logger LOG = LoggerFactory.getLogger(SatelliteConnector.class);
    /** Held by the writing session: released by the server when that session's last statement has ended. */
    private static final String LOCK = "multimed_applier";
    private static final int LOCK_WAIT_S = 2;
    private static final int LOGIN_TIMEOUT_MS = 5000;
    /** For all sessions, until the pipeline has them. */
    private static final int LOCAL_TIMEOUT_MS = 30_000;

    private final Address satellite;
    private final Path socket;
    private final String user;
    private final String password;
    private final Properties properties = new Properties();

    /** @param socket the satellite's Unix socket; null, or not there: the pipeline's sessions come over TCP, too */
    SatelliteConnector(Address satellite, Path socket, String user, String password) {
        this.satellite = satellite;
        this.socket = socket;
        this.user = user;
        this.password = password;
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        properties.setProperty("sslMode", "DISABLED");
        properties.setProperty("allowPublicKeyRetrieval", "true");
        properties.setProperty("connectTimeout", Integer.toString(LOGIN_TIMEOUT_MS));
        properties.setProperty("socketTimeout", Integer.toString(LOGIN_TIMEOUT_MS));
        properties.setProperty("connectionAttributes", "program_name:multimed-applier");
    }

    /** A connection for short questions; every answer must come within five seconds. */
    Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:mysql://" + satellite + "/", properties);
    }

    /** The session that owns the satellite, or null if another applier still does. */
    SatelliteSession open() throws SQLException {
        PipelinedConnection connection = login();
        try {
            refuseIfNoSatellite(connection);
            if (!lock(connection)) {
                connection.close();
                return null;
            }
            return prepared(connection);
        } catch (SQLException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    private PipelinedConnection login() throws SQLException {
        return PipelinedConnection.open(satellite.host(), satellite.port(), user, password, LOGIN_TIMEOUT_MS);
    }

    /** A session for the pipeline. Both sessions must be on the same incarnation of the satellite. */
    PipelineSession openParallel(SatelliteSession owner) throws SQLException {
        PipelinedConnection connection = loginForPipeline();
        try {
            if (!owner.identity().incarnation().equals(connection.text(INCARNATION))) {
                throw new SQLException("the satellite was restarted", "08006");
            }
            connection.execute(SessionSettings.baseline(owner.identity().cascadesAreLogged(), false));
            return new PipelineSession(connection, owner.identity().cascadesAreLogged());
        } catch (SQLException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    /** Over the socket, unless there is none, or an account of a client's, like ''@'localhost', comes before the applier's there. */
    private PipelinedConnection loginForPipeline() throws SQLException {
        if (socket != null && Files.exists(socket)) {
            try {
                return PipelinedConnection.openLocal(socket, user, password, LOCAL_TIMEOUT_MS);
            } catch (SQLException e) {
                LOG.warn("event=no-local-login error=\"{}\" next=tcp", e.getMessage());
            }
        }
        return login();
    }

    /** Whether this connection's transaction waits for a lock; InnoDB's answer is up to 100 ms old. */
    boolean waitsForLock(long connectionId) throws SQLException {
        try (PipelinedConnection connection = login()) {
            return !"0".equals(connection.text("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = "
                    + connectionId + " AND trx_state = 'LOCK WAIT'"));
        }
    }

    private static SatelliteSession prepared(PipelinedConnection connection) throws SQLException {
        SatelliteSession session = new SatelliteSession(connection, identity(connection));
        connection.answerTimeout(0);
        session.execute(SessionSettings.baseline(session.identity().cascadesAreLogged(), true));
        return session;
    }

    /** An address that leads to a master, or to any server with data of its own, must not be written to, let alone shut down. */
    private static void refuseIfNoSatellite(PipelinedConnection connection) throws SQLException {
        if (!"1".equals(connection.text("SELECT @@global.log_bin = 0 AND @@global.read_only = 1"))) {
            throw new SQLException("this server is no satellite: a satellite has no binlog and is read-only");
        }
    }

    /** Any account may hold it. Another one's is not waited for: the ownership of GTIDs keeps a second applier out then. */
    private static boolean lock(PipelinedConnection connection) throws SQLException {
        return "1".equals(connection.text("SELECT GET_LOCK('" + LOCK + "', " + LOCK_WAIT_S + ")")) || "0".equals(connection.text(
                "SELECT COALESCE((SELECT USER = SUBSTRING_INDEX(USER(), '@', 1) FROM information_schema.PROCESSLIST WHERE ID = holder),"
                        + " holder IS NULL) FROM (SELECT IS_USED_LOCK('" + LOCK + "') AS holder) AS locked"));
    }

    private static SatelliteSession.Identity identity(PipelinedConnection connection) throws SQLException {
        int version = versionNumber(connection.text("SELECT VERSION()"));
        return new SatelliteSession.Identity(
                connection.text(INCARNATION),
                GtidSet.parse(connection.text("SELECT @@global.gtid_executed")),
                cascadesAreLogged(connection, version),
                version);
    }

    /** A nonce per boot; where there is none, the server and when it started, to the second. */
    private static final String INCARNATION = "SELECT COALESCE(NULLIF(@@global.report_host, ''), CONCAT(@@server_uuid, '@', "
            + "(SELECT FLOOR(UNIX_TIMESTAMP(NOW(6)) - VARIABLE_VALUE) FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Uptime')))";

    /** 9.7.4 → 90704, as in versioned comments. */
    static int versionNumber(String version) {
        String[] parts = version.split("[^0-9]+", 4);
        return Integer.parseInt(parts[0]) * 10_000 + Integer.parseInt(parts[1]) * 100 + Integer.parseInt(parts[2]);
    }

    /** From 9.6 on the SQL layer runs cascades and their rows are in the binlog; running them here too would do them twice. */
    private static boolean cascadesAreLogged(PipelinedConnection connection, int version) throws SQLException {
        String inEngine = connection.text("SELECT VARIABLE_VALUE FROM performance_schema.global_variables "
                + "WHERE VARIABLE_NAME = 'innodb_native_foreign_keys'");
        return version >= 90_600 && !"ON".equals(inEngine);
    }
}
