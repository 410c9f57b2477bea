package multimed.live;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Whose satellite may clone again. In: appliers that ask for a turn, or have one. Out: a turn to the next when nobody has one. Nobody gets
 * a turn at first: who has one from an earlier process of capture says so again. Must never: let one that does not come to an end keep the
 * others waiting for good.
 */
public final class Turns {
    /** Longer than an applier takes to notice that capture has begun anew. */
    public static final Duration FIRST = Duration.ofSeconds(20);
    /** Longer than an applier takes to say again that it has one, when its connection has dropped. */
    private static final Duration AGAIN = Duration.ofSeconds(3);
    /** Longer than a clone of what fits into memory takes. */
    public static final Duration LONGEST = Duration.ofHours(1);
    private static final byte[] FRAME = ByteBuffer.allocate(Integer.BYTES + 1).putInt(1).array();

    private final Duration longest;
    private final Set<LiveConnection> holders = new HashSet<>();
    private final Deque<LiveConnection> waiting = new ArrayDeque<>();
    private boolean open;

    /**
     * @param first how long those with a turn may take to say so
     * @param longest after this time the next one's comes, too
     */
    public Turns(Duration first, Duration longest) {
        this.longest = longest;
        after(first).execute(this::open);
    }

    private static Executor after(Duration time) {
        return CompletableFuture.delayedExecutor(time.toMillis(), TimeUnit.MILLISECONDS);
    }

    private synchronized void open() {
        open = true;
        next();
    }

    synchronized void await(LiveConnection applier) {
        waiting.add(applier);
        next();
    }

    synchronized void hold(LiveConnection applier) {
        holders.add(applier);
        after(longest).execute(() -> end(applier));
    }

    /** Its connection has ended. */
    synchronized void leave(LiveConnection applier) {
        waiting.remove(applier);
        if (holders.contains(applier)) {
            after(AGAIN).execute(() -> end(applier));
        }
    }

    private synchronized void end(LiveConnection applier) {
        holders.remove(applier);
        next();
    }

    private void next() {
        if (open && holders.isEmpty() && !waiting.isEmpty()) {
            LiveConnection applier = waiting.remove();
            hold(applier);
            applier.send(FRAME);
        }
    }
}
