package multimed.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;

class AdminServerTest {
    private final Readiness readiness = new Readiness("starting");
    private final Metrics metrics = new Metrics();

    private HttpResponse<String> get(AdminServer server, String path) throws IOException, InterruptedException {
        URI uri = URI.create("http://127.0.0.1:" + server.port() + path);
        return HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void answers_live_ready_and_metrics() throws IOException, InterruptedException {
        try (AdminServer server = new AdminServer(new Address("127.0.0.1", 0), readiness, metrics)) {
            assertEquals(200, get(server, "/live").statusCode());
            assertEquals(503, get(server, "/ready").statusCode());
            assertTrue(get(server, "/ready").body().contains("starting"));
            readiness.ready();
            assertEquals(200, get(server, "/ready").statusCode());
            assertEquals(404, get(server, "/other").statusCode());
            metrics.add(Metric.CAPTURE_RAW, "type", 2);
            metrics.observe(Metric.CAPTURE_LAG, 0.003);
            String text = get(server, "/metrics").body();
            assertTrue(text.contains("multimed_capture_raw_total{reason=\"type\"} 2.0"), text);
            assertTrue(text.contains("multimed_capture_lag_seconds_count 1"), text);
            assertTrue(text.contains("multimed_ready 1.0"), text);
            assertTrue(text.contains("process_cpu_seconds_total "), text);
        }
    }
}
