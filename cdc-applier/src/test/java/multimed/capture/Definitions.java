package multimed.capture;

import java.util.ArrayList;
import java.util.List;
import multimed.binlog.BinlogEvent;
import multimed.binlog.BinlogReader;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.binlog.QueryEvent;
import multimed.capture.Verdict.AsStatement;
import multimed.gtid.GtidSet;
import multimed.log.proto.LogRecord;
import multimed.log.proto.Rebuild;
import multimed.master.Collations;
import multimed.master.MasterAccess;

/** A real master's definitions, as capture writes them into the log. */
public final class Definitions implements BinlogReader.Sink {
    private final GtidSet until;
    private final Classifier classifier;
    private final List<LogRecord> found = new ArrayList<>();
    private GtidSet seen;
    private GtidEvent open;

    private Definitions(GtidSet after, GtidSet until, Collations collations) {
        this.seen = after;
        this.until = until;
        this.classifier = new Classifier(collations, "UTC");
    }

    /** Those behind a position and up to another, in the binlog's order. */
    public static List<LogRecord> read(MasterAccess access, GtidSet after, GtidSet until, Collations collations) throws Exception {
        Definitions sink = new Definitions(after, until, collations);
        try (BinlogReader reader = new BinlogReader(access, after, sink)) {
            reader.run();
        } catch (BinlogReader.Finished e) {
            return sink.found;
        }
        throw new IllegalStateException("the binlog ended while it was read");
    }

    @Override
    public void event(BinlogEvent event) throws BinlogReader.Finished {
        if (EventType.isGtid(event.type())) {
            if (seen.containsAll(until)) {
                throw new BinlogReader.Finished();
            }
            open = GtidEvent.parse(event);
            seen = seen.add(open.gtid());
        } else if (event.type() == EventType.QUERY && !QueryEvent.parse(event).ascii().equals("BEGIN")) {
            Verdict verdict = classifier.classify(new MasterTransaction(open, new byte[0], List.of(event)));
            LogRecord.Builder record = LogRecord.newBuilder().setEpoch(1).setGtid(open.gtid().toString()).setLastChunk(true);
            found.add(verdict instanceof AsStatement definition
                    ? record.setStatement(definition.statement()).build()
                    : record.setRebuild(Rebuild.newBuilder().setReason(verdict.toString())).build());
        } else if (seen.containsAll(until)) {
            throw new BinlogReader.Finished();
        }
    }
}
