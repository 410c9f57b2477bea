package multimed.apply;

import static multimed.log.TestRecords.column;
import static multimed.log.TestRecords.delete;
import static multimed.log.TestRecords.insert;
import static multimed.log.TestRecords.key;
import static multimed.log.TestRecords.nothing;
import static multimed.log.TestRecords.rows;
import static multimed.log.TestRecords.signed;
import static multimed.log.TestRecords.text;
import static multimed.log.TestRecords.update;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import multimed.log.TestRecords;
import multimed.log.proto.Column;
import multimed.log.proto.ColumnType;
import multimed.log.proto.LogRecord;
import multimed.log.proto.RowChange;
import multimed.log.proto.Rows;
import multimed.log.proto.Table;
import multimed.log.proto.Value;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Values through a real MySQL: what the applier writes equals what typed parameters of a server-side statement store. */
class RowsIT {
    private static final String ALL_TYPES = "CREATE TABLE app.%s (id INT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED, f FLOAT, d DOUBLE,"
            + " n DECIMAL(65,30), s TEXT CHARACTER SET utf8mb4, l VARCHAR(50) CHARACTER SET latin1, w VARCHAR(50) CHARACTER SET utf16, b LONGBLOB,"
            + " fix BINARY(5), da DATE, ti TIME(6), dt DATETIME(6), ts TIMESTAMP(6) NULL, auto TIMESTAMP(6) NULL ON UPDATE CURRENT_TIMESTAMP(6))";
    private static final Table APPLIED = TestRecords.table("app", "applied", key("id", ColumnType.SIGNED), column("i", ColumnType.SIGNED),
            column("u", ColumnType.UNSIGNED), column("f", ColumnType.FLOAT), column("d", ColumnType.DOUBLE),
            column("n", ColumnType.DECIMAL),
            column("s", ColumnType.TEXT), column("l", ColumnType.TEXT), column("w", ColumnType.TEXT), column("b", ColumnType.BINARY),
            column("fix", ColumnType.BINARY), column("da", ColumnType.DATE), column("ti", ColumnType.TIME),
            column("dt", ColumnType.DATETIME),
            column("ts", ColumnType.TIMESTAMP), column("auto", ColumnType.TIMESTAMP));
    private static final String EXACTLY = "SELECT id, i, u, f + 0e0, d, HEX(n), HEX(s), HEX(l), HEX(w), HEX(b), HEX(fix), da, ti, dt, ts, auto FROM app.%s ORDER BY id";

    private static TestMysql satellite;
    private static WriterFixture applier;
    private static long transaction;
    private final Random random = new Random(7);

    @BeforeAll
    static void start() throws Exception {
        satellite = TestMysql.satellite("rows");
        satellite.run("CREATE DATABASE app", String.format(ALL_TYPES, "applied"), String.format(ALL_TYPES, "bound"));
        applier = new WriterFixture(satellite);
    }

    @AfterAll
    static void stop() {
        applier.close();
    }

    private static LogRecord next(Table table, RowChange... changes) {
        return rows(++transaction, table, changes);
    }

    private static Value real(double value) {
        return Value.newBuilder().setReal(value).build();
    }

    private double anyDouble() {
        double value = Double.longBitsToDouble(random.nextLong());
        return Double.isFinite(value) ? value : -0.0;
    }

    private float anyFloat() {
        float value = Float.intBitsToFloat(random.nextInt());
        return Float.isFinite(value) ? value : Float.MIN_VALUE;
    }

    private byte[] anyBytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private String anyText(String alphabet) {
        StringBuilder text = new StringBuilder();
        random.ints(random.nextInt(40), 0, alphabet.codePointCount(0, alphabet.length()))
                .forEach(i -> text.appendCodePoint(alphabet.codePointAt(alphabet.offsetByCodePoints(0, i))));
        return text.toString();
    }

    private Value[] anyRow(int id) {
        String micros = String.format(".%06d", random.nextInt(1_000_000));
        String date = String.format("%04d-%02d-%02d", 1000 + random.nextInt(9000), 1 + random.nextInt(12), 1 + random.nextInt(28));
        String stamp = String.format("%04d-%02d-%02d 02:30:00", 1971 + random.nextInt(60), 1 + random.nextInt(12), 1 + random.nextInt(28))
                + micros;
        String decimal = new BigDecimal(new java.math.BigInteger(210, random), 30)
                .multiply(random.nextBoolean() ? BigDecimal.ONE : BigDecimal.ONE.negate()).toPlainString();
        return new Value[] {signed(id), signed(random.nextLong()), Value.newBuilder().setUnsigned(random.nextLong()).build(),
            real(anyFloat()), real(anyDouble()),
            text(decimal), text(anyText("a'\\\"\0\n\r\u001a%_;-/*`ü€😀{} \t")), text(anyText("aé'\\ÿ€")), text(anyText("a'\\€😀")),
            bytes(anyBytes(random.nextInt(300))), bytes(anyBytes(5)), text(date),
            text((random.nextBoolean() ? "-" : "") + random.nextInt(838) + ":59:07" + micros),
            text(date + " 23:59:59" + micros), text(stamp), random.nextBoolean() ? nothing() : text(stamp)};
    }

    private static Value bytes(byte[] bytes) {
        return TestRecords.bytes(bytes);
    }

    /** The other way into the server: the binary protocol, without any literal. */
    private static void bind(PreparedStatement statement, Value[] row) throws Exception {
        for (int i = 0; i < row.length; i++) {
            Value v = row[i];
            switch (v.getKindCase()) {
                case SIGNED -> statement.setLong(i + 1, v.getSigned());
                case UNSIGNED -> statement.setBigDecimal(i + 1, new BigDecimal(Long.toUnsignedString(v.getUnsigned())));
                case REAL -> statement.setDouble(i + 1, v.getReal());
                case TEXT -> statement.setString(i + 1, v.getText());
                case BYTES -> statement.setBytes(i + 1, v.getBytes().toByteArray());
                default -> statement.setObject(i + 1, null);
            }
        }
        statement.executeUpdate();
    }

    private static Connection binaryProtocol() throws Exception {
        return DriverManager
                .getConnection("jdbc:mysql://" + satellite.address() + ":3306/?user=" + TestMysql.USER + "&password=" + TestMysql.PASSWORD
                        + "&sslMode=DISABLED&allowPublicKeyRetrieval=true&useServerPrepStmts=true&sessionVariables=time_zone='%2B00:00'");
    }

    @Test
    void everyTypeIsStoredAsTypedParametersStoreIt() throws Exception {
        List<Value[]> all = new ArrayList<>();
        for (int id = 0; id < 400; id++) {
            all.add(anyRow(id));
        }
        applier.write(next(APPLIED, all.stream().map(TestRecords::insert).toArray(RowChange[]::new)));
        try (Connection c = binaryProtocol();
                PreparedStatement s = c.prepareStatement("INSERT INTO app.bound VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")) {
            c.createStatement().execute("SET sql_mode = ''");
            for (Value[] row : all) {
                bind(s, row);
            }
        }
        assertEquals(satellite.rows(String.format(EXACTLY, "bound")), satellite.rows(String.format(EXACTLY, "applied")));
        updateAllAndCompare(all);
        applier.write(next(APPLIED, all.stream().map(TestRecords::delete).toArray(RowChange[]::new)));
        assertEquals("0", satellite.text("SELECT COUNT(*) FROM app.applied"));
    }

    /** Rows swap their values; the ON UPDATE column must not move by itself. */
    private void updateAllAndCompare(List<Value[]> all) throws Exception {
        List<RowChange> changes = new ArrayList<>();
        for (int id = 0; id < all.size(); id++) {
            Value[] after = all.get((id + 1) % all.size()).clone();
            after[0] = signed(id);
            changes.add(update(List.of(all.get(id)), List.of(after)));
            all.set(id, all.get(id));
        }
        applier.write(next(APPLIED, changes.toArray(RowChange[]::new)));
        List<List<String>> expected = new ArrayList<>(satellite.rows(String.format(EXACTLY, "bound")));
        expected.add(expected.remove(0));
        for (int id = 0; id < expected.size(); id++) {
            expected.get(id).set(0, Integer.toString(id));
        }
        assertEquals(expected, satellite.rows(String.format(EXACTLY, "applied")));
    }

    /** Whatever the key's type: the row is found by it, and exactly it. */
    @Test
    void rowsAreFoundByKeysOfEveryType() throws Exception {
        Object[][] cases = {
            {"BIGINT", ColumnType.SIGNED, signed(Long.MIN_VALUE), signed(Long.MAX_VALUE)},
            {"BIGINT UNSIGNED", ColumnType.UNSIGNED, Value.newBuilder().setUnsigned(-1).build(), Value.newBuilder().setUnsigned(0).build()},
            {"DECIMAL(65,30)", ColumnType.DECIMAL, text("0.100000000000000000000000000001"), text("0.100000000000000000000000000002")},
            {"FLOAT", ColumnType.FLOAT, real(0.1f), real(Float.MIN_VALUE)},
            {"DOUBLE", ColumnType.DOUBLE, real(0.1), real(Double.MIN_VALUE)},
            {"VARCHAR(20) CHARACTER SET latin1", ColumnType.TEXT, text("é'"), text("\\")},
            {"VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", ColumnType.TEXT, text("😀a"), text("😀A")},
            {"CHAR(20) CHARACTER SET utf16", ColumnType.TEXT, text("€"), text("")},
            {"VARBINARY(20)", ColumnType.BINARY, bytes(new byte[] {0, (byte) 0xff, 39}), bytes(new byte[] {0, (byte) 0xff})},
            {"DATE", ColumnType.DATE, text("1000-01-01"), text("9999-12-31")},
            {"TIME(6)", ColumnType.TIME, text("-838:59:58.999999"), text("00:00:00.000000")},
            {"DATETIME(6)", ColumnType.DATETIME, text("2026-03-29 02:30:00.000001"), text("2026-03-29 02:30:00.000002")},
            {"TIMESTAMP(6)", ColumnType.TIMESTAMP, text("2026-10-25 01:30:00.000001"), text("2026-10-25 00:30:00.000001")},
        };
        for (Object[] c : cases) {
            satellite.run("DROP TABLE IF EXISTS app.k", "CREATE TABLE app.k (k " + c[0] + " PRIMARY KEY, v INT)");
            Table table = TestRecords.table("app", "k", key("k", (ColumnType) c[1]), column("v", ColumnType.SIGNED));
            Value one = (Value) c[2];
            Value two = (Value) c[3];
            applier.write(
                    next(table, insert(one, signed(1)), insert(two, signed(2)), update(List.of(one, signed(1)), List.of(one, signed(3))),
                            delete(two, signed(2))));
            assertEquals(List.of(List.of("3")), satellite.rows("SELECT v FROM app.k"), (String) c[0]);
        }
    }

    @Test
    void aValueThatTheColumnWouldAlterIsRefusedAndNothingStays() throws Exception {
        satellite.run("CREATE TABLE app.narrow (k INT PRIMARY KEY, v VARCHAR(3), n TINYINT)");
        Column v = column("v", ColumnType.TEXT);
        Table table = TestRecords.table("app", "narrow", key("k", ColumnType.SIGNED), v, column("n", ColumnType.SIGNED));
        for (RowChange bad : List.of(insert(signed(2), text("four"), signed(1)), insert(signed(2), text("abc"), signed(300)))) {
            try (WriterFixture own = reopened()) {
                assertThrows(ApplyFailure.class, () -> own.write(next(table, insert(signed(1), text("abc"), signed(1)), bad)));
            }
            reopen();
            assertEquals("0", satellite.text("SELECT COUNT(*) FROM app.narrow"));
        }
    }

    private static WriterFixture reopened() throws Exception {
        applier.close();
        return open();
    }

    private static void reopen() throws Exception {
        applier = open();
    }

    /** The lock of the session before is released when the server has noticed its end. */
    private static WriterFixture open() {
        WriterFixture[] opened = new WriterFixture[1];
        Docker.await("the lock is free", 30, () -> {
            opened[0] = new WriterFixture(satellite);
            return true;
        });
        return opened[0];
    }

    @Test
    void aLargeTransactionInChunksIsOneTransaction() throws Exception {
        satellite.run("CREATE TABLE app.big (k INT PRIMARY KEY, b LONGBLOB)");
        Table table = TestRecords.table("app", "big", key("k", ColumnType.SIGNED), column("b", ColumnType.BINARY));
        LogRecord.Builder record = TestRecords.transaction(++transaction);
        for (int chunk = 0; chunk < 5; chunk++) {
            Rows.Builder part = Rows.newBuilder().addTables(table);
            for (int i = 0; i < 100; i++) {
                part.addChanges(
                        insert(signed(chunk * 100 + i), Value.newBuilder().setBytes(ByteString.copyFrom(anyBytes(10_000))).build()));
            }
            applier.write(record.setRows(part).build(), chunk == 0, chunk == 4);
            assertEquals("0", satellite.text("SELECT COUNT(*) FROM app.big"));
        }
        applier.writer().flush();
        assertEquals("500", satellite.text("SELECT COUNT(*) FROM app.big"));
        assertTrue(satellite.has(TestRecords.gtid(transaction)));
    }

    @Test
    void aRowOfSixtyFourMebibytesPasses() throws Exception {
        satellite.run("CREATE TABLE app.huge (k INT PRIMARY KEY, b LONGBLOB)");
        Table table = TestRecords.table("app", "huge", key("k", ColumnType.SIGNED), column("b", ColumnType.BINARY));
        byte[] value = anyBytes(64 << 20);
        applier.write(next(table, insert(signed(1), bytes(value))));
        String expected = java.util.HexFormat.of().formatHex(java.security.MessageDigest.getInstance("SHA-256").digest(value));
        assertEquals(expected, satellite.text("SELECT SHA2(b, 256) FROM app.huge"));
    }
}
