package multimed.capture;

import java.util.List;
import multimed.binlog.TableMap;
import multimed.log.proto.Statement;

/** How a transaction goes into the log. */
sealed interface Verdict {

    /** Debezium may carry it: {@code changes} are the tables of its rows, in order; one entry per row. */
    record AsRows(List<TableMap> changes) implements Verdict {}

    /** Its own events carry it. The reason is a metric's label: a few fixed words. */
    record AsRaw(String reason) implements Verdict {}

    record AsStatement(Statement statement) implements Verdict {}

    /** A statement that opens the transaction, then its row events: CREATE TABLE … SELECT. */
    record AsStatementThenRaw(Statement statement) implements Verdict {}

    /** Empty for now; the changes come with the xid's commit. @param unsafe why they can't be replayed then, or null */
    record AsXaPrepare(String xid, String unsafe) implements Verdict {}

    record AsXaCommit(String xid) implements Verdict {}

    record AsXaRollback(String xid) implements Verdict {}

    record AsEmpty() implements Verdict {}

    record AsRebuild(String reason) implements Verdict {}
}
