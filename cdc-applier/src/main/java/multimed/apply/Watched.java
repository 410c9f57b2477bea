package multimed.apply;

/** A session of the applier's, as {@link BlockerWatch} sees it, from its own thread. */
interface Watched {
    long connectionId();

    /** When the statement in flight began, by System.nanoTime(); 0 if there is none. */
    long busySinceNanos();

    /** Makes what is in flight fail. */
    void abort();
}
