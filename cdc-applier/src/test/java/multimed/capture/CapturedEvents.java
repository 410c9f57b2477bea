package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import multimed.binlog.BinlogEvent;
import multimed.binlog.EventType;
import multimed.binlog.GtidEvent;
import multimed.binlog.TransactionPayload;
import multimed.master.Collations;

/** Transactions captured from a real server: see the files in test/resources/binlog. */
final class CapturedEvents {
    /** The collations that the captured events use, by the numbers that MySQL gives them. */
    static final Collations COLLATIONS = new Collations(Map.of(
            8, new Collations.Collation("latin1_swedish_ci", "latin1"),
            11, new Collations.Collation("ascii_general_ci", "ascii"),
            63, new Collations.Collation("binary", "binary"),
            45, new Collations.Collation("utf8mb4_general_ci", "utf8mb4"),
            255, new Collations.Collation("utf8mb4_0900_ai_ci", "utf8mb4")));

    private CapturedEvents() {}

    static List<MasterTransaction> transactions() {
        List<MasterTransaction> transactions = new ArrayList<>();
        byte[] format = null;
        for (String line : lines()) {
            String[] parts = line.split(" ");
            byte[] bytes = HexFormat.of().parseHex(parts[1]);
            switch (parts[0]) {
                case "format" -> format = bytes;
                case "gtid" -> transactions.add(
                        new MasterTransaction(GtidEvent.parse(BinlogEvent.of(bytes)), format, new ArrayList<>()));
                default -> transactions.get(transactions.size() - 1).events().addAll(uncompressed(BinlogEvent.of(bytes)));
            }
        }
        return transactions;
    }

    /** As the binlog reader gives them: each transaction's GTID event, then the others, compressed ones as they are. */
    static List<BinlogEvent> events() {
        return lines().stream().map(l -> l.split(" ")).filter(p -> !p[0].equals("format"))
                .map(p -> BinlogEvent.of(HexFormat.of().parseHex(p[1]))).toList();
    }

    private static List<BinlogEvent> uncompressed(BinlogEvent event) {
        if (event.type() != EventType.TRANSACTION_PAYLOAD) {
            return List.of(event);
        }
        List<BinlogEvent> inside = new ArrayList<>();
        try (TransactionPayload payload = TransactionPayload.open(event)) {
            for (BinlogEvent next = payload.next(); next != null; next = payload.next()) {
                inside.add(next);
            }
            assertEquals(payload.uncompressedBytes(), inside.stream().mapToInt(BinlogEvent::length).sum());
        }
        return inside;
    }

    private static List<String> lines() {
        var in = CapturedEvents.class.getResourceAsStream("/binlog/events.txt");
        try (var reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII))) {
            return reader.lines().filter(l -> !l.startsWith("#")).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
