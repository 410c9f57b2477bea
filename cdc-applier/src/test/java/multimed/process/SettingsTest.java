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
    void a_number_may_have_a_fraction() {
        Settings s = new Settings(Map.of("A", "0.25", "B", "0", "C", "-1", "D", "1e3", "E", "25"));
        assertEquals(0.25, s.decimal("A", 24, 0, 24));
        assertEquals(0, s.decimal("B", 24, 0, 24));
        assertEquals(24, s.decimal("NONE", 24, 0, 24));
        s.decimal("C", 24, 0, 24);
        s.decimal("D", 24, 0, 24);
        s.decimal("E", 24, 0, 24);
        assertEquals(3, assertThrows(ConfigException.class, s::check).mistakes().size());
    }

    @Test
    void a_size_has_a_unit_or_is_in_bytes() {
        Settings s = new Settings(
                Map.of("A", "10g", "B", "0", "C", "1048576", "D", "512MB", "E", "1m", "F", "-1", "G", "2000000g", "H", "1t"));
        assertEquals(10L << 30, s.size("A", 1, 1 << 20));
        assertEquals(0, s.size("B", 1, 1 << 20));
        assertEquals(1 << 20, s.size("C", 1, 1 << 20));
        assertEquals(512 << 20, s.size("D", 1, 1 << 20));
        assertEquals(7, s.size("NONE", 7, 1 << 20));
        s.check();
        s.size("E", 1, 2 << 20);
        s.size("F", 1, 1);
        s.size("G", 1, 1);
        s.size("H", 1, 1);
        assertEquals(4, assertThrows(ConfigException.class, s::check).mistakes().size());
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
