package multimed.apply;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Removes what a class of tests has started, after that class: twenty servers of half a gigabyte each, kept until the end of the run,
 * had the kernel kill satellites of the stack beside.
 */
public final class RemoveContainers implements AfterAllCallback {
    @Override
    public void afterAll(ExtensionContext context) {
        Docker.removeOfClass();
    }
}
