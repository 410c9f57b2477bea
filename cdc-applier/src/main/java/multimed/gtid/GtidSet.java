package multimed.gtid;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import multimed.gtid.Gtid.Source;

/**
 * In: MySQL's text form of a GTID set, tags included (white space and line breaks allowed). Out: an immutable set with the
 * usual operations, printed as MySQL prints it, without line breaks. Must never: accept text that MySQL would refuse.
 */
public final class GtidSet {
    public static final GtidSet EMPTY = new GtidSet(new TreeMap<>());

    private static final Pattern UUID_TEXT = Pattern.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");

    private final SortedMap<Source, Intervals> sources;

    private GtidSet(SortedMap<Source, Intervals> sources) {
        this.sources = Collections.unmodifiableSortedMap(sources);
    }

    /** Parses {@code uuid:1-5:7:tag:1-3, uuid:…}; throws IllegalArgumentException for anything else. */
    public static GtidSet parse(String text) {
        TreeMap<Source, Intervals> sources = new TreeMap<>();
        for (String part : text.split(",")) {
            if (!part.isBlank()) {
                parseServer(part.strip(), sources);
            }
        }
        return new GtidSet(sources);
    }

    private static void parseServer(String part, Map<Source, Intervals> sources) {
        String[] fields = part.split(":", -1);
        UUID uuid = uuid(fields[0].strip());
        Source source = new Source(uuid, "");
        for (int i = 1; i < fields.length; i++) {
            String field = fields[i].strip();
            if (!field.isEmpty() && !Character.isDigit(field.charAt(0))) {
                source = new Source(uuid, field);
            } else {
                sources.merge(source, interval(field), Intervals::union);
            }
        }
        if (fields.length < 2 || !Character.isDigit(fields[fields.length - 1].strip().charAt(0))) {
            throw new IllegalArgumentException("not a GTID set: " + part);
        }
    }

    private static Intervals interval(String text) {
        int dash = text.indexOf('-');
        if (dash < 0) {
            return Intervals.of(number(text), number(text));
        }
        return Intervals.of(number(text.substring(0, dash).strip()), number(text.substring(dash + 1).strip()));
    }

    static UUID uuid(String text) {
        if (!UUID_TEXT.matcher(text).matches()) {
            throw new IllegalArgumentException("not a UUID: " + text);
        }
        return UUID.fromString(text);
    }

    static long number(String text) {
        if (text.isEmpty() || text.length() > 19 || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new IllegalArgumentException("not a GTID number: " + text);
        }
        return Long.parseLong(text);
    }

    public boolean isEmpty() {
        return sources.isEmpty();
    }

    /** Whether it has a GTID of this source. */
    public boolean has(Source source) {
        return sources.containsKey(source);
    }

    public boolean hasMarks() {
        return sources.keySet().stream().anyMatch(Source::isOfMarks);
    }

    /** Whether it has marks that satellites got ahead of the log in another boot than this one's. */
    public boolean hasMarksAheadBeside(Source ahead) {
        return sources.keySet().stream().anyMatch(each -> each.isOfMarksAhead() && !each.equals(ahead));
    }

    /** The highest number under this source; 0 if there is none. */
    public long last(Source source) {
        return of(source).last();
    }

    /** Number of GTIDs in the set. */
    public long count() {
        return sources.values().stream().mapToLong(Intervals::count).sum();
    }

    public boolean contains(Gtid gtid) {
        return of(gtid.source()).contains(gtid.number(), gtid.number());
    }

    /** True if every GTID of {@code other} is in this set. */
    public boolean containsAll(GtidSet other) {
        return other.sources.entrySet().stream().allMatch(e -> of(e.getKey()).containsAll(e.getValue()));
    }

    public GtidSet add(Gtid gtid) {
        TreeMap<Source, Intervals> grown = new TreeMap<>(sources);
        grown.put(gtid.source(), of(gtid.source()).add(gtid.number()));
        return new GtidSet(grown);
    }

    public GtidSet union(GtidSet other) {
        TreeMap<Source, Intervals> grown = new TreeMap<>(sources);
        other.sources.forEach((source, intervals) -> grown.merge(source, intervals, Intervals::union));
        return new GtidSet(grown);
    }

    /** The GTIDs of this set that are not in {@code other}. */
    public GtidSet minus(GtidSet other) {
        TreeMap<Source, Intervals> rest = new TreeMap<>();
        sources.forEach((source, intervals) -> {
            Intervals left = intervals.minus(other.of(source));
            if (!left.isEmpty()) {
                rest.put(source, left);
            }
        });
        return new GtidSet(rest);
    }

    private Intervals of(Source source) {
        return sources.getOrDefault(source, Intervals.NONE);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof GtidSet that && sources.equals(that.sources);
    }

    @Override
    public int hashCode() {
        return sources.hashCode();
    }

    @Override
    public String toString() {
        TreeMap<String, String> byServer = new TreeMap<>();
        sources.forEach((source, intervals) -> {
            String tag = source.tag().isEmpty() ? "" : source.tag() + ":";
            byServer.merge(source.uuid().toString(), tag + intervals, (a, b) -> a + ":" + b);
        });
        return byServer.entrySet().stream().map(e -> e.getKey() + ":" + e.getValue()).collect(Collectors.joining(","));
    }
}
