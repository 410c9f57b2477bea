package multimed.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import multimed.capture.Definitions;
import multimed.gtid.GtidSet;
import multimed.log.proto.LogRecord;
import multimed.master.Master;
import multimed.master.MasterAccess;
import multimed.process.Address;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Definitions that compute values for the rows of a table: on a satellite they compute the same, or the log says that it can't be known.
 * {@code -Dcomputed.cases=2000}: by night.
 */
@Timeout(1800)
class ComputedValuesIT {
    private static final int CASES = Integer.getInteger("computed.cases", 300);
    private static final long SEED = Long.getLong("computed.seed", 20_111);

    /** Everything that some MySQL has, whatever the list in ComputedValues says. */
    private static final String[] FUNCTIONS = """
            ABS ACOS ADDTIME AES_DECRYPT AES_ENCRYPT ASCII ASIN ATAN ATAN2 BIN BIN_TO_UUID BIT_COUNT BIT_LENGTH CEILING CHAR CHARSET CHAR_LENGTH
            COALESCE COERCIBILITY COLLATION COMPRESS CONCAT CONCAT_WS CONNECTION_ID CONV CONVERT_TZ COS COT CRC32 CURDATE CURRENT_ROLE
            CURRENT_USER CURTIME DATABASE DATE DATEDIFF DATE_FORMAT DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DEGREES ELT EXP EXPORT_SET
            EXTRACTVALUE FIELD FIND_IN_SET FLOOR FORMAT FORMAT_BYTES FORMAT_PICO_TIME FROM_BASE64 FROM_DAYS FROM_UNIXTIME GREATEST GTID_SUBSET
            HEX HOUR ICU_VERSION IF IFNULL INET6_ATON INET6_NTOA INET_ATON INET_NTOA INSERT INSTR INTERVAL ISNULL IS_IPV4 IS_IPV6 IS_UUID
            JSON_ARRAY JSON_ARRAY_APPEND JSON_CONTAINS JSON_DEPTH JSON_EXTRACT JSON_INSERT JSON_KEYS JSON_LENGTH JSON_MERGE_PATCH
            JSON_MERGE_PRESERVE JSON_OBJECT JSON_OVERLAPS JSON_PRETTY JSON_QUOTE JSON_REMOVE JSON_REPLACE JSON_SCHEMA_VALID JSON_SEARCH JSON_SET
            JSON_STORAGE_FREE JSON_STORAGE_SIZE JSON_TYPE JSON_UNQUOTE JSON_VALID JSON_VALUE LAST_DAY LAST_INSERT_ID LCASE LEAST LEFT LENGTH LN
            LOAD_FILE LOCATE LOG LOG10 LOG2 LOWER LPAD LTRIM MAKEDATE MAKETIME MAKE_SET MD5 MICROSECOND MID MINUTE MOD MONTH MONTHNAME NOW NULLIF
            OCT OCTET_LENGTH ORD PERIOD_ADD PERIOD_DIFF PI POINT POW PS_CURRENT_THREAD_ID PS_THREAD_ID QUARTER QUOTE RADIANS RAND RANDOM_BYTES
            REGEXP_INSTR REGEXP_LIKE REGEXP_REPLACE REGEXP_SUBSTR REPEAT REPLACE REVERSE RIGHT ROUND ROW_COUNT RPAD RTRIM SECOND SEC_TO_TIME SHA1
            SHA2 SIGN SIN SLEEP SOUNDEX SPACE SQRT STATEMENT_DIGEST STRCMP STR_TO_DATE ST_ASGEOJSON ST_ASTEXT ST_GEOMFROMTEXT ST_SRID ST_X
            ST_Y SUBSTR SUBSTRING_INDEX SUBTIME SYSDATE TAN TIME TIMEDIFF TIMESTAMP TIME_FORMAT TIME_TO_SEC TO_BASE64 TO_DAYS TO_SECONDS TRIM
            TRUNCATE UCASE UNCOMPRESS UNHEX UNIX_TIMESTAMP UPPER USER UTC_DATE UTC_TIME UTC_TIMESTAMP UUID UUID_SHORT UUID_TO_BIN VERSION WEEK
            WEEKDAY WEEKOFYEAR WEIGHT_STRING YEAR YEARWEEK CEIL CHARACTER_LENGTH CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP IS_IPV4_COMPAT
            IS_IPV4_MAPPED JSON_ARRAY_INSERT JSON_CONTAINS_PATH LOCALTIME LOCALTIMESTAMP POWER SHA ST_ASBINARY ST_ASWKB ST_ASWKT ST_GEOMFROMWKB
            ST_LATITUDE ST_LONGITUDE ST_POINTFROMTEXT SUBSTRING"""
            .split("\\s+");
    private static final String[] SOURCES = {"n", "m", "e", "s", "l", "d", "z", "ts", "t", "j", "b", "3", "1.5", "0", "'a'",
        "'2026-03-29 02:30:00'", "'%'", "NULL",
        "1e3", "x'00ff'", "'[1, 2.50]'"};
    private static final String[] OPERATORS = {"+", "-", "*", "/", "%", "DIV", "=", "<", "LIKE", "||", "AND", "^", "<=>", "REGEXP"};
    private static final String[] TYPES = {"VARCHAR(600)", "DOUBLE", "DECIMAL(40,15)", "DATETIME(6)", "TIMESTAMP(6) NULL", "BLOB", "BIGINT",
        "TIME(3)", "TEXT"};
    private static final String[] SETTINGS = {"default_week_format = 3", "div_precision_increment = 9", "group_concat_max_len = 4",
        "block_encryption_mode = 'aes-256-cbc'", "lc_time_names = 'de_DE'", "lc_messages = 'de_DE'", "time_zone = '+05:30'",
        "time_zone = '-08:00'",
        "sql_mode = ''", "sql_mode = 'PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'",
        "sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,TIME_TRUNCATE_FRACTIONAL'",
        "sql_mode = 'NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE,REAL_AS_FLOAT'", "NAMES latin1", "NAMES utf8mb4 COLLATE utf8mb4_bin",
        "collation_connection = latin1_german2_ci", "default_collation_for_utf8mb4 = utf8mb4_general_ci", "sql_mode = 'ANSI_QUOTES'",
        "timestamp = 1774747800.25", "character_set_filesystem = latin1"};
    /** What the settings that the binlog does not have, or the session, decide. */
    private static final String[] UNCERTAIN = {"WEEK(d)", "EXTRACT(WEEK FROM d)", "(n / 3)", "(m / e)", "CURRENT_ROLE()",
        "PS_CURRENT_THREAD_ID()",
        "AES_ENCRYPT(s, 'k', x'00112233445566778899aabbccddeeff')"};
    private static final String ROWS = """
            INSERT INTO v.rows0 VALUES (7, -3, 10.25, 0.1, 'abc', 'xÄy\\\\%', '2026-01-01', '2026-12-31 23:59:59.987654', '2026-03-29 01:30:00', '-01:02:03.5', '{"a": [1, 2.50]}', x'00ff41'),
            (2, 9, -7.77, 1e10, '2026-02-03', '', '2025-12-29', '1999-01-01 00:00:00', '2026-10-25 00:59:59', '838:59:59', '"x"', ''), (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            (1, 255, 3, 2.5, '12', 'POINT(1 2)', '2024-02-29', '2026-07-01 12:00:00', '2001-09-09 01:46:40', '10:11:12', '[]', 'abc')
            """;

    private static TestMysql master;
    private static TestMysql satellite;
    private static WriterFixture applier;
    private static MasterAccess access;

    private final Random random = new Random(SEED);

    @BeforeAll
    static void start() throws Exception {
        master = TestMysql.master("values-master");
        satellite = TestMysql.satellite("values-satellite");
        applier = new WriterFixture(satellite);
        access = new MasterAccess(new Address(master.address(), 3306), TestMysql.USER, TestMysql.PASSWORD);
        both("CREATE DATABASE v", "CREATE TABLE v.rows0 (id INT PRIMARY KEY, n INT, m DECIMAL(10,2), e DOUBLE, s VARCHAR(50),"
                + " l VARCHAR(50) CHARACTER SET latin1, d DATE, z DATETIME(6), ts TIMESTAMP NULL, t TIME(1), j JSON, b BLOB)", ROWS);
    }

    @AfterAll
    static void stop() {
        applier.close();
    }

    private static void both(String... statements) {
        master.run(statements);
        satellite.run(statements);
    }

    private static GtidSet executed() throws SQLException {
        return GtidSet.parse(master.text("SELECT @@global.gtid_executed"));
    }

    private static List<LogRecord> since(GtidSet before) throws Exception {
        try (Master asked = new Master(access)) {
            return Definitions.read(access, before, executed(), asked.collations());
        }
    }

    // --- expressions ----------------------------------------------------------------------------------------------

    private String one(String... of) {
        return of[random.nextInt(of.length)];
    }

    private String expression(int depth) {
        int kind = random.nextInt(depth == 0 ? 2 : 13);
        return switch (kind) {
            case 0, 1 -> one(SOURCES);
            case 2 -> "(" + expression(depth - 1) + " " + one(OPERATORS) + " " + expression(depth - 1) + ")";
            case 3 -> "CAST(" + expression(depth - 1) + " AS "
                    + one("CHAR(40)", "SIGNED", "DECIMAL(20,6)", "DATETIME(3)", "DATE", "JSON", "BINARY(9)") + ")";
            case 4 ->
                "DATE_ADD(" + one("d", "z", "ts") + ", INTERVAL " + one("1", "n") + " " + one("DAY", "MONTH", "SECOND", "YEAR_MONTH") + ")";
            case 6 -> one(UNCERTAIN);
            case 7 -> withItsOwnGrammar(depth);
            case 5 -> "CASE WHEN " + expression(depth - 1) + " THEN " + expression(depth - 1) + " ELSE " + expression(depth - 1) + " END";
            default -> call(depth);
        };
    }

    private String withItsOwnGrammar(int depth) {
        String unit = one("MICROSECOND", "SECOND", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR");
        String of = expression(depth - 1);
        String other = expression(depth - 1);
        return one("EXTRACT(" + one("DAY", "MONTH", "YEAR_MONTH", "DAY_MICROSECOND") + " FROM " + of + ")",
                "TIMESTAMPADD(" + unit + ", " + one("1", "n") + ", " + of + ")", "TIMESTAMPDIFF(" + unit + ", " + of + ", " + other + ")",
                "ADDDATE(" + of + ", " + other + ")", "SUBDATE(" + of + ", INTERVAL 1 " + unit + ")",
                "DATE_SUB(" + of + ", INTERVAL 1 DAY)",
                "CONVERT(" + of + " USING " + one("latin1", "utf8mb4", "binary") + ")", "POSITION(" + of + " IN " + other + ")",
                "SUBSTRING(" + of + " FROM 2 FOR 3)", "TRIM(LEADING " + of + " FROM " + other + ")",
                "(" + of + " MEMBER OF (" + other + "))",
                "(" + of + " BETWEEN " + other + " AND " + one(SOURCES) + ")", "(" + of + " IS NOT TRUE)", "(j->>'$.a')");
    }

    private String call(int depth) {
        List<String> arguments = new ArrayList<>();
        for (int count = random.nextInt(4); count > 0; count--) {
            arguments.add(expression(depth - 1));
        }
        return one(FUNCTIONS) + "(" + String.join(", ", arguments) + ")";
    }

    private String alter(String table) {
        String column = "c " + one(TYPES);
        return switch (random.nextInt(4)) {
            case 0 -> "ALTER TABLE " + table + " ADD KEY ((" + expression(2) + "))";
            case 1 -> "ALTER TABLE " + table + " ADD " + column + " AS (" + expression(2) + ") STORED";
            default -> "ALTER TABLE " + table + " ADD " + column + " DEFAULT (" + expression(2) + ")";
        };
    }

    /** The tables that the master has altered, each by one statement under settings of its own. */
    private List<String> altered() throws SQLException {
        List<String> tables = new ArrayList<>();
        while (tables.size() < CASES) {
            String table = "v.t" + tables.size();
            master.run("CREATE TABLE IF NOT EXISTS " + table + " LIKE v.rows0", "REPLACE INTO " + table + " SELECT * FROM v.rows0");
            try (Connection connection = master.connect(); Statement statement = connection.createStatement()) {
                statement.execute("SET ROLE NONE");
                while (!tables.contains(table)) {
                    statement.execute("SET " + one(SETTINGS));
                    if (accepts(statement, alter(table))) {
                        tables.add(table);
                    }
                }
            }
        }
        return tables;
    }

    private static boolean accepts(Statement statement, String sql) {
        try {
            statement.execute(sql);
            return true;
        } catch (SQLException e) {
            return false;
        }
    }

    @Test
    void anExpressionIsComputedAlikeOrNotAtAll() throws Exception {
        GtidSet before = executed();
        List<String> tables = altered();
        List<String> wrong = new ArrayList<>();
        int replayed = 0;
        int rebuilt = 0;
        for (LogRecord record : since(before)) {
            String sql = record.getStatement().getSql().toStringUtf8();
            if (record.hasRebuild()) {
                rebuilt++;
            } else if (sql.startsWith("ALTER")) {
                replayed++;
                String table = sql.split(" ")[2];
                satellite.run("CREATE TABLE " + table + " LIKE v.rows0", "INSERT INTO " + table + " SELECT * FROM v.rows0");
                difference(record, table)
                        .ifPresent(what -> wrong.add(sql + "\n  under " + record.getStatement().getSessionMap() + ": " + what));
            }
        }
        System.out.printf("seed %d: %d statements, %d replayed, %d not certain%n", SEED, tables.size(), replayed, rebuilt);
        assertEquals("", String.join("\n", wrong));
        assertEquals(tables.size(), replayed + rebuilt);
        assertTrue(replayed > CASES / 10 && rebuilt > CASES / 20, "both kinds were there");
    }

    private static java.util.Optional<String> difference(LogRecord record, String table) throws Exception {
        try {
            applier.write(record);
        } catch (ApplyFailure e) {
            applier.writer().abandon();
            return java.util.Optional.of(e.getMessage());
        }
        String indexed = master.text("SELECT COUNT(*) FROM information_schema.statistics WHERE index_name = 'functional_index'"
                + " AND CONCAT(table_schema, '.', table_name) = '" + table + "'");
        String on = rows(master, table, indexed);
        String there = rows(satellite, table, indexed);
        return on.equals(there) ? java.util.Optional.empty() : java.util.Optional.of(on + "\n  and " + there);
    }

    /** Also in the order of the index, if there is one: nothing else shows its values. */
    private static String rows(TestMysql server, String table, String indexed) throws SQLException {
        String rows = server.rows("SELECT * FROM " + table + " ORDER BY id").toString();
        if (indexed.equals("0")) {
            return rows;
        }
        try (Connection connection = server.connect(); Statement statement = connection.createStatement()) {
            statement.execute("HANDLER " + table + " OPEN AS h");
            statement.execute("HANDLER h READ functional_index FIRST LIMIT 100");
            ResultSet found = statement.getResultSet();
            StringBuilder order = new StringBuilder(rows).append(" in the order ");
            while (found.next()) {
                order.append(found.getInt("id")).append(' ');
            }
            return order.toString();
        }
    }

    // --- what tables compute themselves ---------------------------------------------------------------------------

    private static final String[] ELSEWHERE = {"div_precision_increment = 9", "default_week_format = 3",
        "block_encryption_mode = 'aes-256-cbc'"};

    /** The table as both have it, then the master's change of it under settings that no satellite has. */
    private static LogRecord changed(String table, String definition, String change, String... settings) throws Exception {
        both("CREATE TABLE " + table + " " + definition,
                "INSERT INTO " + table + " (id, a, d) VALUES (1, 10, '2026-01-01'), (2, 77, '2025-12-29')");
        GtidSet before = executed();
        try (Connection connection = master.connect(); Statement statement = connection.createStatement()) {
            for (String setting : settings) {
                statement.execute("SET " + setting);
            }
            statement.execute(change);
        }
        List<LogRecord> found = since(before);
        assertEquals(1, found.size());
        return found.get(0);
    }

    private static final String COLUMNS = "(id INT PRIMARY KEY, a INT, x INT, d DATE, s VARCHAR(40) DEFAULT (uuid()), "
            + "CHECK (a / 3 > 0), KEY ix (x), ";

    /** A division is computed to more digits there. */
    @Test
    void aTableIsCopiedWithTheValuesOfItsStoredColumns() throws Exception {
        String stored = COLUMNS + "g DECIMAL(20,10) AS (a / 3) STORED)";
        String virtual = COLUMNS + "g DECIMAL(20,10) AS (a / 3), KEY kg (g))";
        String expression = COLUMNS + "g INT, KEY kg ((CAST(a / 3 AS DECIMAL(20,10)))))";
        String[] changes = {"ALTER TABLE # MODIFY x BIGINT", "ALTER TABLE # ADD y INT, ALGORITHM=COPY", "ALTER TABLE # ORDER BY a",
            "ALTER TABLE # CONVERT TO CHARACTER SET latin1", "ALTER TABLE # ENGINE=InnoDB", "ALTER TABLE # FORCE, ALGORITHM=COPY",
            "DROP INDEX ix ON # ALGORITHM=COPY", "CREATE INDEX iy ON # (a) ALGORITHM=COPY", "OPTIMIZE TABLE v.rows0, #"};
        List<String> wrong = new ArrayList<>();
        int number = 0;
        for (String definition : List.of(stored, virtual, expression)) {
            for (String change : changes) {
                String table = "v.c" + number++;
                LogRecord record = changed(table, definition, change.replace("#", table), "div_precision_increment = 9");
                outcome(record, table, definition).ifPresent(what -> wrong.add(change + " of " + definition + ": " + what));
            }
        }
        assertEquals("", String.join("\n", wrong));
    }

    /** What differs although no clone was asked for. */
    private static java.util.Optional<String> outcome(LogRecord record, String table, String definition) throws Exception {
        try {
            applier.write(record);
        } catch (Divergence e) {
            assertEquals(Divergence.Reason.REBUILD_RECORD, e.reason());
            applier.writer().abandon();
            return java.util.Optional.empty();
        }
        String question = "SELECT id, g, " + (definition.contains("kg (g)")
                ? "(SELECT COUNT(*) FROM # FORCE INDEX (kg) WHERE g = 3.3333)"
                : definition.contains("kg")
                        ? "(SELECT COUNT(*) FROM # FORCE INDEX (kg) WHERE CAST(a / 3 AS DECIMAL(20,10)) = 3.3333)"
                        : "1")
                + " FROM # ORDER BY id";
        String on = master.rows(question.replace("#", table)).toString();
        String there = satellite.rows(question.replace("#", table)).toString();
        return on.equals(there) ? java.util.Optional.empty() : java.util.Optional.of(on + " and " + there);
    }

    @Test
    void anIndexOnAVirtualColumnKeepsItsValues() throws Exception {
        LogRecord record = changed("v.ci", COLUMNS + "g DECIMAL(20,10) AS (a / 3))", "ALTER TABLE v.ci ADD KEY (g)",
                "div_precision_increment = 9");
        assertThrows(Divergence.class, () -> applier.write(record));
        applier.writer().abandon();
    }

    @Test
    void aTableWhoseValuesAreCertainIsChanged() throws Exception {
        String definition = COLUMNS
                + "g INT AS (WEEKOFYEAR(d)) STORED, h INT AS (WEEK(d, 1)) STORED, i VARCHAR(90) AS (CONCAT(a * 2, s)) STORED,"
                + " v DOUBLE AS (a / 3), KEY ((UPPER(i))))";
        LogRecord copied = changed("v.cc", definition, "ALTER TABLE v.cc MODIFY x BIGINT", ELSEWHERE);
        applier.write(copied);
        GtidSet before = executed();
        master.run("SET sql_mode = ''", "USE v", "ALTER TABLE `cc` ADD KEY (h)", "ALTER TABLE cc ADD z INT, ALGORITHM=INSTANT");
        List<LogRecord> found = since(before);
        assertEquals(2, found.size());
        assertThrows(Divergence.class, () -> applier.write(found.get(0)), "a new key may be on the virtual column");
        applier.writer().abandon();
        String rows = "SELECT id, g, h FROM v.cc ORDER BY id";
        assertEquals(master.rows(rows), satellite.rows(rows));
    }

    // --- rows that are numbered -----------------------------------------------------------------------------------

    /** The rows stand in another order on the satellite than on the master. */
    private static LogRecord numbered(String table, String key, String alter) throws Exception {
        both("CREATE TABLE " + table + " (a INT NOT NULL" + key + ", id INT NOT NULL DEFAULT 0)");
        GtidSet before = executed();
        master.run("INSERT INTO " + table + " (a) VALUES (3)", "INSERT INTO " + table + " (a) VALUES (1), (2)", alter);
        satellite.run("INSERT INTO " + table + " (a) VALUES (2), (1), (3)");
        List<LogRecord> found = since(before);
        assertEquals(1, found.size());
        return found.get(0);
    }

    @Test
    void rowsThatHaveAKeyAreNumberedInItsOrder() throws Exception {
        String[] alters = {"ALTER TABLE v.# MODIFY id INT AUTO_INCREMENT, ADD KEY (id)", "ALTER TABLE v.# ADD x SERIAL",
            "ALTER TABLE `v`.`#` DROP PRIMARY KEY, ADD x INT AUTO_INCREMENT PRIMARY KEY"};
        for (int i = 0; i < alters.length; i++) {
            String table = "k" + i;
            applier.write(numbered("v." + table, " PRIMARY KEY", alters[i].replace("#", table)));
            String rows = "SELECT * FROM v." + table + " ORDER BY a";
            assertEquals(master.rows(rows), satellite.rows(rows), alters[i]);
        }
    }

    @Test
    void othersAreInAnOrderThatOnlyTheMasterHas() throws Exception {
        String[] alters = {"ALTER TABLE v.# MODIFY id INT AUTO_INCREMENT, ADD KEY (id)", "ALTER TABLE v.# ADD x SERIAL",
            "ALTER TABLE v.# ADD x INT AUTO_INCREMENT PRIMARY KEY"};
        for (int i = 0; i < alters.length; i++) {
            LogRecord record = numbered("v.o" + i, "", alters[i].replace("#", "o" + i));
            Divergence divergence = assertThrows(Divergence.class, () -> applier.write(record));
            assertEquals(Divergence.Reason.REBUILD_RECORD, divergence.reason());
            applier.writer().abandon();
        }
    }
}
