package multimed.capture.comparison;

import java.util.List;

/**
 * A table of the master's.
 *
 * @param rows as the server estimates
 * @param rowBytes of an average row, as the server estimates
 * @param key the parts of its primary key; empty without one
 */
record ComparedTable(String schema, String name, long rows, long rowBytes, List<KeyPart> key) {
    /** How large a part of the pass it is. */
    long weight() {
        return Math.max(1, rows);
    }

    String fullName() {
        return schema + "." + name;
    }

    /** Whether its rows can be read in the key's order, a piece at a time, and the ends of the pieces be written exactly. */
    boolean hasUsableKey() {
        return !key.isEmpty() && key.stream().allMatch(KeyPart::isUsable);
    }

    /** `schema`.`name`. */
    String quoted() {
        return quoted(schema) + "." + quoted(name);
    }

    static String quoted(String name) {
        return "`" + name.replace("`", "``") + "`";
    }
}
