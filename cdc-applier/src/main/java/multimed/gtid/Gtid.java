package multimed.gtid;

import java.util.Locale;
import java.util.UUID;

/** One transaction's GTID: {@code uuid:number}, or {@code uuid:tag:number} with a tag of MySQL 8.3 and later. */
public record Gtid(Source source, long number) {

    /** What numbers are counted under: a server's UUID and a tag, the empty tag included. Ordered as MySQL prints sets. */
    public record Source(UUID uuid, String tag) implements Comparable<Source> {
        public Source {
            tag = tag.toLowerCase(Locale.ROOT);
            if (!tag.isEmpty() && !tag.matches("[a-z_][a-z0-9_]{0,31}")) {
                throw new IllegalArgumentException("not a GTID tag: " + tag);
            }
        }

        /** Of capture's marks: a mark says that a boot of the master continues the history that lies before it. */
        public boolean isOfMarks() {
            return uuid.getMostSignificantBits() == 0;
        }

        /** Of the marks by which capture says that satellites get ahead of the log. */
        public boolean isOfMarksAhead() {
            return uuid.getMostSignificantBits() == 2;
        }

        @Override
        public int compareTo(Source other) {
            int byUuid = uuid.toString().compareTo(other.uuid.toString());
            return byUuid != 0 ? byUuid : tag.compareTo(other.tag);
        }

        @Override
        public String toString() {
            return tag.isEmpty() ? uuid.toString() : uuid + ":" + tag;
        }
    }

    public Gtid {
        if (number < 1 || number == Long.MAX_VALUE) {
            throw new IllegalArgumentException("not a GTID number: " + number);
        }
    }

    public static Gtid of(UUID uuid, String tag, long number) {
        return new Gtid(new Source(uuid, tag), number);
    }

    /** The source that was parsed last: nearly all GTIDs that come one after the other have the same. */
    private record Parsed(String text, Source source) {}

    private static volatile Parsed last;

    /** Throws IllegalArgumentException for anything else than one GTID. */
    public static Gtid parse(String text) {
        Parsed known = last;
        int colon = text.lastIndexOf(':');
        if (known != null && colon == known.text().length() && text.startsWith(known.text())) {
            return new Gtid(known.source(), GtidSet.number(text.substring(colon + 1).strip()));
        }
        Gtid gtid = parseWhole(text);
        last = new Parsed(text.substring(0, colon), gtid.source());
        return gtid;
    }

    private static Gtid parseWhole(String text) {
        String[] parts = text.strip().split(":", -1);
        if (parts.length != 2 && parts.length != 3) {
            throw new IllegalArgumentException("not a GTID: " + text);
        }
        String tag = parts.length == 3 ? parts[1].strip() : "";
        return of(GtidSet.uuid(parts[0].strip()), tag, GtidSet.number(parts[parts.length - 1].strip()));
    }

    @Override
    public String toString() {
        return source + ":" + number;
    }
}
