package multimed.capture;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.QueryEvent;
import multimed.binlog.TableMap;
import multimed.binlog.TableName;
import multimed.capture.tables.WrittenTables;
import multimed.sqltext.DefiningStatements;
import multimed.sqltext.Redefinition;

/**
 * In: the events of one transaction, one by one. Out: the tables that it wrote. Pure; holds a bounded number of names, and no events.
 * Must never: leave out a table. Whatever is not understood counts as having written everything.
 *
 * <pre>
 * BEGIN, table maps and row events, XID or COMMIT   the tables of its table maps
 * BEGIN, nothing, XID or COMMIT                     none
 * XA START … XA PREPARE, XA ROLLBACK                none: nothing is committed
 * XA START … XA COMMIT … ONE PHASE                  the tables of its table maps
 * XA COMMIT                                         those that were prepared; everything if they are not in memory
 * a table of the server's own                       everything: statements read these without naming them
 * any other                                         everything
 * </pre>
 */
final class TransactionTables {
    private enum Kind { CHANGES, XA_CHANGES, XA_COMMIT, XA_ROLLBACK }

    private final Map<Long, TableName> tables = new LinkedHashMap<>();
    private Kind kind;
    /** Of an XA transaction. */
    private String xid;
    private boolean onePhase;
    private boolean everything;
    /** What of everything is not understood may have made or renamed a view or function. */
    private boolean redefines;
    private final List<TableName> redefined = new ArrayList<>();
    /** They may be other names, too. */
    private boolean redefinesAny;

    /** @param last whether it ends the transaction */
    void add(BinlogEvent event, boolean last) {
        try {
            boolean understood = understood(event, last);
            everything = everything || !understood;
            if (!understood && !keepsNames(event)) {
                redefines(event);
            }
        } catch (RuntimeException | StackOverflowError e) {
            everything = true;
            redefines = true;
            redefinesAny = true;
        }
        if (everything) {
            tables.clear();
        }
    }

    private void redefines(BinlogEvent event) {
        redefines = true;
        int before = redefined.size();
        if (event.type() == EventType.QUERY) {
            QueryEvent query = QueryEvent.parse(event);
            Redefinition.names(query.ascii())
                    .forEach(n -> redefined.add(new TableName(n.schema() == null ? query.database() : n.schema(), n.name())));
        }
        redefinesAny = redefinesAny || redefined.size() == before;
    }

    private static boolean keepsNames(BinlogEvent event) {
        int type = event.type();
        if (type == EventType.QUERY) {
            return DefiningStatements.keepNames(QueryEvent.parse(event).ascii());
        }
        return EventType.isChange(type) || type == EventType.XID || type == EventType.INTVAR || type == EventType.RAND
                || type == EventType.USER_VAR;
    }

    private boolean understood(BinlogEvent event, boolean last) {
        int type = event.type();
        if (EventType.isChange(type)) {
            boolean expected = kind == Kind.CHANGES || kind == Kind.XA_CHANGES;
            return expected && (type == EventType.TABLE_MAP ? names(event) : tables.containsKey(TableMap.tableId(event)));
        }
        if (type == EventType.XA_PREPARE) {
            onePhase = event.body().u8() != 0;
            return kind == Kind.XA_CHANGES;
        }
        if (type == EventType.QUERY) {
            return kind == null ? begins(QueryEvent.parse(event)) : expected(event, last);
        }
        return type == EventType.XID ? kind == Kind.CHANGES : type == EventType.ROWS_QUERY || event.ignorable();
    }

    private boolean names(BinlogEvent tableMap) {
        long id = TableMap.tableId(tableMap);
        if (tables.containsKey(id)) {
            return true;
        }
        TableName name = TableMap.name(tableMap);
        tables.put(id, name);
        return tables.size() <= WrittenTables.MOST && !Classifier.isSystem(name.schema());
    }

    private boolean begins(QueryEvent query) {
        String text = query.ascii();
        if (text.equals("BEGIN")) {
            kind = Kind.CHANGES;
        } else if (text.startsWith("XA START ")) {
            kind = Kind.XA_CHANGES;
        } else if (text.startsWith("XA COMMIT ")) {
            kind = Kind.XA_COMMIT;
        } else if (text.startsWith("XA ROLLBACK ")) {
            kind = Kind.XA_ROLLBACK;
        }
        if (kind != null && kind != Kind.CHANGES) {
            xid = Statements.xid(query);
        }
        return kind != null;
    }

    private boolean expected(BinlogEvent query, boolean last) {
        String text = QueryEvent.parse(query).ascii();
        if (last) {
            return kind == Kind.CHANGES && text.equalsIgnoreCase("COMMIT");
        }
        return Classifier.isSavepoint(query) || kind == Kind.XA_CHANGES && text.startsWith("XA END ");
    }

    /**
     * After the last event.
     *
     * @param prepared the tables of prepared XA transactions; this one joins or leaves them
     */
    WrittenTables written(PreparedTables prepared) {
        WrittenTables ended = xid == null ? WrittenTables.NONE : prepared.remove(xid);
        if (everything || kind == null) {
            boolean some = redefines && !redefinesAny;
            return some ? WrittenTables.redefining(redefined) : everything && !redefines ? WrittenTables.ALL_ROWS : WrittenTables.ALL;
        }
        WrittenTables changed = WrittenTables.of(tables.values());
        return switch (kind) {
            case CHANGES -> changed;
            case XA_CHANGES -> onePhase ? changed : prepared(changed, prepared);
            case XA_ROLLBACK -> WrittenTables.NONE;
            case XA_COMMIT -> ended;
        };
    }

    private WrittenTables prepared(WrittenTables changed, PreparedTables prepared) {
        prepared.put(xid, changed);
        return WrittenTables.NONE;
    }
}
