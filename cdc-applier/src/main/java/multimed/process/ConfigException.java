package multimed.process;

import java.util.List;

/** All mistakes found in the settings, each one line for the operator; the process exits with status 64. */
public final class ConfigException extends RuntimeException {
    private final List<String> mistakes;

    public ConfigException(List<String> mistakes) {
        super(String.join("; ", mistakes));
        this.mistakes = List.copyOf(mistakes);
    }

    public List<String> mistakes() {
        return mistakes;
    }
}
