package multimed.apply;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** {@code cdc-applier} as its own process, so that it can be killed. Its log stays in target/it-logs. */
final class CdcProcess implements AutoCloseable {
    private final Process process;
    private final int port;
    private final int tableStreamPort;
    private final File log;

    CdcProcess(String command, TestKafka kafka, Map<String, String> settings) throws IOException {
        port = freePort();
        tableStreamPort = freePort();
        log = Files.createTempFile(Files.createDirectories(Path.of("target", "it-logs")), kafka.topic() + "-" + command + "-", ".log")
                .toFile();
        ProcessBuilder builder = new ProcessBuilder(ProcessHandle.current().info().command().orElse("java"), "-Xmx256m",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "multimed.Main", command);
        builder.environment()
                .putAll(Map.of("KAFKA_BOOTSTRAP", kafka.bootstrap(), "LOG_TOPIC", kafka.topic(), "STATUS_LISTEN", "127.0.0.1:" + port,
                        "TABLE_STREAM_LISTEN", "127.0.0.1:" + tableStreamPort, "LIVE_LISTEN", "127.0.0.1:" + freePort(),
                        "LOG_AUTHENTICATION", "off"));
        builder.environment().putAll(settings);
        process = builder.redirectErrorStream(true).redirectOutput(log).start();
    }

    static CdcProcess capture(TestKafka kafka, TestMysql master) throws IOException {
        return capture(kafka, master, Map.of());
    }

    static CdcProcess capture(TestKafka kafka, TestMysql master, Map<String, String> settings) throws IOException {
        Map<String, String> all = new HashMap<>(Map.of("MASTER_HOST", master.address(), "CAPTURE_USER", TestMysql.USER,
                "CAPTURE_PASSWORD", TestMysql.PASSWORD));
        all.putAll(settings);
        return new CdcProcess("capture", kafka, all);
    }

    static CdcProcess applier(TestKafka kafka, TestMysql satellite, Map<String, String> settings) throws IOException {
        Map<String, String> all = new HashMap<>(Map.of("SATELLITE_HOST", satellite.address(), "APPLIER_USER", TestMysql.USER,
                "APPLIER_PASSWORD", TestMysql.PASSWORD, "APPLIER_REBUILD_FILE", "/tmp/rebuild"));
        all.putAll(settings);
        return new CdcProcess("apply", kafka, all);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    int tableStreamPort() {
        return tableStreamPort;
    }

    String get(String path) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
        HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        return response.statusCode() + " " + response.body();
    }

    String log() throws IOException {
        return Files.readString(log.toPath());
    }

    /** Of a process that ends by itself. */
    int exitStatus() throws InterruptedException {
        if (!process.waitFor(30, TimeUnit.SECONDS)) {
            throw new AssertionError("still running");
        }
        return process.exitValue();
    }

    /** kill -9. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** SIGTERM; returns the exit status. */
    int terminate() throws InterruptedException {
        process.destroy();
        return process.waitFor();
    }

    @Override
    public void close() throws InterruptedException {
        kill();
    }
}
