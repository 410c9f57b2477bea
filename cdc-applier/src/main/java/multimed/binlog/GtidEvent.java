package multimed.binlog;

import com.github.shyiko.mysql.binlog.event.GtidEventData;
import com.github.shyiko.mysql.binlog.event.GtidTaggedEventData;
import com.github.shyiko.mysql.binlog.event.MySqlGtid;
import com.github.shyiko.mysql.binlog.event.deserialization.GtidEventDataDeserializer;
import com.github.shyiko.mysql.binlog.event.deserialization.GtidTaggedEventDataDeserializer;
import com.github.shyiko.mysql.binlog.io.ByteArrayInputStream;
import java.io.IOException;
import multimed.gtid.Gtid;

/**
 * Start of a transaction, plain or tagged (MySQL 8.3 and later).
 *
 * @param commitTimeMicros when the master committed it, microseconds since 1970 UTC; also one that it got from elsewhere
 * @param transactionBytes length of the whole transaction in the binlog, this event included
 * @param sequenceNumber counts the transactions of a binlog file from 1
 * @param lastCommitted sequence number of the newest transaction of the same file that this one may conflict with
 */
public record GtidEvent(Gtid gtid, long commitTimeMicros, long transactionBytes, long sequenceNumber, long lastCommitted) {

    /** For a transaction that comes in the log later than its changes in the binlog: the clock would be wrong. */
    public GtidEvent withoutClock() {
        return new GtidEvent(gtid, commitTimeMicros, transactionBytes, 0, 0);
    }

    public static GtidEvent parse(BinlogEvent event) {
        ByteCursor body = event.body();
        try {
            ByteArrayInputStream in = new ByteArrayInputStream(body.bytes(body.remaining()));
            return event.type() == EventType.GTID ? plain(in) : tagged(in);
        } catch (IOException e) {
            throw new MalformedEventException("GTID event: " + e.getMessage());
        }
    }

    private static GtidEvent plain(ByteArrayInputStream in) throws IOException {
        GtidEventData data = new GtidEventDataDeserializer().deserialize(in);
        return new GtidEvent(gtid(data.getMySqlGtid()), data.getImmediateCommitTimestamp(),
                data.getTransactionLength(), data.getSequenceNumber(), data.getLastCommitted());
    }

    private static GtidEvent tagged(ByteArrayInputStream in) throws IOException {
        GtidTaggedEventData data = new GtidTaggedEventDataDeserializer().deserialize(in);
        return new GtidEvent(gtid(data.getMySqlGtid()), data.getImmediateCommitTimestamp(),
                data.getTransactionLength(), data.getSequenceNumber(), data.getLastCommitted());
    }

    private static Gtid gtid(MySqlGtid gtid) {
        String tag = gtid.getTag() == null ? "" : gtid.getTag();
        return Gtid.of(gtid.getServerId(), tag, gtid.getTransactionId());
    }
}
