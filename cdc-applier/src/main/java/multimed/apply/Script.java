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

/**
 * The statements of one transaction without its COMMIT, packet by packet. The next packet is sent when all results of the one
 * before were checked. Pure.
 */
final class Script {
    private final LogRecord record;
    private final String gtid;
    private final Iterator<RowStatement> statements;
    private boolean begun;
    private boolean done;

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

    /**
     * Without BEGIN: sessions don't commit by themselves, and in such a session BEGIN is a COMMIT first, which would use the GTID up
     * for an empty transaction, out of turn.
     */
    void addTo(Packet packet, int fullAt) {
        if (!begun) {
            if (record.getRaw().getSessionCount() > 0) {
                packet.add(SessionSettings.set(record.getRaw().getSessionMap()));
            }
            packet.add("SET gtid_next='" + gtid + "'");
            begun = true;
        }
        switch (record.getBodyCase()) {
            case ROWS -> rows(packet, fullAt);
            case RAW -> raw(packet);
            case EMPTY -> {}
            default -> throw new LogBrokenException("a transaction of kind " + record.getBodyCase() + " in the pipeline");
        }
        done = statements == null || !statements.hasNext();
    }

    private void rows(Packet packet, int fullAt) {
        while (statements.hasNext() && packet.bytes() < fullAt) {
            packet.add(statements.next());
        }
    }

    /** The server forgets what stands behind BINLOG in a packet. */
    private void raw(Packet packet) {
        packet.addBinlog(List.copyOf(record.getRaw().getEventsList()));
    }
}
