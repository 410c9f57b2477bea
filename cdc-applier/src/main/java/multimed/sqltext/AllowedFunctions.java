package multimed.sqltext;

import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * In: the tokens of expressions, and of what stands around them. Out: what of them may depend on more than the row and on settings that the
 * binlog has with a statement ({@code div_precision_increment}, {@code default_week_format} and {@code block_encryption_mode} are not among
 * them). Pure. Must never: call a function certain that is not on the list.
 */
final class AllowedFunctions {
    /** Functions that depend on their arguments alone, and on sql_mode, time zone, timestamp, lc_time_names, character sets and collations. */
    private static final Set<String> FUNCTIONS = set(
            """
                    ABS ACOS ADDDATE ADDTIME ASCII ASIN ATAN ATAN2 BIN BIN_TO_UUID BIT_COUNT BIT_LENGTH CAST CEIL CEILING CHAR CHARACTER_LENGTH
                    CHAR_LENGTH COALESCE CONCAT CONCAT_WS CONV CONVERT COS COT CRC32 CURDATE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURTIME DATE
                    DATEDIFF DATE_ADD DATE_FORMAT DATE_SUB DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DEGREES ELT EXP EXPORT_SET EXTRACT FIELD
                    FIND_IN_SET FLOOR FORMAT FROM_BASE64 FROM_DAYS FROM_UNIXTIME GREATEST HEX HOUR IF IFNULL INET6_ATON INET6_NTOA INET_ATON INET_NTOA
                    INSERT INSTR INTERVAL ISNULL IS_IPV4 IS_IPV4_COMPAT IS_IPV4_MAPPED IS_IPV6 IS_UUID JSON_ARRAY JSON_ARRAY_APPEND JSON_ARRAY_INSERT
                    JSON_CONTAINS JSON_CONTAINS_PATH JSON_DEPTH JSON_EXTRACT JSON_INSERT JSON_KEYS JSON_LENGTH JSON_MERGE_PATCH JSON_MERGE_PRESERVE
                    JSON_OBJECT JSON_OVERLAPS JSON_PRETTY JSON_QUOTE JSON_REMOVE JSON_REPLACE JSON_SEARCH JSON_SET JSON_TYPE JSON_UNQUOTE JSON_VALID
                    JSON_VALUE LAST_DAY LCASE LEAST LEFT LENGTH LN LOCALTIME LOCALTIMESTAMP LOCATE LOG LOG10 LOG2 LOWER LPAD LTRIM MAKEDATE MAKETIME
                    MAKE_SET MD5 MICROSECOND MID MINUTE MOD MONTH MONTHNAME NOW NULLIF OCT OCTET_LENGTH ORD PERIOD_ADD PERIOD_DIFF PI POINT POSITION POW
                    POWER QUARTER QUOTE RADIANS REGEXP_INSTR REGEXP_LIKE REGEXP_REPLACE REGEXP_SUBSTR REPEAT REPLACE REVERSE RIGHT ROUND RPAD RTRIM
                    SECOND SEC_TO_TIME SHA SHA1 SHA2 SIGN SIN SOUNDEX SPACE SQRT STRCMP STR_TO_DATE ST_ASBINARY ST_ASGEOJSON ST_ASTEXT ST_ASWKB ST_ASWKT
                    ST_GEOMFROMTEXT ST_GEOMFROMWKB ST_LATITUDE ST_LONGITUDE ST_POINTFROMTEXT ST_SRID ST_X ST_Y SUBDATE SUBSTR SUBSTRING SUBSTRING_INDEX
                    SUBTIME TAN TIME TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TIME_FORMAT TIME_TO_SEC TO_BASE64 TO_DAYS TO_SECONDS TRIM TRUNCATE
                    UCASE UNHEX UNIX_TIMESTAMP UPPER UTC_DATE UTC_TIME UTC_TIMESTAMP UUID_TO_BIN WEEKDAY WEEKOFYEAR YEAR YEARWEEK
                    """);

    /** Other words of the grammar that may stand before a parenthesis. */
    private static final Set<String> GRAMMAR = set(
            """
                    ADD ALWAYS AND AS BETWEEN BIGINT BINARY BIT BLOB BTREE BY CASE CHARACTER CHECK COLUMN COLUMNS DATETIME DEC DECIMAL DEFAULT DIV DOUBLE
                    ELSE ENUM ESCAPE FIXED FLOAT FLOAT4 FLOAT8 FULLTEXT HASH IN INDEX INT INTO INT1 INT2 INT3 INT4 INT8 INTEGER KEY LIKE LIST MEDIUMINT
                    MIDDLEINT NCHAR NOT NUMERIC NVARCHAR OF OR PARTITION PRECISION RANGE REAL REGEXP RLIKE SET SMALLINT SPATIAL SUBPARTITION TEXT THAN
                    THEN TINYINT UNIQUE USING VALUES VARBINARY VARCHAR VARCHARACTER VARYING VECTOR WHEN XOR
                    """);

    /** What stands behind these and before a parenthesis is the name of a table, a view, an index or a partition. */
    private static final Set<String> BEFORE_NAMES = set(
            "INDEX KEY UNIQUE FULLTEXT SPATIAL REFERENCES PARTITION SUBPARTITION ON TO TABLE VIEW EXISTS");

    /** Functions without parentheses whose value the binlog does not have. */
    private static final Set<String> WITHOUT_PARENTHESES = set("CURRENT_USER");

    private AllowedFunctions() {}

    static Set<String> set(String words) {
        return Stream.of(words.strip().split("\\s+")).collect(Collectors.toUnmodifiableSet());
    }

    /** The first thing that is not certain; null: all is. */
    static String doubt(SqlTokens tokens) {
        for (int i = 0; i < tokens.size(); i++) {
            String text = tokens.text(i);
            boolean called = tokens.word(i).equals(text) && tokens.is(i + 1, "(") && !isName(tokens, i - 1);
            boolean certain = called
                    ? FUNCTIONS.contains(text) && !isWeekUnit(tokens, i) || GRAMMAR.contains(text) || text.matches("[0-9]+")
                            || isWeekWithMode(tokens, i)
                    : !text.equals("/") && !text.equals("@") && !WITHOUT_PARENTHESES.contains(text);
            // A function's name may stand in backticks.
            if (!certain && (called || !text.isEmpty())) {
                return text.isEmpty() ? "a name in backticks before a parenthesis" : text;
            }
        }
        return null;
    }

    /** EXTRACT(WEEK FROM d) has the mode of default_week_format, too, and no definition keeps it. */
    private static boolean isWeekUnit(SqlTokens tokens, int index) {
        return tokens.word(index).equals("EXTRACT") && tokens.word(index + 2).equals("WEEK");
    }

    /** Without a mode it has that of default_week_format. */
    static boolean hasWeekWithoutMode(SqlTokens tokens) {
        return IntStream.range(0, tokens.size()).anyMatch(i -> isWeek(tokens, i) && !isWeekWithMode(tokens, i));
    }

    private static boolean isWeek(SqlTokens tokens, int index) {
        return tokens.word(index).equals("WEEK") && tokens.is(index + 1, "(") && !isName(tokens, index - 1);
    }

    private static boolean isWeekWithMode(SqlTokens tokens, int index) {
        int end = tokens.closing(index + 1);
        return isWeek(tokens, index) && tokens.comma(index + 2, end) < end;
    }

    private static boolean isName(SqlTokens tokens, int before) {
        return tokens.text(before).equals(".") || BEFORE_NAMES.contains(tokens.word(before));
    }
}
