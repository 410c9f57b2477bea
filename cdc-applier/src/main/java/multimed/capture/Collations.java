package multimed.capture;

import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The master's collations by their numbers, as they stand in binlog events. */
record Collations(Map<Integer, Collation> byNumber) {
    static final int BINARY = 63;
    private static final Set<String> EXACT_IN_UTF8 = Set.of("utf8mb4", "utf8mb3", "utf8", "ascii");

    record Collation(String name, String charset) {}

    Optional<Collation> get(long number) {
        return Optional.ofNullable(byNumber.get((int) number));
    }

    /** Whether every text of this collation's character set comes through UTF-8 byte for byte. */
    boolean exactInUtf8(long number) {
        return get(number).filter(c -> EXACT_IN_UTF8.contains(c.charset())).isPresent();
    }
}
