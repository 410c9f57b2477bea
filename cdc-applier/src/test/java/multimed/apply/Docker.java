package multimed.apply;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * Containers of one test run: started by name, removed after their class of tests, those for all classes when the JVM ends. Classes run one
 * after the other. No fixed sleeps: {@link #await}.
 */
final class Docker {
    private static final List<String> OF_CLASS = new ArrayList<>();
    private static final List<String> OF_RUN = new ArrayList<>();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            removeOfClass();
            remove(OF_RUN);
        }));
    }

    private Docker() {}

    /** Returns the container's name. */
    static synchronized String start(String role, List<String> options, String image, List<String> command) {
        return start(OF_CLASS, role, options, image, command);
    }

    /** One for all classes. */
    static synchronized String startForAll(String role, List<String> options, String image, List<String> command) {
        return start(OF_RUN, role, options, image, command);
    }

    private static String start(List<String> started, String role, List<String> options, String image, List<String> command) {
        String name = System.getenv().getOrDefault("TEST_CONTAINER_PREFIX", "multimed-it") + "-" + ProcessHandle.current().pid() + "-"
                + role;
        started.add(name);
        List<String> all = new ArrayList<>(List.of("run", "-d", "--name", name));
        all.addAll(options);
        all.add(image);
        all.addAll(command);
        docker(all);
        return name;
    }

    static String address(String name) {
        return docker(List.of("inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", name)).strip();
    }

    static String docker(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of("docker"));
        command.addAll(arguments);
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException(String.join(" ", command) + ": " + output);
            }
            return output;
        } catch (IOException e) {
            throw new IllegalStateException("docker is needed for this test", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Asks until it is so; fails with {@code what} after {@code seconds}. An exception counts as not yet. */
    static void await(String what, int seconds, Callable<Boolean> condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        Exception last = null;
        while (System.nanoTime() < deadline) {
            try {
                if (condition.call()) {
                    return;
                }
                last = null;
                TimeUnit.MILLISECONDS.sleep(20);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            } catch (Exception e) {
                last = e;
            }
        }
        throw new AssertionError("not within " + seconds + " s: " + what, last);
    }

    static synchronized void removeOfClass() {
        remove(OF_CLASS);
    }

    private static void remove(List<String> started) {
        started.forEach(name -> {
            try {
                docker(List.of("rm", "-f", "-v", name));
            } catch (IllegalStateException e) {
                System.err.println(e.getMessage());
            }
        });
        started.clear();
    }
}
