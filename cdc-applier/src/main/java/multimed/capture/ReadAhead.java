package multimed.capture;

import java.io.EOFException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import multimed.binlog.BinlogEvent;
import multimed.binlog.BinlogReader;

/**
 * The binlog is read on a thread of its own: a transaction that is being decoded and written holds up neither the reading of the next
 * ones nor the table stream. In: events, from the reader's thread. Out: the same in the same order, on capture's thread. Bounded in
 * bytes: when it is full, the reader waits. Must never: lose an event and go on, or swallow the error of either thread.
 */
final class ReadAhead {
    /** Events are handed over at the end of a transaction, or when so many bytes of one have come: a wake-up each would cost too much. */
    private static final long BATCH_BYTES = 64 * 1024;

    /** Gives events to {@link #add} until it is told to end, or throws. */
    interface Source {
        void read() throws Exception;
    }

    private record Batch(List<BinlogEvent> events, long bytes) {}

    private final long mostBytes;
    /** Of the reader's thread. */
    private List<BinlogEvent> gathered = new ArrayList<>();
    private long gatheredBytes;

    private final ArrayDeque<Batch> batches = new ArrayDeque<>();
    /** Of the batches, and of the one that capture's thread has in hand. */
    private long bytes;
    private boolean ended;
    /** What ended the source; null if it was closed. */
    private Exception failure;
    private boolean stopped;

    ReadAhead(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /**
     * From the source, on its thread.
     *
     * @param due whether the event completes something, so that what has been gathered is of use
     */
    void add(BinlogEvent event, boolean due) throws EOFException, InterruptedException {
        gathered.add(event);
        gatheredBytes += event.length();
        if (due || gatheredBytes >= BATCH_BYTES) {
            Batch batch = new Batch(gathered, gatheredBytes);
            gathered = new ArrayList<>();
            gatheredBytes = 0;
            handOver(batch);
        }
    }

    private synchronized void handOver(Batch batch) throws EOFException, InterruptedException {
        while (!stopped && bytes > 0 && bytes + batch.bytes() > mostBytes) {
            wait();
        }
        if (stopped) {
            throw new EOFException("nobody takes the events any more");
        }
        bytes += batch.bytes();
        batches.add(batch);
        notifyAll();
    }

    /**
     * Runs the source on a thread of its own and the sink on this one. Returns when the source was closed; what it had read and the
     * sink had not taken is dropped then. Throws what ended the source, after the sink has taken all that came before, or what the sink
     * throws. The source's thread has ended in each case.
     *
     * @param close makes the source return, from any thread
     */
    void run(Source source, Runnable close, BinlogReader.Sink sink) throws Exception {
        Thread thread = new Thread(() -> read(source), "binlog-reader");
        thread.setDaemon(true);
        thread.start();
        try {
            for (Batch batch = take(null); batch != null; batch = take(batch)) {
                for (BinlogEvent event : batch.events()) {
                    sink.event(event);
                }
            }
        } finally {
            stop();
            close.run();
            thread.join();
        }
        if (failure != null) {
            throw failure;
        }
    }

    private void read(Source source) {
        Exception end = null;
        try {
            source.read();
        } catch (Exception e) {
            end = e;
        }
        ended(end);
    }

    private synchronized void ended(Exception end) {
        ended = true;
        failure = end;
        if (end == null) {
            batches.clear();
        }
        notifyAll();
    }

    /** The next batch; null after the last. */
    private synchronized Batch take(Batch done) throws InterruptedException {
        bytes -= done == null ? 0 : done.bytes();
        notifyAll();
        while (batches.isEmpty() && !ended) {
            wait();
        }
        return batches.poll();
    }

    private synchronized void stop() {
        stopped = true;
        notifyAll();
    }
}
