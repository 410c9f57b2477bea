package multimed.capture;

import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import multimed.binlog.TableMap;
import multimed.master.Master;
import multimed.master.MasterAccess;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: a table map. Out: whether the table surely has no generated columns; neither the binlog nor Debezium says. Asks the master
 * once per table id, which changes with every DDL on the table. Must never: say no for a table that the master does not describe.
 *
 * <p>The answer can be newer than the table map. A table that is said to have generated columns goes raw, which is exact in any
 * case. If it had some then and has none now, the applier can't insert the rows and its satellite clones again: never wrong data.
 */
final class GeneratedColumns implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(GeneratedColumns.class);
    private static final int CACHED_TABLES = 20_000;

    private final MasterAccess access;
    private final Map<Long, Boolean> none = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Boolean> eldest) {
            return size() > CACHED_TABLES;
        }
    };
    private Master master;

    GeneratedColumns(MasterAccess access) {
        this.access = access;
    }

    /** False also if the master can't be asked now. */
    boolean surelyNone(TableMap table) {
        Boolean known = none.get(table.tableId());
        if (known != null) {
            return known;
        }
        try {
            if (master == null) {
                master = new Master(access);
            }
            boolean answer = master.columns(table.database(), table.table()).equals(Master.Columns.plain(table.columns().size()));
            none.put(table.tableId(), answer);
            return answer;
        } catch (SQLException e) {
            log.warn("can't ask the master for columns table={} error=\"{}\"", table.fullName(), e.getMessage());
            close();
            return false;
        }
    }

    @Override
    public void close() {
        if (master != null) {
            master.close();
            master = null;
        }
    }
}
