package multimed.master;

import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The master's collations by their numbers, as they stand in binlog events. */
public record Collations(Map<Integer, Collation> byNumber) {
    public static final int BINARY = 63;
    private static final Set<String> EXACT_IN_UTF8 = Set.of("utf8mb4", "utf8mb3", "utf8", "ascii");

    public record Collation(String name, String charset) {}

    public Optional<Collation> get(long number) {
        return Optional.ofNullable(byNumber.get((int) number));
    }

    public boolean isAscii(long number) {
        return get(number).filter(c -> c.charset().equals("ascii")).isPresent();
    }

    /** Whether every text of this collation's character set comes through UTF-8 byte for byte. */
    public boolean exactInUtf8(long number) {
        return get(number).filter(c -> EXACT_IN_UTF8.contains(c.charset())).isPresent();
    }
}
