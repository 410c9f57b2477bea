package multimed.apply;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import multimed.apply.sql.SessionSettings;
import multimed.apply.sql.SqlBuffer;
import multimed.log.proto.Statement;
import multimed.sqltext.TableStatements;

/**
 * Indexes that this satellite has and the master has not; the satellite's entrypoint makes them, and makes them again. In: what is about
 * to be applied. Out: the indexes are gone that could make that fail, or end otherwise than on the master. Must never: drop an index that
 * the master has, or drop one under a GTID.
 *
 * <p>With them, statements fail that ran on the master (a column becomes too long for a key, two tables to exchange are not equal), or do
 * something else without saying so: CREATE TABLE … LIKE copies them, and a new foreign key uses one instead of making its own index.
 */
final class OwnIndexes {
    /** In hexadecimal, as schema.table.index. */
    private static final String ALL = "SELECT JSON_ARRAYAGG(CONCAT(HEX(table_schema), '.', HEX(table_name), '.', HEX(index_name))) "
            + "FROM information_schema.statistics WHERE index_name REGEXP '^multimed_own_[0-9a-f]{12}$' AND seq_in_index = 1";
    /** Held by who makes an index, and by who executes a statement that depends on indexes. */
    private static final String LOCK = "multimed_own_indexes";
    private static final int LOCK_WAIT_S = 60;
    private static final int LOCK_WAIT_TIMEOUT = 1205;
    private static final int NO_SUCH_CONNECTION = 1094;
    private static final Pattern NAME = Pattern.compile("([0-9A-F]+)\\.([0-9A-F]+)\\.([0-9A-F]+)");

    private record Index(String schema, String table, String name) {}

    private OwnIndexes() {}

    /** Before a statement is executed, outside of transactions. */
    static void dropBefore(Statement statement, SatelliteSession session) throws SQLException {
        if (TableStatements.dependOnIndexes(statement.getSql(), SessionSettings.charset(statement), session.identity().version())) {
            String text = statement.getSql().toStringUtf8().toLowerCase(Locale.ROOT);
            session.execute("SET gtid_next=_utf8mb4'AUTOMATIC'");
            lock(session);
            drop(session, table -> mayName(text, table));
        }
    }

    /** After a statement: the entrypoint may make indexes again. */
    static void release(SatelliteSession session) throws SQLException {
        session.execute("DO RELEASE_LOCK('" + LOCK + "')");
    }

    /** Ends who makes an index right now: that can take long, and is done again. */
    private static void lock(SatelliteSession session) throws SQLException {
        if ("1".equals(session.text("SELECT GET_LOCK('" + LOCK + "', 0)"))) {
            return;
        }
        String holder = session.text("SELECT IS_USED_LOCK('" + LOCK + "')");
        if (holder != null) {
            kill(session, holder);
        }
        if (!"1".equals(session.text("SELECT GET_LOCK('" + LOCK + "', " + LOCK_WAIT_S + ")"))) {
            throw new SQLException("the making of an own index does not end", "HY000", LOCK_WAIT_TIMEOUT);
        }
    }

    private static void kill(SatelliteSession session, String connection) throws SQLException {
        try {
            session.execute("KILL " + connection);
        } catch (SQLException e) {
            if (e.getErrorCode() != NO_SUCH_CONNECTION) {
                throw e;
            }
        }
    }

    /** Before a transaction that has failed is tried once more. */
    static void dropAll(SatelliteSession session) throws SQLException {
        drop(session, table -> true);
    }

    /** Whatever is not plain ASCII may be written in several ways. */
    private static boolean mayName(String text, String table) {
        String word = Pattern.quote(table.toLowerCase(Locale.ROOT));
        return !table.matches("[0-9A-Za-z_$ -]+") || Pattern.compile("(?<![0-9a-z_$])" + word + "(?![0-9a-z_$])").matcher(text).find();
    }

    private static void drop(SatelliteSession session, Predicate<String> ofTable) throws SQLException {
        session.execute("SET gtid_next=_utf8mb4'AUTOMATIC'");
        for (Index index : all(session)) {
            if (ofTable.test(index.table())) {
                session.execute(new SqlBuffer().add("ALTER TABLE ").addIdentifier(index.schema()).add('.').addIdentifier(index.table())
                        .add(" DROP INDEX ").addIdentifier(index.name()).text());
                ApplyLoop.LOG.info("event=own-index-dropped table={}.{} index={}", index.schema(), index.table(), index.name());
            }
        }
    }

    private static List<Index> all(SatelliteSession session) throws SQLException {
        String found = session.text(ALL);
        List<Index> indexes = new ArrayList<>();
        for (MatchResult name : NAME.matcher(found == null ? "" : found).results().toList()) {
            indexes.add(new Index(decoded(name.group(1)), decoded(name.group(2)), decoded(name.group(3))));
        }
        return indexes;
    }

    private static String decoded(String hexadecimal) {
        return new String(HexFormat.of().parseHex(hexadecimal), StandardCharsets.UTF_8);
    }
}
