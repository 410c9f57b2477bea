package multimed.process;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.DoubleAdder;

/** Current values of the metrics that {@link Metric} lists. Thread safe. */
public final class Metrics {
    private record Series(Metric metric, String label) {}

    private final Map<Series, DoubleAdder> counters = new ConcurrentHashMap<>();
    private final Map<Metric, Double> gauges = new ConcurrentHashMap<>();
    private final Map<Metric, Histogram> histograms = new ConcurrentHashMap<>();

    public void add(Metric metric, double n) {
        add(metric, "", n);
    }

    public void add(Metric metric, String label, double n) {
        counters.computeIfAbsent(new Series(metric, label), s -> new DoubleAdder()).add(n);
    }

    public void set(Metric metric, double value) {
        gauges.put(metric, value);
    }

    public void observe(Metric metric, double seconds) {
        histograms.computeIfAbsent(metric, m -> new Histogram()).observe(seconds);
    }

    /** Everything in Prometheus' text format, version 0.0.4. */
    String prometheusText() {
        StringBuilder out = new StringBuilder();
        for (Metric metric : Metric.values()) {
            StringBuilder values = new StringBuilder();
            print(metric, values);
            if (values.length() > 0) {
                out.append("# HELP ").append(metric.name).append(' ').append(metric.help).append('\n');
                out.append("# TYPE ").append(metric.name).append(' ').append(metric.kind.name().toLowerCase()).append('\n');
                out.append(values);
            }
        }
        return out.toString();
    }

    private void print(Metric metric, StringBuilder out) {
        switch (metric.kind) {
            case COUNTER -> printCounters(metric, out);
            case GAUGE -> {
                Double value = gauges.get(metric);
                if (value != null) {
                    line(metric, "", value, out);
                }
            }
            case HISTOGRAM -> {
                Histogram histogram = histograms.get(metric);
                if (histogram != null) {
                    histogram.print(metric.name, out);
                }
            }
        }
    }

    private void printCounters(Metric metric, StringBuilder out) {
        Map<String, Double> sorted = new TreeMap<>();
        counters.forEach((series, adder) -> {
            if (series.metric == metric) {
                sorted.put(series.label, adder.sum());
            }
        });
        sorted.forEach((label, value) -> line(metric, label, value, out));
    }

    private static void line(Metric metric, String label, double value, StringBuilder out) {
        out.append(metric.name);
        if (metric.label != null) {
            out.append('{').append(metric.label).append("=\"").append(escape(label)).append("\"}");
        }
        out.append(' ').append(value).append('\n');
    }

    private static String escape(String label) {
        return label.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
    }
}
