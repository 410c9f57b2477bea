package multimed.process;

/** Exit statuses besides 0 and Java's own 1. docs/settings.md lists them for operators. */
public final class ExitStatus {
    /** Wrong usage or settings. */
    public static final int USAGE = 64;
    /** Apply's status port is taken. */
    public static final int APPLY_CANNOT_LISTEN = 69;
    /** Capture must not go on: an operator must act. */
    public static final int FATAL = 70;
    /** Capture's status port, or that of the table stream, is taken. */
    public static final int CAPTURE_CANNOT_LISTEN = 71;
    /** The log's broker refuses the account. */
    public static final int REFUSED = 77;

    private ExitStatus() {}
}
