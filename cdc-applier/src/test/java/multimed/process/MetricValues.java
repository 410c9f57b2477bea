package multimed.process;

/** What /metrics says, for tests of other packages. */
public final class MetricValues {
    private MetricValues() {}

    /** @param series as it is printed, {@code name} or {@code name{label="value"}}; 0 if it is not there */
    public static double of(Metrics metrics, String series) {
        return metrics.prometheusText().lines().filter(l -> l.startsWith(series + " "))
                .mapToDouble(l -> Double.parseDouble(l.substring(series.length() + 1))).sum();
    }
}
