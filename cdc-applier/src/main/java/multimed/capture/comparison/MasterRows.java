package multimed.capture.comparison;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import multimed.master.MasterAccess;

/**
 * The session that reads the master's tables and locks their rows. In: queries. Out: tables, keys, a piece's answer. Its settings are those that
 * satellites get with the query, in which generated columns and comparisons may depend on them. Must never: keep a lock after a failure, or
 * wait long for one. One thread; {@link #abort} is for any.
 */
final class MasterRows implements AutoCloseable {
    /**
     * What an expression over a row can depend on. No mode that changes how texts are read: MySQL reads the expressions of a table under the mode of
     * the session that opens it first, and then all others compute by that.
     */
    static final Map<String, String> SETTINGS = Map.of(
            "character_set_client", "utf8mb4",
            "collation_connection", "utf8mb4_0900_ai_ci",
            "time_zone", "+00:00",
            "sql_mode", "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO",
            "div_precision_increment", "4",
            "default_week_format", "0",
            "block_encryption_mode", "aes-128-ecb",
            "lc_time_names", "en_US",
            "sql_big_selects", "1");

    private static final String OURS = " NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')";
    private static final String TABLES = "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, AVG_ROW_LENGTH FROM information_schema.TABLES"
            + " WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE = 'InnoDB' AND TABLE_SCHEMA" + OURS;
    private static final String KEYS = "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLLATION = 'D', SUB_PART IS NOT NULL"
            + " FROM information_schema.STATISTICS WHERE INDEX_NAME = 'PRIMARY' AND TABLE_SCHEMA" + OURS
            + " ORDER BY TABLE_SCHEMA, TABLE_NAME, SEQ_IN_INDEX";
    private static final String KEY_COLUMNS = "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, CHARACTER_SET_NAME, COLLATION_NAME"
            + " FROM information_schema.COLUMNS WHERE COLUMN_KEY = 'PRI' AND TABLE_SCHEMA" + OURS;
    /** Not what is computed at each read: by the settings of whoever has opened the table first. */
    private static final String COLUMNS = "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS"
            + " WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND EXTRA NOT LIKE '%VIRTUAL GENERATED%' ORDER BY ORDINAL_POSITION";

    private final Connection connection;

    private record ColumnName(String schema, String table, String column) {}

    private record TextType(String type, String charset, String collation) {}

    private record TableId(String schema, String table) {}

    private interface Row {
        void accept(ResultSet row) throws SQLException;
    }

    MasterRows(MasterAccess access) throws SQLException {
        connection = access.connect();
        try {
            // Only then a lock is on the gaps, too: no row may come in.
            execute("SET SESSION transaction_isolation = 'REPEATABLE-READ', innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, "
                    + "/*!80028 global_connection_memory_tracking = OFF, */ "
                    + assignments());
        } catch (SQLException e) {
            close();
            throw e;
        }
    }

    private static String assignments() {
        return new TreeMap<>(SETTINGS).entrySet().stream()
                .map(e -> e.getKey() + " = " + (e.getValue().matches("[0-9]+") ? e.getValue() : "'" + e.getValue() + "'"))
                .collect(Collectors.joining(", "));
    }

    private void execute(String sql) throws SQLException {
        try (Statement s = connection.createStatement()) {
            s.execute(sql);
        }
    }

    private void query(String query, Row each) throws SQLException {
        try (Statement s = connection.createStatement(); ResultSet row = s.executeQuery(query)) {
            while (row.next()) {
                each.accept(row);
            }
        }
    }

    List<ComparedTable> tables() throws SQLException {
        Map<TableId, List<KeyPart>> keys = keys();
        List<ComparedTable> tables = new ArrayList<>();
        query(TABLES, row -> {
            TableId id = new TableId(row.getString(1), row.getString(2));
            tables.add(new ComparedTable(id.schema(), id.table(), row.getLong(3), row.getLong(4), keys.getOrDefault(id, List.of())));
        });
        return tables;
    }

    private Map<TableId, List<KeyPart>> keys() throws SQLException {
        Map<ColumnName, TextType> types = new HashMap<>();
        query(KEY_COLUMNS, row -> types.put(new ColumnName(row.getString(1), row.getString(2), row.getString(3)),
                new TextType(row.getString(4), row.getString(5), row.getString(6))));
        Map<TableId, List<KeyPart>> keys = new HashMap<>();
        query(KEYS, row -> {
            ColumnName name = new ColumnName(row.getString(1), row.getString(2), row.getString(3));
            // It may have come since the first query; then its type is not known, and the table waits for the next pass.
            TextType type = types.getOrDefault(name, new TextType("", null, null));
            keys.computeIfAbsent(new TableId(name.schema(), name.table()), t -> new ArrayList<>())
                    .add(new KeyPart(name.column(), type.type(), type.charset(), type.collation(), row.getBoolean(4), row.getBoolean(5)));
        });
        return keys;
    }

    List<Column> columns(ComparedTable table) throws SQLException {
        List<Column> columns = new ArrayList<>();
        try (PreparedStatement s = connection.prepareStatement(COLUMNS)) {
            s.setString(1, table.schema());
            s.setString(2, table.name());
            try (ResultSet row = s.executeQuery()) {
                while (row.next()) {
                    columns.add(new Column(row.getString(1), row.getString(2)));
                }
            }
        }
        return columns;
    }

    /** As of now, without locks. */
    TableWalk.Keys keys(PieceQuery query) {
        return new TableWalk.Keys() {
            @Override
            public List<String> nth(long n, List<String> after, List<String> upTo) throws SQLException {
                return key(query.table(), query.nth(n, after, upTo));
            }

            @Override
            public List<String> last() throws SQLException {
                return key(query.table(), query.last());
            }
        };
    }

    private List<String> key(ComparedTable table, String query) throws SQLException {
        List<String> literals = new ArrayList<>();
        query(query, row -> {
            for (KeyPart part : table.key()) {
                literals.add(part.literal(row.getString(literals.size() + 1)));
            }
        });
        return literals.isEmpty() ? null : literals;
    }

    /** The piece's answer. From now on nobody changes its rows, until {@link #release}. Without an answer nothing is locked. */
    String lock(PieceQuery query, Piece piece) throws SQLException {
        execute("BEGIN");
        try (Statement s = connection.createStatement(); ResultSet row = s.executeQuery(query.onMaster(piece))) {
            row.next();
            return row.getString(1);
        } catch (SQLException e) {
            // The statement's locks outlive its failure.
            release();
            throw e;
        }
    }

    /** Without an exception the session, and with it the locks, lived until now. */
    void release() throws SQLException {
        execute("ROLLBACK");
    }

    /** From any thread: makes the call in flight fail. */
    void abort() {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException e) {
            // closed already
        }
    }

    @Override
    public void close() {
        abort();
    }
}
