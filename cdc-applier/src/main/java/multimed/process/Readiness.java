package multimed.process;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/** Why a process is not ready, in one line; empty once it is. Thread safe. */
public final class Readiness {
    private final AtomicReference<String> reason;

    public Readiness(String initialReason) {
        reason = new AtomicReference<>(initialReason);
    }

    public void ready() {
        reason.set(null);
    }

    /** Returns whether this changed anything, so that the caller can log the change once. */
    public boolean notReady(String why) {
        return !why.equals(reason.getAndSet(why));
    }

    public Optional<String> reason() {
        return Optional.ofNullable(reason.get());
    }
}
