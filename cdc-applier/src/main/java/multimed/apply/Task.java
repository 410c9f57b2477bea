package multimed.apply;

import multimed.log.LogEvent.Part;

/** A whole transaction on its way through the {@link Pipeline}. */
final class Task {
    enum State {
        WAITING,
        RUNNING,
        /** All but COMMIT is done. */
        EXECUTED,
        COMMITTING,
        /** To be executed again when all before it is committed. */
        ROLLED_BACK,
        FAILED
    }

    final long number;
    final Part part;
    /** Number of the newest task that must be committed before this one may begin (MySQL's term); 0 if none must. */
    final long commitParent;
    State state = State.WAITING;
    PipelineSession session;
    Exception failure;

    Task(long number, Part part, long commitParent) {
        this.number = number;
        this.part = part;
        this.commitParent = commitParent;
    }
}
