package multimed.capture;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.QueryEvent;
import multimed.binlog.StatusVariables;

/**
 * In: the events of a transaction, whose BEGIN carries the session settings of its first statement. Out: those settings that matter
 * when its row events are replayed, because MySQL then computes stored generated columns again. Settings that every applier's session
 * has are left out.
 */
final class RowSession {
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
        long locale = status.numbers().getOrDefault("lc_time_names", 0L);
        if (locale != 0) {
            settings.put("lc_time_names", Long.toString(locale));
        }
        return settings;
    }
}
