package multimed.capture.tables;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import multimed.binlog.TableName;
import multimed.capture.tables.Catalog.Cascade;
import multimed.capture.tables.Catalog.Definition;
import multimed.gtid.GtidSet;
import multimed.sqltext.DefinitionText;

/** Reads the catalog from the master's information_schema. Must never: leave out a view or a cascade that there is. */
final class CatalogReader {
    private static final String OURS = " NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')";
    private static final String TABLES = "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE LIKE '%VIEW' FROM information_schema.TABLES"
            + " WHERE TABLE_SCHEMA" + OURS;
    private static final String USED_TABLES = "SELECT VIEW_SCHEMA, VIEW_NAME, TABLE_SCHEMA, TABLE_NAME"
            + " FROM information_schema.VIEW_TABLE_USAGE WHERE VIEW_SCHEMA" + OURS;
    private static final String USED_ROUTINES = "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.VIEW_ROUTINE_USAGE";
    private static final String QUIET = " NOT IN ('NO ACTION', 'RESTRICT')";
    private static final String CASCADES = "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME"
            + " FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE UPDATE_RULE" + QUIET + " OR DELETE_RULE" + QUIET;

    private static final String VIEW_TEXTS = "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"
            + " WHERE TABLE_SCHEMA" + OURS;
    private static final String FUNCTION_TEXTS = "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_DEFINITION, SQL_MODE"
            + " FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_BODY = 'SQL' AND ROUTINE_SCHEMA" + OURS;
    private static final String PARAMETERS = "SELECT SPECIFIC_SCHEMA, SPECIFIC_NAME, PARAMETER_NAME FROM information_schema.PARAMETERS"
            + " WHERE ROUTINE_TYPE = 'FUNCTION' AND ORDINAL_POSITION > 0 AND SPECIFIC_SCHEMA" + OURS;
    /** A longer text is left out, as if it could not be read. */
    private static final int LONGEST_TEXT = 64 * 1024;
    /** Of all texts together, in characters; what comes after is left out. */
    private static final int MOST_TEXT = 16 * 1024 * 1024;

    private final Connection connection;
    private final List<Definition> definitions = new ArrayList<>();
    private int characters;

    private record Position(GtidSet owned, GtidSet executed) {}

    private interface Row {
        void accept(ResultSet row) throws SQLException;
    }

    private CatalogReader(Connection connection) {
        this.connection = connection;
    }

    static Catalog read(Connection connection) throws SQLException {
        return new CatalogReader(connection).read();
    }

    private Catalog read() throws SQLException {
        GtidSet before = position().executed();
        boolean lowerCase = value("SELECT @@GLOBAL.lower_case_table_names <> 0").equals("1");
        List<TableName> tables = new ArrayList<>();
        Map<TableName, List<TableName>> views = new HashMap<>();
        query(TABLES, row -> {
            if (row.getBoolean(3)) {
                views.put(name(row, 1), List.of());
            } else {
                tables.add(name(row, 1));
            }
        });
        boolean callFunctions = uses(views);
        viewTexts();
        if (callFunctions) {
            functionTexts();
        }
        List<Cascade> cascades = new ArrayList<>();
        query(CASCADES, row -> cascades.add(new Cascade(name(row, 1), name(row, 3))));
        Position after = position();
        return new Catalog(before, after.executed().union(after.owned()), !after.owned().isEmpty(), lowerCase, views, cascades, tables,
                definitions);
    }

    /** One that uses nothing, as far as the server says, counts as one that calls a function. */
    private boolean uses(Map<TableName, List<TableName>> views) throws SQLException {
        Map<TableName, List<TableName>> used = new HashMap<>();
        query(USED_TABLES, row -> used.computeIfAbsent(name(row, 1), v -> new ArrayList<>()).add(name(row, 3)));
        Set<TableName> opaque = new HashSet<>();
        query(USED_ROUTINES, row -> opaque.add(name(row, 1)));
        used.keySet().removeAll(opaque);
        views.putAll(used);
        return !opaque.isEmpty();
    }

    private void viewTexts() throws SQLException {
        query(VIEW_TEXTS, row -> define(false, name(row, 1), List.of(), row.getString(3), ""));
    }

    private void functionTexts() throws SQLException {
        Map<TableName, List<String>> parameters = new HashMap<>();
        query(PARAMETERS, row -> parameters.computeIfAbsent(name(row, 1), f -> new ArrayList<>()).add(row.getString(3)));
        query(FUNCTION_TEXTS, row -> {
            TableName name = name(row, 1);
            define(true, name, parameters.getOrDefault(name, List.of()), row.getString(3), row.getString(4));
        });
    }

    /** What is left out here counts as asking about the session. A view's text is kept as every sql_mode reads it that has none set. */
    private void define(boolean function, TableName name, List<String> parameters, String text, String sqlMode) {
        String plain = text == null || text.isEmpty() || text.length() > LONGEST_TEXT ? null : DefinitionText.of(text, sqlMode);
        if (plain != null && characters + plain.length() <= MOST_TEXT) {
            characters += plain.length();
            definitions.add(new Definition(function, name, parameters, plain));
        }
    }

    /** What a transaction changes can be seen only once its GTID is owned, and then executed: asked for in this order. */
    private Position position() throws SQLException {
        Position[] position = new Position[1];
        query("SELECT @@GLOBAL.gtid_owned, @@GLOBAL.gtid_executed",
                row -> position[0] = new Position(owned(row.getString(1)), GtidSet.parse(row.getString(2))));
        return position[0];
    }

    /** {@code uuid:7#16:8#15uuid:9#3}: numbers with their owners; nothing stands between an owner and the next uuid. */
    static GtidSet owned(String text) {
        String between = text.replaceAll("#[0-9]+?(?=[0-9a-f]{8}-[0-9a-f]{4}-)", ",");
        return GtidSet.parse(between.replaceAll("#[0-9]+", ""));
    }

    private String value(String query) throws SQLException {
        String[] value = new String[1];
        query(query, row -> value[0] = row.getString(1));
        return value[0];
    }

    private void query(String query, Row each) throws SQLException {
        try (Statement s = connection.createStatement(); ResultSet row = s.executeQuery(query)) {
            while (row.next()) {
                each.accept(row);
            }
        }
    }

    private static TableName name(ResultSet row, int column) throws SQLException {
        return new TableName(row.getString(column), row.getString(column + 1));
    }
}
