package multimed.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SettingsTest {
    @Test
    void all_mistakes_are_reported_at_once_and_no_secret_with_them() {
        Settings s = new Settings(
                Map.of("PORT", "70000", "PW", "hidden", "PW_FILE", "/nowhere", "LISTEN", "x", "FLAG", "perhaps", "KAFKA", "kafka:port"));
        s.required("HOST");
        s.port("PORT", 1);
        s.secret("PW");
        s.secret("OTHER");
        s.address("LISTEN", "a:1");
        s.flag("FLAG", true);
        s.addresses("KAFKA", "kafka:9092");
        ConfigException e = assertThrows(ConfigException.class, s::check);
        assertEquals(7, e.mistakes().size(), e.getMessage());
        assertEquals(-1, e.getMessage().indexOf("hidden"));
    }

    @Test
    void several_kafka_addresses_are_one_setting() {
        Settings s = new Settings(Map.of("KAFKA", "a:1,b:65535"));
        assertEquals("a:1,b:65535", s.addresses("KAFKA", "kafka:9092"));
        s.check();
    }

    @Test
    void a_secret_comes_from_its_file_without_the_line_end(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("pw"), "s3cret\n");
        Settings s = new Settings(Map.of("PW_FILE", file.toString()));
        assertEquals("s3cret", s.secret("PW"));
        s.check();
    }
}
