package multimed.capture;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.MalformedEventException;
import multimed.binlog.QueryEvent;
import multimed.binlog.RepeatedDeletes;
import multimed.binlog.RowImages;
import multimed.binlog.RowsEvent;
import multimed.binlog.TableMap;
import multimed.capture.Verdict.AsEmpty;
import multimed.capture.Verdict.AsRaw;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsRows;
import multimed.capture.Verdict.AsXaPrepare;
import multimed.capture.debezium.ColumnKinds;
import multimed.gtid.Gtid;
import multimed.master.Collations;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: a whole transaction. Out: how it goes into the log. Pure. Must never: let anything through as rows or as a statement that
 * is not understood completely; changes that are in doubt go raw, and what can't be replayed is a rebuild.
 *
 * <pre>
 * one statement alone                         statement, see {@link Statements}
 * BEGIN, nothing, COMMIT                      empty
 * BEGIN, table maps and row events, XID       rows, or raw
 * BEGIN, CREATE TABLE … START TRANSACTION, row events, XID
 *                                             the statement, then raw: CREATE TABLE … SELECT
 * BEGIN with another statement inside         rebuild (statement format)
 * XA START … XA PREPARE                       empty: nothing is committed yet
 * XA COMMIT                                   raw, with the rows that came with XA PREPARE
 * incident, anything else                     rebuild
 * any exception while it is read              rebuild
 * </pre>
 */
final class Classifier {
    private static final Logger log = LoggerFactory.getLogger(Classifier.class);
    private static final Set<String> SYSTEM_SCHEMAS = Set.of("mysql", "sys", "information_schema", "performance_schema");

    /** Others switch off foreign key or unique checks, as for the children of a cascade. */
    private static final int ORDINARY_FLAGS = RowsEvent.STMT_END | RowsEvent.COMPLETE_ROWS | RowsEvent.SQL_FOREIGN_KEYS;

    /**
     * More changes than these go raw. Debezium, the record, and the applier cost about as much for each row as the server does, while raw
     * events pass as they are; but for few rows the server takes longer over BINLOG than over prepared statements.
     */
    private static final int MOST_ROWS = 100;

    private final ColumnKinds kinds;
    private final Statements statements;

    Classifier(Collations collations, String systemTimeZone) {
        kinds = new ColumnKinds(collations);
        statements = new Statements(collations, systemTimeZone);
    }

    Verdict classify(MasterTransaction transaction) {
        try {
            Verdict verdict = verdict(transaction);
            if (!(verdict instanceof AsRows)) {
                transaction.events().forEach(Classifier::parse);
            }
            return verdict;
        } catch (RuntimeException | StackOverflowError e) {
            return notUnderstood(transaction.start().gtid(), e);
        }
    }

    /** Whatever is thrown here comes from the transaction's bytes, and would come again each time that capture starts. */
    static AsRebuild notUnderstood(Gtid gtid, Throwable e) {
        // Without its message a mistake of our own has no trace elsewhere.
        log.warn("transaction not understood gtid={} exception={}", gtid, e.getClass().getName(), e);
        return new AsRebuild("event not understood: " + (e instanceof MalformedEventException ? e.getMessage() : e.toString()));
    }

    /** Throws if it is not such that its records can be written. */
    static void parse(BinlogEvent event) {
        if (event.type() == EventType.QUERY) {
            QueryEvent.parse(event);
        } else if (event.type() == EventType.TABLE_MAP) {
            TableMap.parse(event);
        } else if (EventType.isRows(event.type())) {
            RowsEvent.parse(event);
        }
    }

    private Verdict verdict(MasterTransaction transaction) {
        List<BinlogEvent> essential = transaction.events().stream().filter(e -> e.type() != EventType.ROWS_QUERY && !e.ignorable())
                .toList();
        BinlogEvent first = essential.get(0);
        if (first.type() != EventType.QUERY) {
            return new AsRebuild("transaction starts with event type " + first.type());
        }
        QueryEvent query = QueryEvent.parse(first);
        if (query.ascii().startsWith("XA START")) {
            return xa(essential);
        }
        if (!query.ascii().equals("BEGIN")) {
            return statements.verdict(query);
        }
        return changes(transaction, essential.subList(1, essential.size() - 1), essential.get(essential.size() - 1));
    }

    /** The last event of an XA group says with its first byte whether it was committed in one phase. */
    private Verdict xa(List<BinlogEvent> events) {
        BinlogEvent last = events.get(events.size() - 1);
        if (last.type() != EventType.XA_PREPARE) {
            return new AsEmpty();
        }
        List<BinlogEvent> changes = events.subList(1, events.size() - 1).stream()
                .filter(e -> e.type() != EventType.QUERY || !QueryEvent.parse(e).ascii().startsWith("XA END")).toList();
        String other = notRowEvent(changes.stream().filter(e -> !isSavepoint(e)).toList());
        if (last.body().u8() == 0) {
            return new AsXaPrepare(Statements.xid(QueryEvent.parse(events.get(0))), other);
        }
        if (other != null) {
            return new AsRebuild(other);
        }
        return changes.isEmpty() ? new AsEmpty() : new AsRaw("xa");
    }

    private Verdict changes(MasterTransaction transaction, List<BinlogEvent> events, BinlogEvent end) {
        List<BinlogEvent> changes = events.stream().filter(e -> !isSavepoint(e)).toList();
        if (changes.isEmpty()) {
            return new AsEmpty();
        }
        if (isOpening(changes.get(0)) && end.type() == EventType.XID && notRowEvent(changes.subList(1, changes.size())) == null) {
            return statements.opening(QueryEvent.parse(changes.get(0)), transaction.formatDescription());
        }
        String other = notRowEvent(changes);
        if (other != null) {
            return new AsRebuild(other);
        }
        if (end.type() == EventType.QUERY && QueryEvent.parse(end).ascii().equalsIgnoreCase("ROLLBACK")) {
            return new AsRebuild("rows before a ROLLBACK");
        }
        return rows(changes);
    }

    static boolean isSavepoint(BinlogEvent event) {
        return event.type() == EventType.QUERY && QueryEvent.parse(event).ascii().toUpperCase(Locale.ROOT).startsWith("SAVEPOINT ");
    }

    boolean isOpening(BinlogEvent event) {
        return event.type() == EventType.QUERY && statements.opensTransaction(QueryEvent.parse(event));
    }

    Verdict opening(Gtid gtid, BinlogEvent event, byte[] formatDescription) {
        try {
            return statements.opening(QueryEvent.parse(event), formatDescription);
        } catch (RuntimeException | StackOverflowError e) {
            return notUnderstood(gtid, e);
        }
    }

    /** What in these events is not a row change, or null. */
    private static String notRowEvent(List<BinlogEvent> events) {
        for (BinlogEvent event : events) {
            if (event.type() == EventType.QUERY) {
                return "statement inside a transaction: " + Statements.shortened(QueryEvent.parse(event));
            }
            if (event.type() != EventType.TABLE_MAP && !EventType.isRows(event.type())) {
                return "event type " + event.type() + " inside a transaction";
            }
        }
        return null;
    }

    private Verdict rows(List<BinlogEvent> events) {
        Map<Long, TableMap> tables = new HashMap<>();
        List<TableMap> changes = new ArrayList<>();
        RepeatedDeletes repeated = new RepeatedDeletes();
        for (BinlogEvent event : events) {
            if (event.type() == EventType.TABLE_MAP) {
                TableMap table = TableMap.parse(event);
                tables.put(table.tableId(), table);
                repeated.add(table);
            } else {
                String doubt = rowEvent(event, tables, changes);
                if (doubt == null && repeated.without(event) != event) {
                    doubt = "logged_twice";
                }
                if (doubt == null && changes.size() > MOST_ROWS) {
                    doubt = "many_rows";
                }
                if (doubt != null) {
                    return new AsRaw(doubt);
                }
            }
        }
        return new AsRows(changes);
    }

    /** Adds the event's changes; returns why it can't go as rows, or null. */
    private String rowEvent(BinlogEvent event, Map<Long, TableMap> tables, List<TableMap> changes) {
        if (event.type() == EventType.PARTIAL_UPDATE_ROWS) {
            return "partial_json";
        }
        RowsEvent rows = RowsEvent.parse(event);
        TableMap table = tables.get(rows.tableId());
        if (table == null) {
            throw new MalformedEventException("row event without table map");
        }
        String doubt = isSystem(table.database()) ? "system_schema" : kinds.doubt(table);
        if (doubt != null) {
            return doubt;
        }
        if ((rows.flags() & ~ORDINARY_FLAGS) != 0) {
            return "flags";
        }
        if (!rows.allColumns()) {
            return "row_image";
        }
        return images(RowImages.walk(rows, table), table, changes);
    }

    /** A schema of the server's own. */
    static boolean isSystem(String schema) {
        return SYSTEM_SCHEMAS.contains(schema);
    }

    private static String images(RowImages.Seen seen, TableMap table, List<TableMap> changes) {
        for (int i = 0; i < seen.rows(); i++) {
            changes.add(table);
        }
        return seen.oddDate() ? "odd_date" : seen.keyChange() ? "key_change" : null;
    }
}
