package multimed.capture;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.QueryEvent;
import multimed.binlog.StatusVariables;

/**
 * In: the events of a transaction, whose BEGIN carries the session settings of its first statement. Out: those settings that matter
 * when its row events are replayed, because MySQL then computes generated columns and expressions in keys again. What every applier's session
 * has is left out.
 */
final class RowSession {
    /** Those that expressions depend on; collations by number. */
    private static final Set<String> NAMES = Set.of("sql_mode", "collation_connection", "default_collation_for_utf8mb4", "lc_time_names");

    private RowSession() {}

    static Map<String, String> of(List<BinlogEvent> events) {
        return events.stream().filter(e -> e.type() == EventType.QUERY).findFirst().map(RowSession::of).orElse(Map.of());
    }

    static Map<String, String> of(BinlogEvent begin) {
        StatusVariables status = QueryEvent.parse(begin).status();
        Map<String, String> settings = new TreeMap<>();
        String zone = status.timeZone();
        if (!zone.isEmpty() && !zone.equals("SYSTEM") && !zone.equals("UTC") && !zone.equals("+00:00")) {
            settings.put("time_zone", zone);
        }
        status.numbers().forEach((name, value) -> {
            if (NAMES.contains(name)) {
                settings.put(name, Long.toUnsignedString(value));
            }
        });
        return settings;
    }
}
