package multimed.capture;

import java.util.concurrent.TimeoutException;
import multimed.binlog.BinlogEvent;
import multimed.binlog.BinlogReader;
import multimed.binlog.ByteCursor;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.binlog.QueryEvent;
import multimed.binlog.TransactionEnd;
import multimed.binlog.TransactionPayload;
import multimed.capture.PreparedPositions.Position;
import multimed.gtid.Gtid;

/**
 * In: the events of one binlog file from its start, up to its end or to the XA COMMIT that is searched for. Out: the positions of the
 * XA transactions that are prepared there and not yet decided. Holds no changes. Must never: count that XA COMMIT itself, or return
 * a position beyond 4 GiB: events have 32 bits for it.
 */
final class PreparedScan implements BinlogReader.Sink {
    private final String file;
    private final Gtid decision;
    private final long deadlineNanos;
    private final PreparedPositions positions = new PreparedPositions();
    private long position;
    private boolean positionKnown = true;
    private Gtid open;
    private Position preparedAt;
    private TransactionEnd end;
    private String prepares;

    PreparedScan(String file, Gtid decision, long deadlineNanos) {
        this.file = file;
        this.decision = decision;
        this.deadlineNanos = deadlineNanos;
    }

    PreparedPositions positions() {
        return positions;
    }

    @Override
    public void event(BinlogEvent event) throws Exception {
        int type = event.type();
        boolean nothingMore = type == EventType.HEARTBEAT || type == EventType.HEARTBEAT_V2;
        if (nothingMore || type == EventType.ROTATE && !(event.artificial() && named(event).equals(file))) {
            throw new BinlogReader.Finished();
        }
        if (System.nanoTime() - deadlineNanos > 0) {
            throw new TimeoutException();
        }
        if (EventType.isGtid(type)) {
            begin(GtidEvent.parse(event).gtid());
        } else if (open != null) {
            content(event);
        }
        passed(event);
    }

    private static String named(BinlogEvent rotate) {
        ByteCursor body = rotate.body();
        body.skip(8);
        return body.text(body.remaining());
    }

    private void passed(BinlogEvent event) {
        if (!event.artificial() && event.endPosition() > 0) {
            positionKnown &= event.endPosition() > position;
            position = event.endPosition();
        }
    }

    private void begin(Gtid gtid) {
        open = gtid;
        preparedAt = positionKnown ? new Position(file, position) : null;
        end = new TransactionEnd();
        prepares = null;
    }

    private void content(BinlogEvent event) throws BinlogReader.Finished {
        if (event.type() != EventType.TRANSACTION_PAYLOAD) {
            inside(event);
            return;
        }
        try (TransactionPayload payload = TransactionPayload.open(event)) {
            BinlogEvent first = payload.next();
            inside(first);
            // Only an XA transaction is worth being decompressed.
            for (BinlogEvent next = prepares == null ? null : payload.next(); next != null; next = payload.next()) {
                inside(next);
            }
        }
        open = null;
    }

    private void inside(BinlogEvent event) throws BinlogReader.Finished {
        if (event.type() == EventType.QUERY) {
            query(QueryEvent.parse(event));
        } else if (event.type() == EventType.XA_PREPARE) {
            prepared(event);
        }
        if (end.isLast(event)) {
            if (open.equals(decision)) {
                throw new BinlogReader.Finished();
            }
            open = null;
        }
    }

    private void query(QueryEvent query) {
        String text = query.ascii();
        if (text.startsWith("XA START ")) {
            prepares = Statements.xid(query);
        } else if ((text.startsWith("XA COMMIT ") || text.startsWith("XA ROLLBACK ")) && !open.equals(decision)) {
            positions.decided(Statements.xid(query));
        }
    }

    /** XA COMMIT … ONE PHASE is asked for only by itself. */
    private void prepared(BinlogEvent event) {
        boolean onePhase = event.body().u8() != 0;
        if (prepares != null && preparedAt != null && (!onePhase || open.equals(decision))) {
            positions.prepared(prepares, preparedAt);
        }
    }
}
