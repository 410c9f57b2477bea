package multimed.apply;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import multimed.gtid.Gtid;
import multimed.log.LogEvent.Part;
import multimed.log.proto.LogRecord;
import multimed.process.Address;

/** A Pipeline on a real satellite, without a log: records are handed to it directly. Counts what it tells. */
final class PipelineFixture implements AutoCloseable, PipelineListener {
    private final AtomicLong committed = new AtomicLong();
    private final AtomicLong conflicts = new AtomicLong();
    private final AtomicLong packets = new AtomicLong();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final List<String> retries = new CopyOnWriteArrayList<>();
    private final Pipeline pipeline;

    PipelineFixture(TestMysql satellite, int count) throws SQLException {
        ApplyConfig config = ApplyConfig
                .from(Map.of("LOG_AUTHENTICATION", "off", "SATELLITE_HOST", satellite.address(), "APPLIER_USER", TestMysql.USER,
                        "APPLIER_PASSWORD", TestMysql.PASSWORD));
        SatelliteConnector connector = new SatelliteConnector(new Address(satellite.address(), 3306), null, TestMysql.USER,
                TestMysql.PASSWORD);
        List<PipelineSession> sessions = new ArrayList<>();
        try (SatelliteSession owner = connector.open()) {
            for (int i = 0; i < count; i++) {
                sessions.add(connector.openParallel(owner));
            }
        }
        pipeline = new Pipeline(sessions, config, new RowFilter(0), this, connector::waitsForLock);
    }

    void submit(LogRecord record, long sinceParent) throws Exception {
        pipeline.submit(new Part(Gtid.parse(record.getGtid()), null, record, true, true, 0), sinceParent);
    }

    void drain() throws Exception {
        pipeline.drain();
    }

    Gtid failedAt() {
        return pipeline.failedAt();
    }

    long committed() {
        return committed.get();
    }

    long conflicts() {
        return conflicts.get();
    }

    /** How many went to the satellite. */
    long packets() {
        return packets.get();
    }

    List<String> retries() {
        return retries;
    }

    boolean hasEnded() {
        return ended.get();
    }

    @Override
    public void sent() {
        packets.incrementAndGet();
    }

    @Override
    public void committed(Part part, Part next) {
        committed.incrementAndGet();
    }

    @Override
    public void conflict(Part part) {
        conflicts.incrementAndGet();
    }

    @Override
    public void retried(String reason) {
        retries.add(reason);
    }

    @Override
    public void ended() {
        ended.set(true);
    }

    @Override
    public void close() {
        pipeline.close();
    }
}
