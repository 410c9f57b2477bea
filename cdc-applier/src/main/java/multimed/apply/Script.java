package multimed.apply;

import com.google.protobuf.ByteString;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import multimed.apply.sql.RowStatement;
import multimed.apply.sql.SessionSettings;
import multimed.apply.sql.StatementBuilder;
import multimed.log.LogBrokenException;
import multimed.log.proto.LogRecord;
import multimed.log.proto.RowChange;

/**
 * The statements of one transaction without its COMMIT, packet by packet. The next packet is sent when all results of the one
 * before were checked. Pure.
 */
final class Script {
    /** A guard costs the server about as much as a small statement; beyond so many changes a round trip more is cheaper. */
    private static final int MOST_GUARDED = 8;

    private final LogRecord record;
    private final String gtid;
    private final Iterator<RowStatement> statements;
    private boolean begun;
    private boolean done;
    private boolean commitsItself;

    Script(LogRecord record, StatementBuilder builder, RowFilter filter) {
        this.record = record;
        this.gtid = record.getGtid();
        this.statements = record.hasRows() ? builder.statements(filter.apply(record.getRows())) : null;
    }

    boolean isRaw() {
        return record.hasRaw();
    }

    /** Session settings that must be restored afterwards, in addition to those that BINLOG changes. */
    Map<String, String> settings() {
        return record.getRaw().getSessionMap();
    }

    ByteString formatDescription() {
        return record.getRaw().getFormatDescription();
    }

    boolean done() {
        return done;
    }

    Divergence.Reason reason() {
        return isRaw() ? Divergence.Reason.RAW : Divergence.Reason.ROW;
    }

    /** Whether the session commits it by itself. Known when the first packet is made. */
    boolean commitsItself() {
        return commitsItself;
    }

    /**
     * Without BEGIN: sessions don't commit by themselves, and in such a session BEGIN is a COMMIT first, which would use the GTID up
     * for an empty transaction, out of turn. A transaction of one inserted row that may be committed at once needs no COMMIT: the
     * session commits by itself then. Setting that is a COMMIT too, so it stands before the GTID.
     *
     * @param committed called when it is committed; null: it must not be yet, and the statements need not be such that COMMIT may stand
     *     behind them ({@link Packet#isCertain})
     * @param autocommit whether the session commits by itself now
     */
    void addTo(Packet packet, int fullAt, Runnable committed, boolean autocommit) {
        if (!begun) {
            if (record.getRaw().getSessionCount() > 0) {
                packet.add(SessionSettings.set(record.getRaw().getSessionMap()));
            }
            commitsItself = committed != null && isOneInsert();
            String change = commitsItself == autocommit ? "" : "autocommit=" + (commitsItself ? "1," : "0,");
            packet.add("SET " + change + "gtid_next=_utf8mb4'" + gtid + "'");
            begun = true;
        }
        switch (record.getBodyCase()) {
            case ROWS -> {
                if (commitsItself) {
                    packet.add(statements.next(), committed);
                } else {
                    rows(packet, fullAt, committed != null && record.getRows().getChangesCount() <= MOST_GUARDED);
                }
            }
            case RAW -> raw(packet);
            case EMPTY -> {}
            default -> throw new LogBrokenException("a transaction of kind " + record.getBodyCase() + " in the pipeline");
        }
        done = statements == null || !statements.hasNext();
    }

    private boolean isOneInsert() {
        List<RowChange> changes = record.getRows().getChangesList();
        return changes.size() == 1 && changes.get(0).getKind() == RowChange.Kind.INSERT && statements.hasNext();
    }

    private void rows(Packet packet, int fullAt, boolean guarded) {
        while (statements.hasNext() && packet.bytes() < fullAt) {
            if (guarded) {
                packet.addGuarded(statements.next());
            } else {
                packet.add(statements.next());
            }
        }
    }

    private void raw(Packet packet) {
        packet.addBinlog(List.copyOf(record.getRaw().getEventsList()));
    }
}
