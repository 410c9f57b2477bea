package multimed.capture;

import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.binlog.TransactionEnd;
import multimed.binlog.TransactionPayload;
import multimed.capture.tables.TableStream;

/**
 * In: the binlog reader's events, before anything else is done with them. Out: the tables of each transaction that is complete, to the
 * table stream. One thread, the reader's. What is wrong with an event that does not concern tables is left to the {@link Sequencer}.
 */
final class TableTeller {
    private final TableStream stream;
    private final TestFault fault;
    private final PreparedTables prepared = new PreparedTables();
    private GtidEvent open;
    private TransactionEnd end;
    private TransactionTables tables;

    TableTeller(TableStream stream, TestFault fault) {
        this.stream = stream;
        this.fault = fault;
    }

    /** Returns whether the event stands outside of a transaction, or is its last. */
    boolean event(BinlogEvent event) {
        if (EventType.isGtid(event.type())) {
            open = GtidEvent.parse(event);
            end = new TransactionEnd();
            tables = new TransactionTables();
        } else if (open != null && event.type() == EventType.TRANSACTION_PAYLOAD) {
            try (TransactionPayload payload = TransactionPayload.open(event)) {
                for (BinlogEvent inside = payload.next(); inside != null && open != null; inside = payload.next()) {
                    content(inside);
                }
            }
        } else if (open != null) {
            content(event);
        }
        return open == null;
    }

    private void content(BinlogEvent event) {
        boolean last = end.isLast(event);
        tables.add(event, last);
        if (last) {
            if (fault.at(open.gtid()) != TestFault.Kind.UNTOLD) {
                stream.publish(open.gtid(), open.commitTimeMicros(), tables.written(prepared));
            }
            open = null;
        }
    }
}
