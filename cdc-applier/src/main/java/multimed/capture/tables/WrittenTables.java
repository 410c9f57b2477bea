package multimed.capture.tables;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import multimed.binlog.TableName;

/**
 * What a transaction wrote.
 *
 * @param all it counts as having written everything
 * @param keepsNames with all: every name that is still there stands for the same table, view or function
 * @param tables what it wrote; with all but without keepsNames: the names that may stand for something else now, none: any
 */
public record WrittenTables(boolean all, boolean keepsNames, List<TableName> tables) {
    /** More of them are not named. */
    public static final int MOST = 1000;

    public static final WrittenTables ALL = new WrittenTables(true, false, List.of());
    /** Everything, and no view or function is another one. */
    public static final WrittenTables ALL_ROWS = new WrittenTables(true, true, List.of());
    private static final int MOST_REDEFINED = 100;

    public static final WrittenTables NONE = new WrittenTables(false, true, List.of());

    /** Everything, and these names stand for something else; none: any may. */
    public static WrittenTables redefining(Collection<TableName> names) {
        List<TableName> each = List.copyOf(new LinkedHashSet<>(names));
        return each.size() > MOST_REDEFINED ? ALL : new WrittenTables(true, false, each);
    }

    /** Each table once, in the order given. */
    public static WrittenTables of(Collection<TableName> tables) {
        List<TableName> each = List.copyOf(new LinkedHashSet<>(tables));
        return each.size() > MOST ? ALL_ROWS : new WrittenTables(false, true, each);
    }
}
