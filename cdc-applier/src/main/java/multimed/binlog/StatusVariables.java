package multimed.binlog;

import java.util.Map;
import java.util.TreeMap;

/**
 * In: the status variables of a query event (code byte, value, …, in rising order of code). Out: the session settings that the
 * statement was issued under. Must never: guess the length of a variable it does not know; it stops there and says so.
 */
public final class StatusVariables {
    private static final int FLAGS2 = 0;
    private static final int SQL_MODE = 1;
    private static final int CATALOG = 2;
    private static final int AUTO_INCREMENT = 3;
    private static final int CHARSET = 4;
    private static final int TIME_ZONE = 5;
    private static final int CATALOG_NZ = 6;
    private static final int LC_TIME_NAMES = 7;
    private static final int CHARSET_DATABASE = 8;
    private static final int TABLE_MAP_FOR_UPDATE = 9;
    private static final int MASTER_DATA_WRITTEN = 10;
    private static final int INVOKER = 11;
    private static final int UPDATED_DB_NAMES = 12;
    private static final int MICROSECONDS = 13;
    private static final int EXPLICIT_DEFAULTS = 16;
    private static final int DDL_XID = 17;
    private static final int UTF8MB4_COLLATION = 18;
    private static final int REQUIRE_PRIMARY_KEY = 19;
    private static final int TABLE_ENCRYPTION = 20;
    private static final int TOO_MANY_DBS = 254;

    private static final int AUTO_IS_NULL = 1 << 14;
    private static final int NO_FOREIGN_KEY_CHECKS = 1 << 26;
    private static final int RELAXED_UNIQUE_CHECKS = 1 << 27;

    /** As the server knows it, in UTF-8. */
    public record Account(String user, String host) {}

    private final Map<String, Long> numbers = new TreeMap<>();
    private int clientCharset;
    private String timeZone = "";
    private Account invoker;
    private boolean atomic;
    private int microseconds;
    private int unknown = -1;

    private StatusVariables() {}

    public static StatusVariables parse(ByteCursor in) {
        StatusVariables status = new StatusVariables();
        while (in.remaining() > 0 && status.unknown < 0) {
            status.variable(in.u8(), in);
        }
        return status;
    }

    private void variable(int code, ByteCursor in) {
        switch (code) {
            case FLAGS2 -> flags((int) in.u32());
            case SQL_MODE -> numbers.put("sql_mode", in.unsigned(8));
            case CATALOG -> in.skip(in.u8() + 1);
            case AUTO_INCREMENT -> {
                numbers.put("auto_increment_increment", in.unsigned(2));
                numbers.put("auto_increment_offset", in.unsigned(2));
            }
            case CHARSET -> {
                clientCharset = in.u16();
                numbers.put("collation_connection", in.unsigned(2));
                numbers.put("collation_server", in.unsigned(2));
            }
            case TIME_ZONE -> timeZone = in.text(in.u8());
            case CATALOG_NZ -> in.skip(in.u8());
            case LC_TIME_NAMES -> numbers.put("lc_time_names", in.unsigned(2));
            case CHARSET_DATABASE -> numbers.put("collation_database", in.unsigned(2));
            case TABLE_MAP_FOR_UPDATE -> in.skip(8);
            case MASTER_DATA_WRITTEN -> in.skip(4);
            case INVOKER -> invoker = new Account(in.text(in.u8()), in.text(in.u8()));
            case UPDATED_DB_NAMES -> skipDatabases(in);
            case MICROSECONDS -> microseconds = (int) in.unsigned(3);
            case EXPLICIT_DEFAULTS -> numbers.put("explicit_defaults_for_timestamp", in.unsigned(1));
            case DDL_XID -> {
                atomic = true;
                in.skip(8);
            }
            case UTF8MB4_COLLATION -> numbers.put("default_collation_for_utf8mb4", in.unsigned(2));
            case REQUIRE_PRIMARY_KEY -> numbers.put("sql_require_primary_key", in.unsigned(1));
            case TABLE_ENCRYPTION -> numbers.put("default_table_encryption", in.unsigned(1));
            default -> unknown = code;
        }
    }

    private void flags(int flags) {
        numbers.put("sql_auto_is_null", (flags & AUTO_IS_NULL) != 0 ? 1L : 0L);
        numbers.put("foreign_key_checks", (flags & NO_FOREIGN_KEY_CHECKS) != 0 ? 0L : 1L);
        numbers.put("unique_checks", (flags & RELAXED_UNIQUE_CHECKS) != 0 ? 0L : 1L);
    }

    private static void skipDatabases(ByteCursor in) {
        int databases = in.u8();
        for (int i = 0; databases != TOO_MANY_DBS && i < databases; i++) {
            in.zeroTerminated();
        }
    }

    /** Numeric session variables by name; collations by number. */
    public Map<String, Long> numbers() {
        return numbers;
    }

    /** Collation number of character_set_client; 0 if the event does not say. */
    public int clientCharset() {
        return clientCharset;
    }

    /** Empty if the statement's result does not depend on it. */
    public String timeZone() {
        return timeZone;
    }

    /** Who CURRENT_USER was; null if the statement does not need it. */
    public Account invoker() {
        return invoker;
    }

    /** Whether the statement changed tables or other objects that last, and was committed in the storage engine with that. */
    public boolean atomic() {
        return atomic;
    }

    public int microseconds() {
        return microseconds;
    }

    /** Code of the variable at which parsing stopped, or -1. */
    public int unknownCode() {
        return unknown;
    }
}
