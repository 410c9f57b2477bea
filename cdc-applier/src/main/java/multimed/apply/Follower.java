package multimed.apply;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import multimed.log.Gtid;
import multimed.log.GtidSet;
import multimed.log.LogBrokenException;
import multimed.log.LogEvent;
import multimed.log.LogTopic;
import multimed.log.RecordAssembler;
import multimed.log.proto.LogRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * One turn's way along the log. In: records. Out: each transaction that the satellite lacks, written in order: whole ones by
 * the pipeline, side by side; what changes more than rows, and what comes in parts, on the owning session when all before it is
 * committed. Ends by an exception only. Must never: write a transaction whose predecessor is not there, or leave a complete
 * one uncommitted while it waits for more.
 */
final class Follower implements AutoCloseable {
    private final SatelliteSession session;
    private final ChangeLog log;
    private final ApplyConfig config;
    private final ApplyMetrics metrics;
    private final Gtid suspect;
    private final Consumer<Gtid> progress;
    private final Continuity continuity;
    private final LogicalClock clock = new LogicalClock();
    private final TransactionWriter writer;
    private final Pipeline pipeline;
    private final RecordAssembler assembler = new RecordAssembler();
    private Gtid inHand;

    /**
     * @param beside further sessions; without any, all is written on the first
     * @param suspect a transaction that failed before and is therefore written one statement at a time; or null
     */
    Follower(SatelliteSession session, List<PipelineSession> beside, ChangeLog log, ApplyConfig config, RowFilter filter,
            ApplyMetrics metrics, Gtid suspect, Consumer<Gtid> progress, Pipeline.LockCheck lockCheck)
            throws SQLException {
        this.session = session;
        this.log = log;
        this.config = config;
        this.metrics = metrics;
        this.suspect = suspect;
        this.progress = progress;
        this.continuity = new Continuity(session.identity().executed());
        this.writer = new TransactionWriter(session, config, filter, this::committed, metrics::sent);
        this.pipeline = beside.isEmpty() ? null : new Pipeline(beside, config, filter, new FromPipeline(), lockCheck);
    }

    /** Goes to where the satellite is; returns that offset. */
    long start() {
        long offset = OffsetFinder.find(log, continuity.executed());
        log.seek(offset);
        metrics.position(continuity.executed());
        return offset;
    }

    /** Writes what the log has; waits for more if it has nothing, and then sees whether the satellite is there and has nothing else. */
    void step(Duration timeout) throws SQLException, ApplyFailure, InterruptedException {
        List<ConsumerRecord<byte[], byte[]>> records = log.poll(timeout);
        boolean idle = pipeline == null || pipeline.isIdle();
        if (records.isEmpty() && idle) {
            metrics.behind(null);
            continuity.idle(session.executed());
            return;
        }
        for (ConsumerRecord<byte[], byte[]> record : records) {
            accept(record);
        }
        writer.flush();
    }

    /** Commits what is complete. */
    void finish() throws SQLException, ApplyFailure, InterruptedException {
        writer.flush();
        drain();
    }

    private void accept(ConsumerRecord<byte[], byte[]> record) throws SQLException, ApplyFailure, InterruptedException {
        try {
            for (LogEvent event : assembler.accept(LogTopic.parse(record), record.offset())) {
                act(event);
            }
        } catch (LogBrokenException e) {
            drain();
            throw broken(record, e);
        }
    }

    /** A clone that has the record's transaction, and the one before it, starts behind the broken place. */
    private Divergence broken(ConsumerRecord<byte[], byte[]> record, LogBrokenException e) {
        GtidSet required = GtidSet.EMPTY;
        try {
            LogRecord parsed = LogTopic.parse(record);
            required = GtidSet.parse(parsed.getGtid()).union(GtidSet.parse(parsed.getPreviousGtid()));
        } catch (LogBrokenException | IllegalArgumentException unreadable) {
            // then any donor will do
        }
        return new Divergence(Divergence.Reason.LOG_BROKEN, required, "offset=" + record.offset() + " " + e.getMessage());
    }

    private void act(LogEvent event) throws SQLException, ApplyFailure, InterruptedException {
        if (event instanceof LogEvent.EpochStarted start) {
            continuity.epochStarted(start);
        } else if (event instanceof LogEvent.Part part) {
            part(part);
        } else if (event instanceof LogEvent.Abandoned abandoned && abandoned.gtid().equals(inHand)) {
            writer.abandon();
            inHand = null;
        }
    }

    private void part(LogEvent.Part part) throws SQLException, ApplyFailure, InterruptedException {
        long freeOf = part.first() ? clock.freeOf(part.record()) : 0;
        if (!continuity.wants(part)) {
            if (part.last()) {
                metrics.skipped();
            }
            return;
        }
        if (part.record().hasRebuild()) {
            finish();
            throw Divergence.at(part.gtid(), Divergence.Reason.REBUILD_RECORD,
                    "log says: " + part.record().getRebuild().getReason());
        }
        write(part, freeOf);
        metrics.part(part);
        if (part.last()) {
            continuity.written(part.gtid());
        }
    }

    private void write(LogEvent.Part part, long freeOf) throws SQLException, ApplyFailure, InterruptedException {
        inHand = part.gtid();
        delayForTests(part);
        if (canGoBeside(part)) {
            writer.flush();
            pipeline.submit(part, freeOf);
            return;
        }
        drain();
        metrics.behind(part);
        writer.write(part, part.gtid().equals(suspect));
    }

    /** A part that was put together from several records can be large: one at a time. */
    private boolean canGoBeside(LogEvent.Part part) {
        return pipeline != null && part.first() && part.last() && part.record().getChunk() == 0 && !part.record().hasStatement()
                && !part.gtid().equals(suspect);
    }

    private void drain() throws SQLException, ApplyFailure, InterruptedException {
        if (pipeline != null) {
            pipeline.drain();
        }
    }

    private void delayForTests(LogEvent.Part part) throws SQLException, ApplyFailure, InterruptedException {
        if (config.testDelayMs() > 0 && part.first()) {
            finish();
            TimeUnit.MILLISECONDS.sleep(config.testDelayMs());
        }
    }

    /** On any thread that commits, one at a time. */
    private void committed(LogEvent.Part last) {
        metrics.committed(last);
        progress.accept(last.gtid());
    }

    /** The transaction that failed, or that was being written, whether or not that is known to have ended; or null. */
    Gtid inHand() {
        Gtid failed = pipeline == null ? null : pipeline.failedAt();
        return failed == null ? inHand : failed;
    }

    private final class FromPipeline implements PipelineListener {
        private LogEvent.Part held;

        @Override
        public void sent() {
            metrics.sent();
        }

        @Override
        public void committed(LogEvent.Part part, LogEvent.Part next) {
            Follower.this.committed(part);
            metrics.behind(next);
        }

        @Override
        public void conflict(LogEvent.Part part) {
            if (part != held) {
                held = part;
                metrics.conflict();
            }
        }

        @Override
        public void retried(String reason) {
            metrics.retried(reason);
        }

        @Override
        public void ended() {
            log.wakeUp();
        }
    }

    @Override
    public void close() {
        if (pipeline != null) {
            pipeline.close();
        }
    }
}
