package multimed.engine;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import multimed.master.MasterAccess;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Entry point of {@code cdc-applier decode}: Debezium's connector alone, with a connection of its own to the binlog; capture
 * is compared with it. In: capture's settings. Out: {@code ready}, then once a second the rows decoded so far and the seconds that took, pauses
 * between loads left out, on standard output, until it is killed. Must never: write anywhere.
 */
public final class DecodeRate {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final AtomicLong rows = new AtomicLong();
    private final AtomicLong busyNanos = new AtomicLong();
    private final CountDownLatch ended = new CountDownLatch(1);
    private long lastAt = System.nanoTime();

    private DecodeRate() {}

    /** Returns the exit status: 1, since it is to be killed. */
    public static int run(MasterAccess access) {
        try {
            new DecodeRate().follow(access);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return 1;
    }

    private void follow(MasterAccess access) throws InterruptedException {
        DebeziumTask engine = DebeziumEngines.create(access, this::take, error -> ended.countDown());
        Thread thread = new Thread(engine, "debezium");
        thread.setDaemon(true);
        thread.start();
        while (!ended.await(1, TimeUnit.SECONDS)) {
            System.out.printf("rows=%d seconds=%.3f%n", rows.get(), busyNanos.get() / 1e9);
        }
        engine.close();
    }

    private void take(SourceRecord record) {
        if (!(record.value() instanceof Struct value)) {
            return;
        }
        if (isReady(record.topic(), value)) {
            System.out.println("ready");
        } else if (value.schema().field("op") != null) {
            long now = System.nanoTime();
            busyNanos.addAndGet(now - lastAt < PAUSE_NANOS ? now - lastAt : 0);
            rows.incrementAndGet();
            lastAt = now;
        }
    }

    /** Whether this is Debezium's notice that it has read the schemas. */
    private static boolean isReady(String topic, Struct notice) {
        return DebeziumEngines.NOTIFICATIONS.equals(topic) && notice.getString("aggregate_type").equals("Initial Snapshot")
                && notice.getString("type").equals("COMPLETED");
    }
}
