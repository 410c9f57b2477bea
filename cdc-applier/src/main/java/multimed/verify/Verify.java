package multimed.verify;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import multimed.binlog.NextTransaction;
import multimed.capture.CaptureConfig;
import multimed.gtid.GtidSet;
import multimed.log.LogBrokenException;
import multimed.log.LogTail.Newest;
import multimed.log.LogTopic;
import multimed.log.proto.LogRecord;
import multimed.master.Master;
import multimed.process.ConfigException;
import multimed.process.Settings;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;

/**
 * Entry point of {@code cdc-applier verify}: proves on a running system that the log has every GTID of the master once and in
 * commit order, and that each satellite's set is a prefix of it. Reads only. First the satellites' sets are taken, then the
 * master's, then the log is read until it contains the master's: the master may be written to meanwhile. Prints one line per check; exit status 0
 * all hold, 1 something differs, 2 could not be proven (out of reach, or the log does not get there in time). Must never: pass what
 * it has not read.
 */
public final class Verify {
    private static final Duration POLL = Duration.ofMillis(500);
    private static final long READ_TIMEOUT_NANOS = Duration.ofSeconds(30).toNanos();
    private static final long AHEAD_MS = 5000;
    private static final int LOGINS = 3;
    /** Asked several times; one that hangs must not hold the proof up for minutes. */
    private static final int SATELLITE_ANSWERS_MS = 5000;
    private static final String NOT_READ = "the log was not read beyond the first difference";

    private final CaptureConfig config;
    private final long timeoutNanos;
    private final List<String> satellites;
    private final List<PrefixProof> prefixes = new ArrayList<>();
    private final Map<String, String> outOfReach = new HashMap<>();
    private int status;

    private Verify(CaptureConfig config, long timeoutSeconds, List<String> satellites) {
        this.config = config;
        this.timeoutNanos = Duration.ofSeconds(timeoutSeconds).toNanos();
        this.satellites = satellites;
    }

    /** The arguments are the satellites' addresses, host:port. */
    public static int run(List<String> args, Map<String, String> env) {
        for (String each : args) {
            if (!each.matches("[^:/?\\s]+:[0-9]{1,5}")) {
                throw new ConfigException(List.of("verify takes satellites as host:port, not " + each));
            }
        }
        Settings settings = new Settings(env);
        long timeout = settings.number("VERIFY_TIMEOUT_S", 60, 1, 86_400);
        settings.check();
        return new Verify(CaptureConfig.forReading(env), timeout, args).prove();
    }

    private int prove() {
        try (Master master = connected(() -> new Master(config.master()));
                BinlogListing binlog = connected(() -> new BinlogListing(config.master()))) {
            for (String each : satellites) {
                ask(each);
            }
            GtidSet target = target(master);
            System.out.println("master at " + target);
            OrderProof order = new OrderProof(binlog);
            List<LogProof.Listener> listeners = new ArrayList<>(prefixes);
            listeners.add(order);
            LogProof log = new LogProof(listeners);
            read(log, order, target);
            report(log, order, master, target);
        } catch (SQLException | KafkaException e) {
            notProven("verify", "out of reach: " + firstLine(e));
        } catch (Exception e) {
            notProven("verify", e.toString());
        }
        return status;
    }

    /** One that is out of reach does not keep the others, or the log, from being proven. */
    private void ask(String satellite) throws Exception {
        try {
            prefixes.add(new PrefixProof(name(satellite), connected(() -> executed(satellite))));
        } catch (SQLException e) {
            outOfReach.put(name(satellite), "out of reach: " + firstLine(e));
        }
    }

    private static String name(String address) {
        return address.substring(0, address.indexOf(':'));
    }

    private static String firstLine(Exception e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    }

    /** On a busy machine a JVM that has just started can take longer for a login than the server's connect_timeout. */
    private static <T> T connected(Callable<T> login) throws Exception {
        for (int i = 1;; i++) {
            try {
                return login.call();
            } catch (SQLException e) {
                if (i == LOGINS) {
                    throw e;
                }
            }
        }
    }

    private GtidSet executed(String satellite) throws SQLException {
        try (Connection c = config.master().connect(satellite, SATELLITE_ANSWERS_MS);
                Statement s = c.createStatement();
                ResultSet r = s.executeQuery("SELECT @@GLOBAL.gtid_executed")) {
            r.next();
            return GtidSet.parse(r.getString(1));
        }
    }

    /** The master's set; a satellite can be an instant ahead of it. */
    private GtidSet target(Master master) throws SQLException, InterruptedException {
        long end = System.nanoTime() + Duration.ofMillis(AHEAD_MS).toNanos();
        GtidSet target = master.executed();
        while (!allWithin(target) && System.nanoTime() < end) {
            Thread.sleep(100);
            target = master.executed();
        }
        return target;
    }

    private boolean allWithin(GtidSet target) {
        return prefixes.stream().allMatch(p -> target.containsAll(p.executed()));
    }

    /** Until the log has the target or a check has failed; beyond the end that it has now, only until the deadline. */
    private void read(LogProof log, OrderProof order, GtidSet target) throws Exception {
        var partition = LogTopic.partition(config.topic());
        try (KafkaConsumer<byte[], byte[]> consumer = LogTopic.consumer(config.log(), config.topic())) {
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            consumer.seek(partition, consumer.beginningOffsets(List.of(partition)).get(partition));
            long deadline = System.nanoTime() + Math.max(timeoutNanos, READ_TIMEOUT_NANOS);
            while (!decided(log, order, target) && System.nanoTime() < deadline) {
                boolean old = consumer.position(partition) < end;
                if (!old && log.difference() != null) {
                    return;
                }
                var records = consumer.poll(POLL);
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    accept(log, record);
                }
                if (old && !records.isEmpty()) {
                    deadline = System.nanoTime() + timeoutNanos;
                }
            }
        }
    }

    private static void accept(LogProof log, ConsumerRecord<byte[], byte[]> record) throws Exception {
        LogRecord parsed;
        try {
            parsed = LogTopic.parse(record);
        } catch (LogBrokenException e) {
            log.unreadable(e.getMessage(), record.offset());
            return;
        }
        log.accept(parsed, record.offset());
    }

    private static boolean decided(LogProof log, OrderProof order, GtidSet target) {
        boolean failed = log.failed() || order.difference() != null;
        return failed || log.set() != null && log.set().containsAll(target);
    }

    private void report(LogProof log, OrderProof order, Master master, GtidSet target) throws Exception {
        boolean whole = log.difference() == null && order.difference() == null;
        line("log", log.difference(), log.counts());
        if (log.set() == null) {
            notProven("set", "the log has no epoch start: nothing tells what lies before it");
            return;
        }
        set(log, master, target, whole);
        line("order", order.difference(), order.counts());
        Iterator<PrefixProof> reached = prefixes.iterator();
        for (String each : satellites) {
            if (outOfReach.containsKey(name(each))) {
                notProven(name(each), outOfReach.get(name(each)));
            } else {
                satellite(reached.next(), whole, log.set().union(target));
            }
        }
    }

    private void satellite(PrefixProof proof, boolean whole, GtidSet all) {
        if (whole) {
            proof.end(all);
            line(proof.name(), proof.difference(), proof.counts());
        } else {
            notProven(proof.name(), NOT_READ);
        }
    }

    private void set(LogProof log, Master master, GtidSet target, boolean whole) throws Exception {
        GtidSet lacking = target.minus(log.set());
        GtidSet never = log.passedOver(lacking);
        GtidSet unread = log.withoutRecord().minus(master.purged());
        Newest other = otherInBinlog(log, master);
        if (other != null) {
            line("set", "another history: " + other.gtid() + " of the log was committed at another time than the master's", "");
        } else if (!unread.isEmpty()) {
            line("set", "no record for " + unread + ", which the master's binlogs have", "");
        } else if (!never.isEmpty()) {
            line("set", "the log lacks " + never + " and has later ones", "");
        } else if (!lacking.isEmpty()) {
            notProven("set", whole ? "the log has not reached " + lacking + " in time: is capture running?" : NOT_READ);
        } else {
            line("set", foreign(log, master), "equal to the master's gtid_executed, " + target.count() + " GTIDs");
        }
    }

    /** The log's newest transaction, if the master gave its GTID to another one: after it was restored from a copy, or reset. */
    private Newest otherInBinlog(LogProof log, Master master) throws Exception {
        Newest newest = log.newest();
        GtidSet purged = master.purged();
        if (newest == null || purged.contains(newest.gtid()) || !master.executed().contains(newest.gtid())) {
            return null;
        }
        return NextTransaction.is(config.master(), newest, log.set().union(purged)) ? null : newest;
    }

    /** A transaction is sent to replicas an instant before the master's own set has it. */
    private static String foreign(LogProof log, Master master) throws SQLException, InterruptedException {
        GtidSet foreign = log.set().minus(master.executed());
        for (long waited = 0; !foreign.isEmpty() && waited < AHEAD_MS; waited += 100) {
            Thread.sleep(100);
            foreign = log.set().minus(master.executed());
        }
        return foreign.isEmpty() ? null : "the log has " + foreign + ", which the master lacks: another history";
    }

    private void line(String check, String difference, String counts) {
        print(check, difference == null ? "holds" : "DIFFERS", difference == null ? counts : difference);
        status = difference == null ? status : 1;
    }

    private void notProven(String check, String why) {
        print(check, "UNKNOWN", why);
        status = status == 0 ? 2 : status;
    }

    private static void print(String check, String verdict, String text) {
        System.out.printf("  %-12s %-8s %s%n", check, verdict, text);
    }
}
