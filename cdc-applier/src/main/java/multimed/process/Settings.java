package multimed.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * In: environment variables. Out: parsed values; a value that is missing or wrong is noted, replaced by a placeholder, and
 * reported with all others by {@link #check()}. Must never: stop at the first mistake, or put a secret into a message.
 *
 * <p>Usage: read every setting, call {@link #check()}, then build the immutable configuration record.
 */
public final class Settings {
    /** As bytes_of in mysql-master/lib.sh. */
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,16})([kKmMgG]?)[bB]?");
    private static final long MOST_BYTES = 1L << 50;

    private final Map<String, String> env;
    private final List<String> mistakes = new ArrayList<>();

    public Settings(Map<String, String> env) {
        this.env = Map.copyOf(env);
    }

    /** A setting without default. */
    public String required(String name) {
        return given(name).orElseGet(() -> mistake(name + " is missing", ""));
    }

    public String text(String name, String byDefault) {
        return given(name).orElse(byDefault);
    }

    public long number(String name, long byDefault, long least, long most) {
        Optional<String> value = given(name);
        if (value.isEmpty()) {
            return byDefault;
        }
        try {
            long n = Long.parseLong(value.get());
            if (n >= least && n <= most) {
                return n;
            }
        } catch (NumberFormatException e) {
            // reported below like a number out of range
        }
        return mistake(name + "=" + value.get() + " is not a number from " + least + " to " + most, byDefault);
    }

    /** Bytes: 1048576, 512m, 10g; 0, or so many at least. */
    public long size(String name, long byDefault, long least) {
        Optional<String> value = given(name);
        if (value.isEmpty()) {
            return byDefault;
        }
        Matcher size = SIZE.matcher(value.get());
        if (size.matches()) {
            int shift = 10 * " kmg".indexOf((size.group(2) + " ").toLowerCase(Locale.ROOT).charAt(0));
            long number = Long.parseLong(size.group(1));
            if (number <= MOST_BYTES >> shift && (number == 0 || number << shift >= least)) {
                return number << shift;
            }
        }
        return mistake(name + "=" + value.get() + " is neither 0 nor a size like 10g, from " + (least >> 20) + "m on", byDefault);
    }

    /** A number that may have a fraction, like 0.5. */
    public double decimal(String name, double byDefault, double least, double most) {
        Optional<String> value = given(name);
        if (value.isEmpty()) {
            return byDefault;
        }
        if (value.get().matches("[0-9]{1,9}(\\.[0-9]{1,9})?")) {
            double n = Double.parseDouble(value.get());
            if (n >= least && n <= most) {
                return n;
            }
        }
        return mistake(name + "=" + value.get() + " is not a number from " + least + " to " + most, byDefault);
    }

    public int port(String name, int byDefault) {
        return (int) number(name, byDefault, 1, 65535);
    }

    public boolean flag(String name, boolean byDefault) {
        String value = text(name, byDefault ? "on" : "off");
        return switch (value) {
            case "on", "true", "1", "yes" -> true;
            case "off", "false", "0", "no" -> false;
            default -> mistake(name + "=" + value + " is neither on nor off", byDefault);
        };
    }

    /** {@code host:port}. */
    public Address address(String name, String byDefault) {
        String value = text(name, byDefault);
        int colon = value.lastIndexOf(':');
        try {
            int port = Integer.parseInt(value.substring(colon + 1));
            if (colon > 0 && port > 0 && port < 65536) {
                return new Address(value.substring(0, colon), port);
            }
        } catch (NumberFormatException e) {
            // reported below
        }
        return mistake(name + "=" + value + " is not host:port", new Address("", 0));
    }

    /** {@code host:port[,host:port…]}, as Kafka takes it. */
    public String addresses(String name, String byDefault) {
        String value = text(name, byDefault);
        boolean right = Arrays.stream(value.split(",", -1)).allMatch(a -> a.strip().matches("[^:\\s]+:[0-9]{1,5}")
                && Integer.parseInt(a.substring(a.lastIndexOf(':') + 1).strip()) < 65536);
        return right ? value : mistake(name + "=" + value + " is not host:port[,host:port…]", byDefault);
    }

    /** A secret: NAME, or the first line of the file that NAME_FILE names. Exactly one of the two must be given. */
    public String secret(String name) {
        String file = name + "_FILE";
        Optional<String> value = given(name);
        Optional<String> path = given(file);
        if (value.isPresent() && path.isPresent()) {
            return mistake(name + " and " + file + " are both set: give one of them", "");
        }
        if (path.isPresent()) {
            return readSecret(file, path.get());
        }
        return value.orElseGet(() -> mistake(name + " or " + file + " is missing", ""));
    }

    private String readSecret(String name, String path) {
        try {
            String text = Files.readString(Path.of(path));
            String firstLine = text.lines().findFirst().orElse("");
            return firstLine.isEmpty() ? mistake(name + "=" + path + ": the file is empty", "") : firstLine;
        } catch (IOException | RuntimeException e) {
            return mistake(name + "=" + path + ": can't read the file", "");
        }
    }

    /** For contradictions between settings that only the caller knows. */
    public <T> T mistake(String message, T placeholder) {
        mistakes.add(message);
        return placeholder;
    }

    public void check() {
        if (!mistakes.isEmpty()) {
            throw new ConfigException(mistakes);
        }
    }

    private Optional<String> given(String name) {
        return Optional.ofNullable(env.get(name)).filter(v -> !v.isBlank());
    }
}
