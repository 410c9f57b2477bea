package multimed.apply;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import multimed.gtid.Gtid;
import multimed.gtid.GtidSet;
import multimed.log.LogBrokenException;
import multimed.log.LogEvent;
import multimed.log.LogTopic;
import multimed.log.RecordAssembler;
import multimed.log.proto.LogRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Follows the log on one set of sessions, until an exception ends that. In: records. Out: each transaction that the satellite
 * lacks, written in order. Must never: write a transaction whose predecessor is not there, or leave a complete one uncommitted
 * while it waits for more.
 *
 * <p>There are two ways to write. The {@link Pipeline} executes whole transactions of bounded size in parallel; it never blocks on
 * one session. The {@link SerialWriter} takes all others, on the session that owns the satellite, when everything before is
 * committed: statements, checks, transactions in parts (which it streams, without a copy of a large event), and a transaction that failed
 * before, one statement at a time.
 */
final class Follower implements AutoCloseable {
    /**
     * How long to wait, after a broken record, for a new epoch that goes on from before it. Then the satellite clones itself again.
     */
    private static final long NEW_EPOCH_WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** How far to go back for the start of the epoch in force, in records; capture repeats it every 10 000 transactions. */
    private static final long[] STEPS_BACK = {1000, 20_000};

    /** A transaction that was committed less than this ago: what follows it should still be in capture's memory. */
    private static final long LIVE_AGE_MICROS = 1_000_000;
    private static final long FIRST_LIVE_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long LONGEST_LIVE_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final SatelliteSession session;
    private final ChangeLog log;
    private final ApplyConfig config;
    private final ApplyMetrics metrics;
    private final Gtid suspect;
    private final Consumer<Gtid> progress;
    private GapDetector gaps;
    private LogicalClock clock = new LogicalClock();
    private final SerialWriter writer;
    private final Pipeline pipeline;
    private final PieceCheck pieceCheck;
    private RecordAssembler assembler = new RecordAssembler();
    private long startedAt;
    private int stepsBack;
    private Gtid inHand;
    private Divergence broken;
    private long brokenSince;
    /** The last transaction that came, if all of it has; and when the master committed it. */
    private Gtid newest;
    private long newestCommittedMicros;
    /** Whether anything came since capture is followed. */
    private boolean heardLive;
    private boolean caughtUp;
    private long livePauseNanos = FIRST_LIVE_PAUSE_NANOS;
    private long liveEndedAt = System.nanoTime() - FIRST_LIVE_PAUSE_NANOS;

    /** A transaction that takes long: capture would have to wait for its writing, or to keep it. */
    private static final class InParts extends RuntimeException {
        private final transient Gtid gtid;

        InParts(Gtid gtid) {
            super("in parts", null, false, false);
            this.gtid = gtid;
        }
    }

    /**
     * @param parallel the pipeline's sessions; without any, all is written serially
     * @param suspect a transaction that failed before and is therefore written one statement at a time; or null
     */
    Follower(SatelliteSession session, List<PipelineSession> parallel, ChangeLog log, ApplyConfig config, RowFilter filter,
            ApplyMetrics metrics, Gtid suspect, Consumer<Gtid> progress, Pipeline.LockCheck lockCheck)
            throws SQLException {
        this.session = session;
        this.log = log;
        this.config = config;
        this.metrics = metrics;
        this.suspect = suspect;
        this.progress = progress;
        this.gaps = new GapDetector(session.identity().executed());
        this.writer = new SerialWriter(session, config, filter, this::committed, metrics::sent);
        this.pieceCheck = new PieceCheck(session, metrics);
        this.pipeline = parallel.isEmpty() ? null : new Pipeline(parallel, config, filter, new FromPipeline(), lockCheck);
    }

    /** Starts reading the log where the satellite's data ends; returns that offset. */
    long start() {
        startedAt = OffsetFinder.find(log, gaps.executed());
        log.seek(startedAt);
        metrics.position(gaps.executed());
        return startedAt;
    }

    /** Writes what the log has. If it has nothing within the time, compares the satellite's own GTID set with what was written. */
    void step(Duration timeout) throws SQLException, ApplyFailure, InterruptedException {
        List<ConsumerRecord<byte[], byte[]>> records;
        try {
            records = log.poll(timeout);
        } catch (ChangeLog.LiveEnded e) {
            if (heardLive) {
                leaveLive(e.getMessage());
            } else {
                triedInVain(e.getMessage());
            }
            return;
        }
        if (log.isLive() && !records.isEmpty()) {
            heardLive = true;
            caughtUp = true;
            livePauseNanos = FIRST_LIVE_PAUSE_NANOS;
        }
        boolean idle = pipeline == null || pipeline.isIdle();
        if (broken != null && System.nanoTime() - brokenSince > NEW_EPOCH_WAIT_NANOS) {
            finish();
            throw broken;
        }
        if (records.isEmpty() && idle) {
            if (broken == null) {
                metrics.behind(null);
                caughtUp = true;
            }
            gaps.idle(session.executed());
            return;
        }
        for (ConsumerRecord<byte[], byte[]> record : records) {
            if (!acceptOrGoBack(record)) {
                break;
            }
        }
        writer.flush();
        if (log.canFollowCapture() && !log.isLive()) {
            goLive();
        }
    }

    /**
     * The newest transaction is complete and was committed a moment ago: capture still has what comes next. That is the same records, without
     * the way through the log.
     */
    private void goLive() {
        if (newest == null || broken != null || System.nanoTime() - liveEndedAt < livePauseNanos
                || System.currentTimeMillis() * 1000 - newestCommittedMicros > LIVE_AGE_MICROS) {
            return;
        }
        try {
            log.goLive(newest);
            heardLive = false;
            metrics.live(true);
            ApplyLoop.LOG.debug("event=following-capture after={}", newest);
        } catch (ChangeLog.LiveEnded e) {
            triedInVain(e.getMessage());
        }
    }

    /** Nothing came from capture: the log is still read up to where it goes on. The next try waits longer. */
    private void triedInVain(String why) {
        ApplyLoop.LOG.debug("event=not-following-capture reason=\"{}\"", why);
        livePauseNanos = Math.min(LONGEST_LIVE_PAUSE_NANOS, 2 * livePauseNanos);
        closeLive();
    }

    private void closeLive() {
        log.leaveLive();
        metrics.live(false);
        heardLive = false;
        liveEndedAt = System.nanoTime();
    }

    /** The log is the truth: it says what follows what the satellite has, and whether anything is wrong. */
    private void leaveLive(String why) throws SQLException, ApplyFailure, InterruptedException {
        ApplyLoop.LOG.debug("event=following-the-log reason=\"{}\"", why);
        closeLive();
        finish();
        // Of a transaction in parts the log brings the first one again.
        writer.abandon();
        inHand = null;
        beginAnew(OffsetFinder.find(log, gaps.executed()));
        stepsBack = 0;
    }

    private void beginAnew(long offset) {
        startedAt = offset;
        newest = null;
        assembler = new RecordAssembler();
        clock = new LogicalClock();
        gaps = new GapDetector(gaps.executed());
        broken = null;
        log.seek(offset);
    }

    /** Whether it has once had all that there was. */
    boolean caughtUp() {
        return caughtUp;
    }

    /** Commits what is complete. */
    void finish() throws SQLException, ApplyFailure, InterruptedException {
        writer.flush();
        drain();
    }

    /** False if the log is to be read from further back. */
    private boolean acceptOrGoBack(ConsumerRecord<byte[], byte[]> record) throws SQLException, ApplyFailure, InterruptedException {
        try {
            accept(record);
            return true;
        } catch (InParts e) {
            leaveLive("a transaction in parts, which the log keeps for as long as it takes gtid=" + e.gtid);
            return false;
        } catch (Divergence e) {
            if (log.isLive()) {
                leaveLive(e.getMessage());
                return false;
            }
            if (!mayBeOfAReplacedCapture(e)) {
                throw e;
            }
            goBack(e);
            return false;
        }
    }

    /**
     * A replaced capture's records, which readers ignore when they have seen the newer epoch start, name predecessors that come again
     * later. A reader that begins among them does not know that it should ignore them.
     */
    private boolean mayBeOfAReplacedCapture(Divergence e) {
        boolean order = e.reason() == Divergence.Reason.LACKING || e.reason() == Divergence.Reason.FOREIGN;
        return order && !assembler.certain() && stepsBack < STEPS_BACK.length && startedAt > log.begin();
    }

    private void goBack(Divergence e) throws SQLException, ApplyFailure, InterruptedException {
        finish();
        long from = Math.max(log.begin(), startedAt - STEPS_BACK[stepsBack++]);
        ApplyLoop.LOG.warn("event=epoch-uncertain {} next=read-from-offset-{}", e.getMessage(), from);
        beginAnew(from);
    }

    private void accept(ConsumerRecord<byte[], byte[]> record) throws SQLException, ApplyFailure, InterruptedException {
        try {
            for (LogEvent event : assembler.read(record)) {
                act(event, record);
            }
        } catch (LogBrokenException e) {
            drain();
            throw broken(record, e.getMessage());
        }
    }

    /** A donor that has the record's transaction, and the one before it, makes a clone that starts after the broken record. */
    private Divergence broken(ConsumerRecord<byte[], byte[]> record, String what) {
        GtidSet required = GtidSet.EMPTY;
        try {
            LogRecord parsed = LogTopic.parse(record);
            required = GtidSet.parse(parsed.getGtid()).union(GtidSet.parse(parsed.getPreviousGtid()));
        } catch (LogBrokenException | IllegalArgumentException unreadable) {
            // then any donor will do
        }
        return new Divergence(Divergence.Reason.LOG_BROKEN, required, "offset=" + record.offset() + " " + what);
    }

    private void act(LogEvent event, ConsumerRecord<byte[], byte[]> record) throws SQLException, ApplyFailure, InterruptedException {
        if (event instanceof LogEvent.EpochStarted start) {
            broken = null;
            gaps.epochStarted(start);
        } else if (event instanceof LogEvent.Broken breach) {
            if (log.isLive()) {
                throw broken(record, breach.what());
            }
            broken = broken(record, breach.what());
            brokenSince = System.nanoTime();
            ApplyLoop.LOG.warn("event=log-broken {} next=wait-for-a-new-epoch", broken.getMessage());
        } else if (event instanceof LogEvent.Part part) {
            part(part, log.isLive() ? part.record().getCommitTimeUs() / 1000 : record.timestamp());
        } else if (event instanceof LogEvent.Abandoned abandoned && abandoned.gtid().equals(inHand)) {
            writer.abandon();
            inHand = null;
        }
    }

    private void part(LogEvent.Part part, long loggedAt) throws SQLException, ApplyFailure, InterruptedException {
        long sinceParent = part.first() ? clock.sinceCommitParent(part.record()) : 0;
        boolean wanted = gaps.wants(part);
        newest = part.last() ? part.gtid() : null;
        newestCommittedMicros = part.record().getCommitTimeUs();
        if (!wanted) {
            if (part.last()) {
                metrics.skipped();
            }
            return;
        }
        if (log.isLive() && part.first() && !part.last()) {
            throw new InParts(part.gtid());
        }
        if (part.record().hasRebuild()) {
            finish();
            throw Divergence.at(part.gtid(), Divergence.Reason.REBUILD_RECORD,
                    "log says: " + part.record().getRebuild().getReason());
        }
        delayForTests(part, loggedAt);
        write(part, sinceParent);
        metrics.part(part);
        if (part.last()) {
            gaps.written(part.gtid());
        }
    }

    private void write(LogEvent.Part part, long sinceParent) throws SQLException, ApplyFailure, InterruptedException {
        inHand = part.gtid();
        if (canRunInParallel(part)) {
            writer.flush();
            pipeline.submit(part, sinceParent);
            return;
        }
        drain();
        metrics.behind(part);
        if (pieceCheck.isDue(part.record())) {
            writer.flush();
            pieceCheck.run(part);
        }
        writer.write(part, part.gtid().equals(suspect));
    }

    /** A part that was joined from several records can be large: at most one at a time in memory. */
    private boolean canRunInParallel(LogEvent.Part part) {
        return pipeline != null && part.first() && part.last() && part.record().getChunk() == 0 && !part.record().hasStatement()
                && !pieceCheck.isDue(part.record()) && !part.gtid().equals(suspect);
    }

    private void drain() throws SQLException, ApplyFailure, InterruptedException {
        if (pipeline != null) {
            pipeline.drain();
        }
    }

    /** A delay line: it makes transactions late, not slow. Who is later than that already, does not wait. */
    private void delayForTests(LogEvent.Part part, long loggedAt) throws SQLException, ApplyFailure, InterruptedException {
        if (config.testDelayMs() == 0 || !part.first()) {
            return;
        }
        long early = loggedAt + config.testDelayMs() - System.currentTimeMillis();
        if (early > 0) {
            writer.flush();
            TimeUnit.MILLISECONDS.sleep(early);
        }
    }

    /** On any thread that commits, one at a time. */
    private void committed(LogEvent.Part last) {
        metrics.committed(last);
        progress.accept(last.gtid());
    }

    /** The transaction that failed; if that is not known, the last that was being written; or null. */
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
        closeLive();
        if (pipeline != null) {
            pipeline.close();
        }
    }
}
