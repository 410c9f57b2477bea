package multimed.mysql;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.protobuf.ByteString;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class QueryTextTest {
    /** What the server would take for the statement's text. */
    private static byte[] received(QueryText text) throws IOException {
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        text.writeTo(Channels.newChannel(sent));
        Frames frames = new Frames();
        ReadableByteChannel in = Channels.newChannel(new ByteArrayInputStream(sent.toByteArray()));
        byte[] payload = frames.next();
        while (payload == null && frames.read(in)) {
            payload = frames.next();
        }
        assertNull(frames.next(), "one command");
        assertEquals(0x03, payload[0]);
        return Arrays.copyOfRange(payload, 1, payload.length);
    }

    @Property(tries = 200)
    void eventsComeAsMysqlbinlogWritesThem(@ForAll @Size(min = 1, max = 5) List<byte[]> events) throws IOException {
        StringBuilder wanted = new StringBuilder("BINLOG '");
        events.forEach(event -> wanted.append('\n').append(Base64.getEncoder().encodeToString(event)));
        List<ByteString> ropes = events.stream().map(QueryTextTest::rope).toList();
        assertEquals(wanted + "\n'", new String(received(QueryText.binlog(ropes)), StandardCharsets.US_ASCII));
    }

    /** Of pieces whose lengths are no multiples of 3. */
    private static ByteString rope(byte[] bytes) {
        int cut = bytes.length / 2;
        return ByteString.copyFrom(bytes, 0, cut).concat(ByteString.copyFrom(bytes, cut, bytes.length - cut));
    }

    @Test
    void packetsOfSixteenMebibytesAndTheirBorders() throws IOException {
        for (int length : new int[] {0, 1, 65_531, 65_532, Frames.LARGEST - 2, Frames.LARGEST - 1, Frames.LARGEST, 2 * Frames.LARGEST - 1,
            2 * Frames.LARGEST + 7}) {
            byte[] sql = new byte[length];
            for (int i = 0; i < length; i++) {
                sql[i] = (byte) (i * 31 >>> 3);
            }
            int cut = length / 3;
            QueryText text = new QueryText().add(sql, cut).add(ByteString.copyFrom(sql, cut, length - cut));
            assertArrayEquals(sql, received(text), "length " + length);
        }
    }
}
