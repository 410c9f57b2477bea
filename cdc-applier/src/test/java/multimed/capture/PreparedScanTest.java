package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import multimed.binlog.BinlogEvent;
import multimed.binlog.BinlogReader;
import multimed.binlog.EventType;
import multimed.capture.PreparedPositions.Position;
import multimed.gtid.Gtid;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** The master's binlog files, read again from the last one back. */
class PreparedScanTest {
    private static final String SERVER = "aaaaaaaa-0000-0000-0000-000000000001";
    private static final long NEVER = System.nanoTime() + Long.MAX_VALUE / 2;

    private enum Step { PREPARE, COMMIT, ROLLBACK, ONE_PHASE, ROWS, NEW_FILE }

    private record Action(Step step, String xid) {}

    /** Files by name, in order; each transaction is added where the binlog has it. */
    private static final class Binlog {
        private final Map<String, List<BinlogEvent>> files = new LinkedHashMap<>();
        private List<BinlogEvent> events;
        private String file;
        private int position;
        private int transactions;

        Binlog() {
            newFile();
        }

        void newFile() {
            if (events != null) {
                add(EventType.ROTATE, rotate("f" + (files.size() + 1)));
            }
            file = "f" + (files.size() + 1);
            events = new ArrayList<>();
            files.put(file, events);
            position = 4;
            add(EventType.FORMAT_DESCRIPTION, new byte[100]);
        }

        Gtid play(Action action) {
            return switch (action.step()) {
                case PREPARE -> group("XA START " + action.xid(), 0);
                case ONE_PHASE -> group("XA START " + action.xid(), 1);
                case COMMIT -> transaction("XA COMMIT " + action.xid());
                case ROLLBACK -> transaction("XA ROLLBACK " + action.xid());
                default -> transaction("BEGIN", "COMMIT");
            };
        }

        private Gtid group(String start, int onePhase) {
            Gtid gtid = transaction(start, "XA END");
            add(EventType.XA_PREPARE, new byte[] {(byte) onePhase});
            return gtid;
        }

        private Gtid transaction(String... statements) {
            byte[] gtid = ByteBuffer.allocate(42).order(ByteOrder.LITTLE_ENDIAN).put((byte) 1)
                    .put(new byte[] {(byte) 0xaa, (byte) 0xaa, (byte) 0xaa, (byte) 0xaa, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
                    .putLong(++transactions).array();
            add(EventType.GTID, gtid);
            for (String each : statements) {
                byte[] sql = each.getBytes(StandardCharsets.US_ASCII);
                add(EventType.QUERY, ByteBuffer.allocate(14 + sql.length).put(new byte[14]).put(sql).array());
            }
            return Gtid.parse(SERVER + ":" + transactions);
        }

        private static byte[] rotate(String name) {
            return ByteBuffer.allocate(8 + name.length()).put(new byte[8]).put(name.getBytes(StandardCharsets.US_ASCII)).array();
        }

        private void add(int type, byte[] body) {
            int length = BinlogEvent.HEADER + body.length;
            position += length;
            events.add(BinlogEvent.of(ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN).putInt(0).put((byte) type).putInt(1)
                    .putInt(length).putInt(position).putShort((short) 0).put(body).array()));
        }

        Position search(String xid, Gtid decision, long deadline) throws Exception {
            return PreparedPositions.<Exception>search(xid, List.copyOf(files.keySet()), name -> {
                PreparedScan scan = new PreparedScan(name, decision, deadline);
                feed(scan, files.get(name));
                return scan.positions();
            }).get(xid);
        }

        private static void feed(PreparedScan scan, List<BinlogEvent> events) throws Exception {
            try {
                for (BinlogEvent each : events) {
                    scan.event(each);
                }
            } catch (BinlogReader.Finished e) {
                // it has seen enough
            }
        }
    }

    @Provide
    Arbitrary<List<Action>> actions() {
        Arbitrary<String> xids = Arbitraries.of("X'01',X'',1", "X'02',X'',1", "X'0202',X'01',7");
        return Combinators.combine(Arbitraries.of(Step.class), xids).as(Action::new).list().ofMaxSize(40);
    }

    @Property
    void a_commit_finds_its_own_preparation_in_whatever_file_it_is(@ForAll("actions") List<Action> actions) throws Exception {
        Binlog binlog = new Binlog();
        Map<String, Position> prepared = new HashMap<>();
        for (Action each : actions) {
            boolean undecided = prepared.containsKey(each.xid());
            Position here = new Position(binlog.file, binlog.position);
            switch (each.step()) {
                case NEW_FILE -> binlog.newFile();
                case ROWS -> binlog.play(each);
                case PREPARE -> {
                    if (!undecided) {
                        binlog.play(each);
                        prepared.put(each.xid(), here);
                    }
                }
                case ONE_PHASE -> {
                    if (!undecided) {
                        assertEquals(here, binlog.search(each.xid(), binlog.play(each), NEVER));
                    }
                }
                default -> {
                    if (undecided) {
                        assertEquals(prepared.remove(each.xid()), binlog.search(each.xid(), binlog.play(each), NEVER));
                    }
                }
            }
        }
    }

    @Example
    void a_preparation_that_was_purged_is_not_taken_from_an_earlier_one_of_the_same_xid() throws Exception {
        Binlog binlog = new Binlog();
        Action prepare = new Action(Step.PREPARE, "X'01',X'',1");
        binlog.play(prepare);
        binlog.newFile();
        binlog.play(new Action(Step.ROLLBACK, "X'01',X'',1"));
        Gtid commit = binlog.play(new Action(Step.COMMIT, "X'01',X'',1"));
        assertEquals(null, binlog.search("X'01',X'',1", commit, NEVER));
    }

    @Example
    void a_search_ends_in_time() {
        Binlog binlog = new Binlog();
        Gtid commit = binlog.play(new Action(Step.COMMIT, "X'01',X'',1"));
        assertThrows(TimeoutException.class, () -> binlog.search("X'01',X'',1", commit, System.nanoTime() - 1));
    }
}
