package multimed.mysql;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class FramesTest {
    private static final byte[] NOTHING = {};

    /** Gives a few bytes at a time. */
    private static final class Dripping implements ReadableByteChannel {
        private final ByteArrayInputStream bytes;
        private final Random random;
        private final int most;

        Dripping(byte[] bytes, int most) {
            this.bytes = new ByteArrayInputStream(bytes);
            this.random = new Random(most);
            this.most = most;
        }

        @Override
        public int read(ByteBuffer into) {
            byte[] some = new byte[Math.min(into.remaining(), 1 + random.nextInt(most))];
            int got = bytes.read(some, 0, some.length);
            if (got > 0) {
                into.put(some, 0, got);
            }
            return got;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {
            // nothing to close
        }
    }

    private static List<byte[]> payloads(byte[] stream, int most) throws IOException {
        Frames frames = new Frames();
        Dripping channel = new Dripping(stream, most);
        List<byte[]> found = new ArrayList<>();
        do {
            for (byte[] payload = frames.next(); payload != null; payload = frames.next()) {
                found.add(payload);
            }
        } while (frames.read(channel));
        return found;
    }

    private static byte[] framed(byte[] payload) {
        ByteBuffer out = Frames.frame(NOTHING, payload, payload.length, 0);
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        return bytes;
    }

    @Property(tries = 200)
    void anyCutOfTheStreamGivesTheSamePayloads(@ForAll @Size(max = 12) List<@IntRange(max = 40_000) Integer> lengths,
            @ForAll @IntRange(min = 1, max = 30_000) int most) throws IOException {
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        lengths.forEach(length -> stream.writeBytes(framed(new byte[length])));
        assertEquals(lengths, payloads(stream.toByteArray(), most).stream().map(p -> p.length).toList());
    }

    @Test
    void payloadsOf16MibAndMoreArePutTogether() throws IOException {
        for (int length : List.of(Frames.LARGEST - 1, Frames.LARGEST, Frames.LARGEST + 1, 2 * Frames.LARGEST)) {
            byte[] payload = new byte[length];
            new Random(length).nextBytes(payload);
            List<byte[]> found = payloads(framed(payload), 1 << 20);
            assertEquals(1, found.size());
            assertArrayEquals(payload, found.get(0));
        }
    }

    @Test
    void headAndBodyAreOnePayload() throws IOException {
        byte[] body = new byte[Frames.LARGEST + 5];
        body[body.length - 1] = 7;
        ByteBuffer out = Frames.frame(new byte[] {3}, body, body.length, 0);
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        byte[] found = payloads(bytes, 1 << 20).get(0);
        assertEquals(body.length + 1, found.length);
        assertEquals(3, found[0]);
        assertEquals(7, found[found.length - 1]);
        assertEquals(1, bytes[Frames.HEADER + Frames.LARGEST + 3], "the second packet's number");
    }

    @Test
    void theEndOfTheStreamIsTold() throws IOException {
        assertFalse(new Frames().read(new Dripping(NOTHING, 1)));
    }
}
