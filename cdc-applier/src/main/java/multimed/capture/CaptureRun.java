package multimed.capture;

import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import multimed.binlog.BinlogReader;
import multimed.capture.comparison.Checks;
import multimed.capture.comparison.Comparison;
import multimed.capture.comparison.Pass;
import multimed.capture.debezium.ColumnKinds;
import multimed.capture.debezium.RowSource;
import multimed.capture.tables.TableStream;
import multimed.gtid.GtidSet;
import multimed.live.LiveServer;
import multimed.log.EpochClaim;
import multimed.log.FatalException;
import multimed.log.LogAccess;
import multimed.log.LogTail;
import multimed.log.LogTail.State;
import multimed.log.LogTopic;
import multimed.log.LogWriter;
import multimed.master.Collations;
import multimed.master.Master;
import multimed.process.Metric;
import multimed.process.Metrics;
import multimed.process.Readiness;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.SecurityDisabledException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One epoch: from reading the log's tail to the first error. In: a master and a log. Out: the log continued without gap or
 * duplicate. Must never: write before it has claimed an epoch above all others, go on from a set that it did not read from the log,
 * or go on with a log of another history.
 */
final class CaptureRun implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(CaptureRun.class);
    private static final int MAX_CLAIMS = 100;
    /** Whoever follows capture has its records before the log has; in the log they may share a request. */
    private static final int LINGER_MS = 100;
    private static final long READ_AHEAD_BYTES = 8L * 1024 * 1024;

    private final CaptureConfig config;
    private final Metrics metrics;
    private final Readiness readiness;
    private final PreparedTransactions prepared;
    private final Pass pass;
    private final TableStream tableStream;
    private final LiveServer live;
    private volatile BinlogReader reader;
    private volatile boolean closed;

    /** An epoch that is this run's own, and what lies before it. */
    private record Claim(long number, GtidSet set, LogWriter writer) {}

    CaptureRun(CaptureConfig config, Metrics metrics, Readiness readiness, PreparedTransactions prepared, Pass pass,
            TableStream tableStream, LiveServer live) {
        this.config = config;
        this.metrics = metrics;
        this.readiness = readiness;
        this.prepared = prepared;
        this.pass = pass;
        this.tableStream = tableStream;
        this.live = live;
    }

    /** Returns when closed, throws otherwise. */
    void run() throws Exception {
        readiness.notReady("connecting to the log");
        createTopic();
        readiness.notReady("connecting to the master");
        try (Master master = new Master(config.master())) {
            master.requireSettings();
            readiness.notReady("waiting for the master's lock");
            try (WriterLock lock = WriterLock.take(config.master(), config.topic());
                    LogTail tail = new LogTail(config.log(), config.topic())) {
                readiness.notReady("reading the log");
                State state = tail.read();
                MasterHistory history = new MasterHistory(config.master(), master);
                boolean begins = state.set() == null || isOfAnother(state, history);
                GtidSet set = begins ? beginHistory(history, master) : startSet(state, master);
                Claim claim = claim(tail, state, set, master.serverUuid());
                try (LogWriter writer = claim.writer();
                        SettingsWatch settings = new SettingsWatch(config.master(), claim.set(), writer::fail)) {
                    lock.watch(writer::fail);
                    if (begins) {
                        // The first one is in no record; this one's says when it was committed.
                        history.mark();
                    } else {
                        history.confirm();
                    }
                    stream(claim, tail, master, history);
                } finally {
                    tableStream.pause();
                    live.restart();
                }
            }
        }
    }

    private Admin admin() {
        Properties settings = config.log().clientSettings();
        settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 15_000);
        settings.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, 10_000);
        return Admin.create(settings);
    }

    private void createTopic() throws ExecutionException, InterruptedException {
        try (Admin admin = admin()) {
            admitReaders(admin);
            if (LogTopic.create(admin, config.topic(), config.retentionHours(), config.retentionBytes())) {
                log.info("topic made or its retention changed name={} retention_hours={} retention_bytes={}", config.topic(),
                        config.retentionHours(), config.retentionBytes());
            }
        }
    }

    /** All that the broker allows anybody but capture itself; asked for again at each start, as the broker's data may be new. */
    private void admitReaders(Admin admin) throws ExecutionException, InterruptedException {
        if (!config.log().authenticated()) {
            return;
        }
        try {
            admin.createAcls(List.of(new AclBinding(
                    new ResourcePattern(ResourceType.TOPIC, config.topic(), PatternType.LITERAL),
                    new AccessControlEntry("User:" + LogAccess.READER, "*", AclOperation.READ, AclPermissionType.ALLOW)))).all().get();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof SecurityDisabledException)) {
                throw e;
            }
            log.warn("the broker restricts nobody: whoever has an account there can write into the log");
        }
    }

    private boolean isOfAnother(State state, MasterHistory history) throws Exception {
        String difference = history.difference(state);
        if (difference == null) {
            return false;
        }
        if (!history.canMark()) {
            throw new FatalException("the log is of another history: " + difference + "; this master names no boots, so satellites can't be"
                    + " told: remove the topic and start all of them anew");
        }
        log.error("the log is of another history, it is emptied and all satellites clone again: was the master restored or reset?"
                + " reason=\"{}\"", difference);
        return true;
    }

    /**
     * Nothing of the log counts any more. Satellites lack the mark, so they clone again. It is committed when the log is empty: whoever
     * clones it finds no older record.
     */
    private GtidSet beginHistory(MasterHistory history, Master master) throws Exception {
        try (Admin admin = admin()) {
            LogTopic.empty(admin, config.topic());
        }
        GtidSet set = master.executed().union(history.mark());
        log.info("the log is empty, starting at the master's position gtids={}", set);
        return set;
    }

    /** What the log contains; plus what the master can't deliver any more. */
    private GtidSet startSet(State state, Master master) throws Exception {
        if (state.broken() != null) {
            metrics.add(Metric.CAPTURE_BROKEN_LOG, 1);
            log.error("the log is broken, a new epoch goes on from before that place epoch={} offset={} what=\"{}\"", state.epoch(),
                    state.broken().offset(), state.broken().what());
        }
        GtidSet purged = master.purged();
        if (!state.set().containsAll(purged)) {
            log.warn("the master purged transactions that the log lacks, satellites that lack them clone again gtids={}",
                    purged.minus(state.set()));
        }
        return state.set().union(purged);
    }

    /** Appends an epoch start, and again with a higher number or set until nobody else's lies before it unseen. */
    private Claim claim(LogTail tail, State state, GtidSet set, String serverUuid) throws Exception {
        EpochClaim claim = EpochClaim.after(state, set);
        for (int i = 0; i < MAX_CLAIMS; i++) {
            LogWriter writer = new LogWriter(config.log(), config.topic(), claim.number(), LINGER_MS, live::publish, metrics);
            boolean kept = false;
            try {
                long own = writer.appendEpochStart(claim.set(), serverUuid);
                State before = tail.readUpTo(own);
                if (claim.holds(before)) {
                    kept = true;
                    log.info("epoch started epoch={} offset={} gtids={}", claim.number(), own, claim.set());
                    return new Claim(claim.number(), claim.set(), writer);
                }
                claim = claim.next(before);
            } finally {
                if (!kept) {
                    writer.close();
                }
            }
        }
        throw new IllegalStateException("other captures keep starting");
    }

    private void stream(Claim claim, LogTail tail, Master master, MasterHistory history) throws Exception {
        metrics.set(Metric.CAPTURE_EPOCH, claim.number());
        metrics.set(Metric.CAPTURE_POSITION, claim.set().count());
        Collations collations = master.collations();
        Classifier classifier = new Classifier(collations, master.systemTimeZone());
        Checks checks = new Checks();
        RowSource rows = new RowSource(new ColumnKinds(collations), metrics);
        try (PlainTables plain = new PlainTables(config.master());
                RoutinePrivileges routines = new RoutinePrivileges(config.master());
                UnloggedGtids gaps = new UnloggedGtids(config.master());
                Comparison comparison = new Comparison(config.master(), checks, pass, metrics)) {
            EpochKeeper epoch = new EpochKeeper(
                    claim.writer(), tail, gaps, history, claim.number(), claim.set(), master.serverUuid(), metrics, readiness);
            RecordWriter writer = new RecordWriter(claim.writer(), metrics);
            LargeTransaction.Factory large = new LargeTransaction.Factory(classifier, writer, epoch);
            XaWriter xa = new XaWriter(prepared, new PreparedInBinlog(config.master()), writer, large, epoch);
            VerdictWriter verdicts = new VerdictWriter(classifier, plain, routines, rows, writer, xa, epoch, checks);
            Sequencer sequencer = new Sequencer(config, verdicts, large, rows, epoch, prepared, tableStream);
            prepared.resumeFrom(claim.set());
            tableStream.restart(master.serverUuid(), claim.set());
            TableTeller teller = new TableTeller(tableStream, config.testFault());
            ReadAhead ahead = new ReadAhead(READ_AHEAD_BYTES);
            reader = new BinlogReader(config.master(), claim.set(), event -> ahead.add(event, teller.event(event)));
            if (!closed) {
                ahead.run(reader::run, reader::close, sequencer);
            }
        }
    }

    /** May be called from another thread; the transaction in hand is dropped if it is not complete. */
    @Override
    public void close() {
        closed = true;
        BinlogReader current = reader;
        if (current != null) {
            current.close();
        }
    }
}
