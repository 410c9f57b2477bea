package multimed.apply.sql;

import com.google.protobuf.ByteString;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import multimed.log.LogBrokenException;
import multimed.log.proto.Statement;

/**
 * In: the settings that a statement was issued under. Out: SQL that makes the applier's session so, and that undoes it.
 * Pure. Must never: let a setting of the log become other SQL.
 *
 * <p>A literal is converted to the session's collation_connection, and most settings take its bytes as they are. Within a session that may have a
 * record's settings (ucs2, utf16) literals therefore name their character set. So does {@code gtid_next} wherever it is set.
 */
public final class SessionSettings {
    /** Every setting that decides how a row literal is read, stored or refused; strict, so that nothing is altered silently. */
    private static final Map<String, String> BASELINE = new TreeMap<>(Map.ofEntries(
            Map.entry("character_set_client", "utf8mb4"),
            Map.entry("character_set_results", "utf8mb4"),
            Map.entry("collation_connection", "utf8mb4_0900_ai_ci"),
            Map.entry("time_zone", "_utf8mb4'+00:00'"),
            Map.entry("sql_mode", "_utf8mb4'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES'"),
            Map.entry("unique_checks", "1"),
            Map.entry("sql_auto_is_null", "0"),
            Map.entry("timestamp", "DEFAULT")));

    /** Not to be found in a statement's settings, or SET would reach further than this session's statement. */
    private static final Set<String> FORBIDDEN = Set.of("gtid_next", "sql_log_bin", "autocommit", "read_only", "pseudo_replica_mode");

    private SessionSettings() {}

    /** What the master accepted must be accepted here; the binlog does not say how strict it was. */
    private static final String LENIENT = "innodb_strict_mode=0,/*!80400 restrict_fk_on_non_standard_key=0,*/";
    /** A large row takes several times its size. Counted, it would end all readers, above global_connection_memory_limit. */
    private static final String UNCOUNTED = "/*!80028 global_connection_memory_tracking=0,*/";

    /** For a new session; everything it sets lasts as long as the session. */
    public static String baseline(boolean cascadesAreLogged, boolean autocommit) {
        return "SET autocommit=" + (autocommit ? 1 : 0)
                + ",transaction_isolation='READ-COMMITTED',lock_wait_timeout=31536000,innodb_lock_wait_timeout=31536000,"
                + "max_execution_time=0,wait_timeout=31536000,net_read_timeout=3600,net_write_timeout=3600,"
                + LENIENT + UNCOUNTED + "session_track_gtids=OFF,session_track_schema=OFF,session_track_system_variables='',"
                + assignments(cascadesAreLogged);
    }

    private static String assignments(boolean cascadesAreLogged) {
        StringBuilder out = new StringBuilder("foreign_key_checks=").append(cascadesAreLogged ? 0 : 1);
        BASELINE.forEach((name, value) -> out.append(',').append(name).append('=').append(value));
        return out.toString();
    }

    /** To issue a statement as the master's client did. */
    public static String enter(Statement statement) {
        SqlBuffer sql = new SqlBuffer();
        sql.add("SET timestamp=").add(statement.getTimestampUs() == 0 ? "DEFAULT" : seconds(statement.getTimestampUs()));
        assign(sql, statement.getSessionMap());
        return sql.text();
    }

    /** The character set of the statement's text; empty if the log does not say it. */
    public static String charset(Statement statement) {
        return statement.getSessionOrDefault("character_set_client", "");
    }

    /** To replay row events under settings that their rows depend on. */
    public static String set(Map<String, String> settings) {
        SqlBuffer sql = new SqlBuffer();
        sql.add("SET timestamp=DEFAULT");
        assign(sql, settings);
        return sql.text();
    }

    private static void assign(SqlBuffer sql, Map<String, String> settings) {
        new TreeMap<>(settings).forEach((name, value) -> {
            if (!name.matches("[a-z_0-9]+") || FORBIDDEN.contains(name)) {
                throw new LogBrokenException("a statement sets " + name);
            }
            sql.add(',').add(name).add('=');
            value(sql, value);
        });
    }

    private static String seconds(long micros) {
        return String.format("%d.%06d", micros / 1_000_000, micros % 1_000_000);
    }

    private static void value(SqlBuffer sql, String value) {
        if (value.matches("-?[0-9]+(\\.[0-9]+)?")) {
            sql.add(value);
        } else if (value.isEmpty() || !value.contains("\\")) {
            sql.add("_utf8mb4").addQuoted(ByteString.copyFromUtf8(value));
        } else {
            throw new LogBrokenException("a setting's value contains a backslash");
        }
    }

    /** Back to the baseline after a statement, or after row events, which set some of it too. */
    public static String leave(Map<String, String> entered, boolean cascadesAreLogged) {
        StringBuilder out = new StringBuilder("SET ").append(assignments(cascadesAreLogged));
        new TreeMap<>(entered).keySet().stream()
                .filter(name -> !BASELINE.containsKey(name) && !name.equals("foreign_key_checks"))
                .forEach(name -> out.append(',').append(name).append("=DEFAULT"));
        return out.toString();
    }
}
