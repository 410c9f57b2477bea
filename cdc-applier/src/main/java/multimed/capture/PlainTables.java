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
 * In: a table map. Out: whether a server surely computes nothing when it writes the table's rows: no generated columns, expressions in
 * keys, or CHECKs; the binlog does not say. Asks the master once per table id, which changes with every DDL on the table. Must
 * never: call a table plain that the master does not describe.
 *
 * <p>The answer can be newer than the table map. A table that is not plain goes raw, under the settings of its transaction, which is exact in
 * any case. If it was not then and is now, the applier can't insert the rows and its satellite clones again, or what the rows were judged by
 * or indexed by is gone soon. Unless the table has only changed its name meanwhile: then another one was asked about (docs/replication.md).
 */
final class PlainTables implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(PlainTables.class);
    private static final int CACHED_TABLES = 20_000;

    private final MasterAccess access;
    private final Map<Long, Boolean> plain = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Boolean> eldest) {
            return size() > CACHED_TABLES;
        }
    };
    private Master master;

    PlainTables(MasterAccess access) {
        this.access = access;
    }

    /** False also if the master can't be asked now. */
    boolean isPlain(TableMap table) {
        Boolean known = plain.get(table.tableId());
        if (known != null) {
            return known;
        }
        try {
            if (master == null) {
                master = new Master(access);
            }
            boolean answer = master.isPlain(table.database(), table.table(), table.columns().size());
            plain.put(table.tableId(), answer);
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
