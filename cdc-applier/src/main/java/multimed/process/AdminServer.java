package multimed.process;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * GET /live: 200 while the process runs. GET /ready: 200, or 503 with the reason. GET /metrics: Prometheus text.
 * Anything else: 404. Must never: change state.
 */
public final class AdminServer implements AutoCloseable {
    private final HttpServer server;
    private final ExecutorService threads;

    /** Port 0 binds any free port, see {@link #port()}. */
    public AdminServer(Address listen, Readiness readiness, Metrics metrics) throws IOException {
        server = HttpServer.create(listen.resolve(), 16);
        metrics.observeProcess();
        threads = Executors.newFixedThreadPool(2, AdminServer::daemon);
        server.setExecutor(threads);
        server.createContext("/", x -> answer(x, 404, "not found\n"));
        server.createContext("/live", x -> answer(x, 200, "live\n"));
        server.createContext("/ready", x -> ready(x, readiness));
        server.createContext("/metrics", x -> metrics(x, readiness, metrics));
        server.start();
    }

    public int port() {
        return server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }

    private static void ready(HttpExchange exchange, Readiness readiness) throws IOException {
        String reason = readiness.reason().orElse(null);
        if (reason == null) {
            answer(exchange, 200, "ready\n");
        } else {
            answer(exchange, 503, "not ready: " + reason + "\n");
        }
    }

    private static void metrics(HttpExchange exchange, Readiness readiness, Metrics metrics) throws IOException {
        metrics.set(Metric.READY, readiness.reason().isEmpty() ? 1 : 0);
        answer(exchange, 200, metrics.prometheusText());
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        try (exchange) {
            boolean get = exchange.getRequestMethod().equals("GET");
            byte[] body = (get ? text : "only GET\n").getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            exchange.sendResponseHeaders(get ? status : 405, body.length);
            exchange.getResponseBody().write(body);
        }
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "admin");
        thread.setDaemon(true);
        return thread;
    }
}
