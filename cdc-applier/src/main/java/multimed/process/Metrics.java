package multimed.process;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.instrumentation.jvm.JvmMemoryMetrics;
import io.prometheus.metrics.instrumentation.jvm.ProcessMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Current values of the metrics that {@link Metric} lists, each from its first use on, and of the process itself. Thread safe. */
public final class Metrics {
    /** So that percentiles read from a histogram are at most 16 % off. */
    private static final int BUCKETS_PER_DECADE = 16;
    private static final int DECADES = 8;
    private static final double FIRST_BOUND_S = 1e-4;
    private static final double[] BOUNDS_S = bounds();

    private final PrometheusRegistry registry = new PrometheusRegistry();
    private final PrometheusTextFormatWriter writer = PrometheusTextFormatWriter.create();
    private final Map<Metric, Counter> counters = new ConcurrentHashMap<>();
    private final Map<Metric, Gauge> gauges = new ConcurrentHashMap<>();
    private final Map<Metric, Histogram> histograms = new ConcurrentHashMap<>();

    /** Adds what the process itself takes: CPU, memory, files. */
    void observeProcess() {
        ProcessMetrics.builder().register(registry);
        JvmMemoryMetrics.builder().register(registry);
    }

    public void add(Metric metric, double n) {
        counter(metric).inc(n);
    }

    public void add(Metric metric, String label, double n) {
        counter(metric).labelValues(label).inc(n);
    }

    public void set(Metric metric, double value) {
        gauges.computeIfAbsent(metric, m -> Gauge.builder().name(m.name).help(m.help).register(registry)).set(value);
    }

    public void observe(Metric metric, double seconds) {
        histograms.computeIfAbsent(metric, this::histogram).observe(Math.max(0, seconds));
    }

    /** Everything in Prometheus' text format, version 0.0.4. */
    String prometheusText() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try {
            writer.write(out, registry.scrape());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return out.toString(StandardCharsets.UTF_8);
    }

    private Counter counter(Metric metric) {
        return counters.computeIfAbsent(metric, m -> {
            Counter.Builder builder = Counter.builder().name(m.name).help(m.help);
            return (m.label == null ? builder : builder.labelNames(m.label)).register(registry);
        });
    }

    private Histogram histogram(Metric metric) {
        return Histogram.builder().name(metric.name).help(metric.help).classicOnly().classicUpperBounds(BOUNDS_S).register(registry);
    }

    private static double[] bounds() {
        double[] bounds = new double[DECADES * BUCKETS_PER_DECADE];
        for (int i = 0; i < bounds.length; i++) {
            bounds[i] = FIRST_BOUND_S * Math.pow(10, (double) i / BUCKETS_PER_DECADE);
        }
        return bounds;
    }
}
