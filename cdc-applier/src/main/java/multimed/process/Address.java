package multimed.process;

import java.net.InetSocketAddress;

/** A host name and a TCP port. */
public record Address(String host, int port) {
    public InetSocketAddress resolve() {
        return new InetSocketAddress(host, port);
    }

    @Override
    public String toString() {
        return host + ":" + port;
    }
}
