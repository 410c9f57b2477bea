package multimed.capture;

import com.github.shyiko.mysql.binlog.network.ServerException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import multimed.binlog.BinlogEvent;
import multimed.binlog.BinlogReader;
import multimed.binlog.EventType;
import multimed.binlog.MalformedEventException;
import multimed.binlog.QueryEvent;
import multimed.binlog.TransactionEnd;
import multimed.binlog.TransactionPayload;
import multimed.capture.PreparedPositions.Position;
import multimed.gtid.Gtid;
import multimed.master.Master;
import multimed.master.MasterAccess;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In: the xid of an XA transaction that is committed and whose changes capture does not hold, because it was restarted since they
 * were prepared, or because they are too many. Out: the events from its XA START to its XA PREPARE, read again from the master's
 * binlog, one by one. Searches backwards from the XA COMMIT, file by file, and keeps the positions of other prepared transactions:
 * after a restart their commits usually follow. Must never: pass on another transaction's events.
 */
final class PreparedInBinlog {
    private static final Logger log = LoggerFactory.getLogger(PreparedInBinlog.class);

    /** The master ends capture's own connection when that is not read for net_write_timeout, 60 s. */
    private static final Duration SEARCH = Duration.ofSeconds(30);
    private static final long FILE_BEGIN = 4;
    /** ER_SOURCE_FATAL_ERROR_READING_BINLOG: purged meanwhile, for one. */
    private static final int CANNOT_READ_BINLOG = 1236;

    /** Takes the events of an XA transaction after its GTID event, up to its XA PREPARE. */
    interface Changes {
        void event(byte[] formatDescription, BinlogEvent event, boolean last) throws Exception;
    }

    private final MasterAccess access;
    private PreparedPositions positions = new PreparedPositions();

    PreparedInBinlog(MasterAccess access) {
        this.access = access;
    }

    /** It is decided, or prepared anew. */
    void forget(String xid) {
        positions.forget(xid);
    }

    /**
     * Passes the events on. Returns null, or why they can't be had. Throws if that may go away by itself.
     *
     * @param decision the transaction that commits it
     * @param file the binlog file that has the decision
     */
    String read(String xid, Gtid decision, String file, Changes to) throws Exception {
        try {
            Position at = find(xid, decision, file);
            if (at == null) {
                return "its XA PREPARE is not in the master's binlog any more";
            }
            log.info("the changes of a prepared XA transaction are read from the binlog again gtid={} file={} position={}", decision,
                    at.file(), at.position());
            read(at.file(), at.position(), new Group(xid, to));
            return null;
        } catch (TimeoutException e) {
            return "its XA PREPARE was not found in the master's binlog within " + SEARCH.toSeconds() + " s";
        } catch (ServerException e) {
            if (e.getErrorCode() != CANNOT_READ_BINLOG) {
                throw e;
            }
            return "the master does not give its binlog: " + e.getMessage();
        } catch (MalformedEventException e) {
            return "the master's binlog is not understood: " + e.getMessage();
        } catch (NotThere e) {
            return "the binlog has another transaction in its place";
        }
    }

    private Position find(String xid, Gtid decision, String file) throws Exception {
        if (positions.get(xid) == null) {
            long deadline = System.nanoTime() + SEARCH.toNanos();
            positions = PreparedPositions.search(xid, filesUpTo(file), each -> {
                PreparedScan scan = new PreparedScan(each, decision, deadline);
                read(each, FILE_BEGIN, scan);
                return scan.positions();
            });
        }
        return positions.get(xid);
    }

    private List<String> filesUpTo(String file) throws Exception {
        try (Master master = new Master(access)) {
            List<String> files = master.binlogs();
            return files.subList(0, files.indexOf(file) + 1);
        }
    }

    private void read(String file, long position, BinlogReader.Sink sink) throws Exception {
        try (BinlogReader reader = new BinlogReader(access, file, position, sink)) {
            reader.run();
        } catch (BinlogReader.Finished e) {
            return;
        }
        throw new IllegalStateException("binlog " + file + " ended while it was read");
    }

    private static final class NotThere extends Exception {
        private static final long serialVersionUID = 1;
    }

    /** One XA transaction, and the end. */
    private static final class Group implements BinlogReader.Sink {
        private final String xid;
        private final Changes to;
        private byte[] formatDescription;
        private TransactionEnd end;
        private boolean started;

        Group(String xid, Changes to) {
            this.xid = xid;
            this.to = to;
        }

        @Override
        public void event(BinlogEvent event) throws Exception {
            int type = event.type();
            if (type == EventType.FORMAT_DESCRIPTION) {
                formatDescription = event.bytes();
            } else if (EventType.isGtid(type) && end == null) {
                end = new TransactionEnd();
            } else if (end != null && type == EventType.TRANSACTION_PAYLOAD) {
                compressed(event);
            } else if (end != null) {
                content(event);
            } else if (type != EventType.ROTATE) {
                throw new NotThere();
            }
        }

        private void compressed(BinlogEvent event) throws Exception {
            try (TransactionPayload payload = TransactionPayload.open(event)) {
                for (BinlogEvent inside = payload.next(); inside != null; inside = payload.next()) {
                    content(inside);
                }
            }
        }

        private void content(BinlogEvent event) throws Exception {
            boolean its = started || event.type() == EventType.QUERY && startsIt(QueryEvent.parse(event));
            if (!its) {
                throw new NotThere();
            }
            started = true;
            boolean last = end.isLast(event);
            to.event(formatDescription, event, last);
            if (last) {
                throw new BinlogReader.Finished();
            }
        }

        private boolean startsIt(QueryEvent query) {
            return query.ascii().startsWith("XA START ") && Statements.xid(query).equals(xid);
        }
    }
}
