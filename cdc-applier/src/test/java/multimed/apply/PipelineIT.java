package multimed.apply;

import static multimed.log.TestRecords.column;
import static multimed.log.TestRecords.delete;
import static multimed.log.TestRecords.gtid;
import static multimed.log.TestRecords.insert;
import static multimed.log.TestRecords.key;
import static multimed.log.TestRecords.signed;
import static multimed.log.TestRecords.update;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import multimed.log.TestRecords;
import multimed.log.proto.ColumnType;
import multimed.log.proto.RowChange;
import multimed.log.proto.Rows;
import multimed.log.proto.Table;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Several sessions on a real satellite: order, conflicts that were foretold, and conflicts that were not. */
@Timeout(300)
class PipelineIT {
    private static final int SESSIONS = 4;
    private static final Table REGISTER = TestRecords.table("app", "register", key("id", ColumnType.SIGNED),
            column("n", ColumnType.SIGNED));
    private static final Table JOURNAL = TestRecords.table("app", "journal", key("id", ColumnType.SIGNED));

    private static TestMysql satellite;
    private PipelineFixture pipeline;
    private long number;

    @BeforeAll
    static void start() {
        satellite = TestMysql.satellite("pipeline");
    }

    @BeforeEach
    void openPipeline() throws Exception {
        satellite.reset();
        satellite.run("CREATE DATABASE app", "CREATE TABLE app.register (id INT PRIMARY KEY, n BIGINT)",
                "CREATE TABLE app.journal (id INT PRIMARY KEY)",
                "INSERT INTO app.register VALUES (1,0),(2,0),(3,0),(4,0),(5,0),(6,0),(7,0),(8,0)");
        pipeline = new PipelineFixture(satellite, SESSIONS);
    }

    @AfterEach
    void closePipeline() {
        pipeline.close();
    }

    private void submit(long sinceParent, Table table, RowChange... changes) throws Exception {
        submit(sinceParent, Rows.newBuilder().addTables(table).addAllChanges(List.of(changes)).build());
    }

    private void submit(long sinceParent, Rows rows) throws Exception {
        pipeline.submit(TestRecords.transaction(++number).setRows(rows).build(), sinceParent);
    }

    private static RowChange set(long id, long before, long after) {
        return update(List.of(signed(id), signed(before)), List.of(signed(id), signed(after)));
    }

    /** Each transaction notes its number and changes a register: at any time a reader must see 1 … n and what n left. */
    @Test
    void readersSeePrefixesWhileConflictsAreKept() throws Exception {
        int transactions = 1500;
        List<String> seen = new ArrayList<>();
        Thread reader = new Thread(() -> readAsLongAs(seen, transactions));
        reader.start();
        Random random = new Random(11);
        long[] values = new long[9];
        long[] changedBy = new long[9];
        for (long n = 1; n <= transactions; n++) {
            int id = 1 + random.nextInt(8);
            Rows rows = Rows.newBuilder().addTables(REGISTER).addTables(JOURNAL).addChanges(set(id, values[id], n))
                    .addChanges(insert(signed(n)).toBuilder().setTable(1)).build();
            submit(n - 1 - changedBy[id], rows);
            values[id] = n;
            changedBy[id] = n;
        }
        pipeline.drain();
        reader.join();
        assertEquals(List.of(), seen, "what a reader saw and must not see");
        assertEquals(transactions, pipeline.committed());
        assertEquals(gtid(1) + "-" + transactions, satellite.text("SELECT @@global.gtid_executed"));
        assertTrue(pipeline.conflicts() > 0);
    }

    private static void readAsLongAs(List<String> wrong, int transactions) {
        String sql = "SELECT (SELECT COUNT(*) FROM app.journal), (SELECT COALESCE(MAX(id), 0) FROM app.journal), (SELECT MAX(n) FROM app.register)";
        try (Connection connection = satellite.connect(); Statement statement = connection.createStatement()) {
            long count = 0;
            while (count < transactions) {
                ResultSet row = statement.executeQuery(sql);
                row.next();
                if (row.getLong(1) < count || row.getLong(1) != row.getLong(2) || row.getLong(2) != row.getLong(3)) {
                    wrong.add(row.getLong(1) + " rows up to " + row.getLong(2) + ", register " + row.getLong(3));
                }
                count = row.getLong(1);
            }
        } catch (Exception e) {
            wrong.add(e.toString());
        }
    }

    /** The later one got its lock first: it must give way, or both would wait for ever. */
    @Test
    void aTransactionThatHoldsTheLockOfAnEarlierOneGivesWay() throws Exception {
        try (Connection outside = satellite.connect(); Statement hold = outside.createStatement()) {
            outside.setAutoCommit(false);
            hold.execute("SELECT * FROM app.register WHERE id = 1 FOR UPDATE");
            submit(0, REGISTER, set(1, 0, 10), set(2, 0, 22));
            submit(1, REGISTER, set(2, 22, 21));
            // It may have given way already: whom the oldest waits for is not asked.
            Docker.await("the later one is executed", 30, () -> lockedRow(2) || !pipeline.retries().isEmpty());
            outside.rollback();
        }
        pipeline.drain();
        assertEquals("21", satellite.text("SELECT n FROM app.register WHERE id = 2"));
        assertEquals("10", satellite.text("SELECT n FROM app.register WHERE id = 1"));
        assertEquals(List.of("order"), pipeline.retries());
    }

    private static boolean lockedRow(int id) throws Exception {
        return satellite.text("SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_TYPE = 'RECORD' AND LOCK_DATA = '" + id + "'")
                .equals("1");
    }

    /** What comes before a transaction that fails is committed, what comes behind it is not. */
    @Test
    void theFirstFailureEndsThePipeline() throws Exception {
        for (long n = 1; n <= 10; n++) {
            submit(n - 1, JOURNAL, insert(signed(n)));
        }
        submit(10, REGISTER, set(99, 0, 1));
        for (long n = 12; n <= 20; n++) {
            try {
                submit(n - 1, JOURNAL, insert(signed(n)));
            } catch (ApplyFailure early) {
                break;
            }
        }
        ApplyFailure failure = assertThrows(ApplyFailure.class, pipeline::drain);
        assertTrue(failure.getMessage().contains("key=id=99 expected=1 found=0"), failure.getMessage());
        assertEquals(gtid(11), pipeline.failedAt().toString());
        Docker.await("the listener is told", 30, pipeline::hasEnded);
        pipeline.close();
        assertEquals(gtid(1) + "-10", satellite.text("SELECT @@global.gtid_executed"));
        assertEquals("10", satellite.text("SELECT COUNT(*) FROM app.journal"));
    }

    /** Nothing else is on its way: the server itself ends the packet at the first statement that does not do all that it must. */
    @Test
    void aTransactionAloneIsOnePacket() throws Exception {
        submit(0, JOURNAL, insert(signed(1)), insert(signed(2)));
        pipeline.drain();
        submit(0, REGISTER, set(1, 0, 10), set(2, 0, 20));
        pipeline.drain();
        submit(0, JOURNAL, delete(signed(1)), insert(signed(3)));
        pipeline.drain();
        assertEquals(3, pipeline.packets());
        assertEquals(gtid(1) + "-3", satellite.text("SELECT @@global.gtid_executed"));
        assertEquals("2,3", satellite.text("SELECT GROUP_CONCAT(id ORDER BY id) FROM app.journal"));
    }

    /** In each round one change is wrong, in any transaction and at any place in it, alone and behind others. */
    @Test
    void whereverATransactionFailsAWholePrefixIsLeft() throws Exception {
        Random random = new Random(17);
        Model model = new Model(random);
        for (int round = 0; round < 150; round++) {
            int wrong = random.nextInt(10);
            for (int i = 0; i < wrong; i++) {
                submitNext(model.good(), random);
            }
            String expected = model.toString();
            long before = number;
            submitNext(model.wrong(), random);
            Model unwanted = new Model(random);
            try {
                for (int i = random.nextInt(4); i > 0; i--) {
                    submitNext(unwanted.good(), random);
                }
                pipeline.drain();
                throw new AssertionError("transaction " + (before + 1) + " must fail");
            } catch (ApplyFailure e) {
                assertEquals(gtid(before + 1), pipeline.failedAt().toString(), "seed 17, round " + round);
            }
            pipeline.close();
            String found = satellite.text("SELECT GROUP_CONCAT(n ORDER BY id) FROM app.register") + " "
                    + satellite.text("SELECT GROUP_CONCAT(id ORDER BY id) FROM app.journal");
            assertEquals(expected, found, "seed 17, round " + round);
            assertEquals(before == 0 ? "" : gtid(1) + (before == 1 ? "" : "-" + before), satellite.text("SELECT @@global.gtid_executed"));
            number = before;
            pipeline = new PipelineFixture(satellite, SESSIONS);
        }
        assertTrue(number > 500, "only " + number + " transactions");
    }

    private void submitNext(List<RowChange> changes, Random random) throws Exception {
        if (random.nextBoolean()) {
            pipeline.drain();
        }
        // Each depends on the one before: what fails is never a conflict that the master's clock would have told.
        submit(0, Rows.newBuilder().addTables(REGISTER).addTables(JOURNAL).addAllChanges(changes).build());
    }

    /** What the tables hold, and changes that fit it, or do not. */
    private static final class Model {
        private final Random random;
        private final long[] register = new long[9];
        private final TreeSet<Long> journal = new TreeSet<>();
        private long next = 1;

        Model(Random random) {
            this.random = random;
        }

        List<RowChange> good() {
            List<RowChange> changes = new ArrayList<>();
            for (int i = random.nextInt(5); i >= 0; i--) {
                changes.add(change());
            }
            return changes;
        }

        private RowChange change() {
            int kind = random.nextInt(3);
            if (kind == 0) {
                int id = 1 + random.nextInt(8);
                long before = register[id];
                register[id] = next++;
                return set(id, before, register[id]);
            }
            if (kind == 1 && !journal.isEmpty()) {
                return ofJournal(delete(signed(journal.pollFirst())));
            }
            journal.add(next);
            return ofJournal(insert(signed(next++)));
        }

        /** Good ones around one that is not; the model stays as it is. */
        List<RowChange> wrong() {
            Model after = new Model(random);
            System.arraycopy(register, 0, after.register, 0, register.length);
            after.journal.addAll(journal);
            after.next = next;
            List<RowChange> changes = new ArrayList<>(after.good());
            RowChange wrong = switch (random.nextInt(3)) {
                case 0 -> set(99, 0, 1);
                case 1 -> ofJournal(delete(signed(1_000_000)));
                default -> {
                    changes.add(0, ofJournal(insert(signed(2_000_000))));
                    yield ofJournal(insert(signed(2_000_000)));
                }
            };
            changes.add(1 + random.nextInt(changes.size()), wrong);
            return changes;
        }

        private static RowChange ofJournal(RowChange change) {
            return change.toBuilder().setTable(1).build();
        }

        @Override
        public String toString() {
            String rows = journal.stream().map(String::valueOf).collect(Collectors.joining(","));
            String values = LongStream.of(register).skip(1).mapToObj(String::valueOf).collect(Collectors.joining(","));
            return values + " " + (rows.isEmpty() ? null : rows);
        }
    }

    /** Unless it has ended by itself (1094). */
    private static void kill(String connection) throws SQLException {
        try (Connection outside = satellite.connect(); Statement statement = outside.createStatement()) {
            statement.execute("KILL " + connection);
        } catch (SQLException e) {
            if (e.getErrorCode() != 1094) {
                throw e;
            }
        }
    }

    @Test
    void aLostSessionEndsThePipelineBehindWhatIsCommitted() throws Exception {
        submit(0, JOURNAL, insert(signed(1)));
        pipeline.drain();
        for (List<String> row : satellite
                .rows("SELECT ID FROM information_schema.processlist WHERE ID <> CONNECTION_ID() AND USER = '" + TestMysql.USER + "'")) {
            kill(row.get(0));
        }
        assertThrows(SQLException.class, () -> {
            submit(0, JOURNAL, insert(signed(2)));
            pipeline.drain();
        });
        assertFalse(satellite.has(gtid(2)));
    }

    /** More than one packet, and one that the network does not take at once. */
    @Test
    void aTransactionOfManyPacketsIsCheckedPacketByPacket() throws Exception {
        Table wide = TestRecords.table("app", "wide", key("id", ColumnType.SIGNED), column("t", ColumnType.TEXT));
        satellite.run("CREATE TABLE app.wide (id INT PRIMARY KEY, t LONGTEXT)");
        RowChange[] rows = new RowChange[40];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = insert(signed(i), TestRecords.text("x".repeat(i == 20 ? 20 << 20 : 100_000)));
        }
        submit(0, wide, rows);
        submit(0, JOURNAL, insert(signed(1)));
        pipeline.drain();
        assertEquals("40", satellite.text("SELECT COUNT(*) FROM app.wide"));
        assertEquals(Integer.toString(20 << 20), satellite.text("SELECT MAX(LENGTH(t)) FROM app.wide"));
    }
}
