package multimed.capture.comparison;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.LongSupplier;

/**
 * One pass over all tables after the other: what comes next, and when. Pure; time and chance are handed in. Lives as long as the process, over
 * epochs; one thread at a time. Must never: go faster than the pass is to take, or than it rests.
 *
 * <p>Each pass begins with another table, so that a capture that restarts often does not compare the same ones again and again.
 */
public final class Pass {
    /** A piece takes master and satellites one part of the time, and nothing is done for so many more. */
    private static final long REST = 20;

    /** The table in hand, and its pieces. */
    record Open(PieceQuery query, TableWalk walk) {}

    private final long lengthNanos;
    private final LongSupplier clock;
    private final Random random;
    private final ArrayDeque<ComparedTable> left = new ArrayDeque<>();
    private Open open;
    private long beganAt;
    private long restedAt;
    /** Of all tables, of those that are done, and rows of the one in hand. */
    private double weight;
    private double done;
    private long rows;
    private int skipped;
    private boolean possible = true;

    /** @param hours that a pass should take; 0: there is none */
    public static Pass every(double hours) {
        return new Pass(hours, System::nanoTime, new Random());
    }

    Pass(double hours, LongSupplier clock, Random random) {
        lengthNanos = (long) (hours * 3.6e12);
        this.clock = clock;
        this.random = random;
        restedAt = clock.getAsLong();
        beganAt = restedAt - lengthNanos;
    }

    boolean isWanted() {
        return lengthNanos > 0;
    }

    /** False once it is known that the master can't be compared with. */
    boolean isPossible() {
        return possible;
    }

    void impossible() {
        possible = false;
    }

    /** Whether there is nothing left to compare. */
    boolean isOver() {
        return left.isEmpty();
    }

    /** How long to wait for the next piece; or for the next pass, if this one is over. */
    long nanosUntilDue() {
        double share = isOver() ? 1 : Math.min(1, (done + expected()) / weight);
        long due = beganAt + (long) (share * lengthNanos);
        long now = clock.getAsLong();
        return Math.max(0, Math.max(due - now, restedAt - now));
    }

    private double expected() {
        long size = open == null ? TableWalk.MOST_ROWS : open.walk().size();
        return Math.min(left.peek().weight(), rows + size);
    }

    /** Returns the tables whose primary key is of no use. */
    List<ComparedTable> begin(List<ComparedTable> tables) {
        List<ComparedTable> usable = new ArrayList<>(tables.stream().filter(ComparedTable::hasUsableKey).toList());
        Collections.shuffle(usable, random);
        left.addAll(usable);
        weight = usable.stream().mapToDouble(ComparedTable::weight).sum();
        done = 0;
        rows = 0;
        open = null;
        beganAt = clock.getAsLong();
        List<ComparedTable> unusable = tables.stream().filter(t -> !t.hasUsableKey()).toList();
        skipped = unusable.size();
        return unusable;
    }

    /** The table in hand. */
    ComparedTable table() {
        return left.peek();
    }

    /** Null: nobody has looked at its columns yet. */
    Open open() {
        return open;
    }

    Open open(PieceQuery query) {
        open = new Open(query, new TableWalk(table().rowBytes()));
        return open;
    }

    void compared(Piece piece, long rowsOfPiece, long nanos) {
        open.walk().compared(piece, nanos);
        rows += rowsOfPiece;
        goOn();
    }

    /** A lock could not be had, or it took too long. Returns whether the piece is given up. */
    boolean blocked(Piece piece) {
        boolean givenUp = open.walk().blocked(piece);
        goOn();
        return givenUp;
    }

    private void goOn() {
        if (open.walk().isOver()) {
            next();
        }
    }

    /** What is left of the table in hand is not compared in this pass. */
    void skip() {
        skipped++;
        next();
    }

    private void next() {
        done += left.remove().weight();
        open = null;
        rows = 0;
    }

    /** After something that took so long. */
    void rest(long nanos) {
        restedAt = clock.getAsLong() + REST * nanos;
    }

    /** From 0 to 1. */
    double progress() {
        return isOver() ? 1 : (done + Math.min(left.peek().weight(), rows)) / weight;
    }

    /** Tables that are not compared in this pass. */
    int skipped() {
        return skipped;
    }
}
