package multimed.log;

import com.google.protobuf.ByteString;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import multimed.log.proto.Column;
import multimed.log.proto.ColumnType;
import multimed.log.proto.Empty;
import multimed.log.proto.EpochStart;
import multimed.log.proto.LogRecord;
import multimed.log.proto.Rebuild;
import multimed.log.proto.RowChange;
import multimed.log.proto.Rows;
import multimed.log.proto.Statement;
import multimed.log.proto.Table;
import multimed.log.proto.Value;

/** Hand-made records, as capture would write them. */
public final class TestRecords {
    public static final String UUID = "aaaaaaaa-0000-0000-0000-000000000001";

    private TestRecords() {}

    public static String gtid(long n) {
        return UUID + ":" + n;
    }

    /** A whole transaction, epoch 1, following number n-1. */
    public static LogRecord.Builder transaction(long n) {
        return LogRecord.newBuilder().setEpoch(1).setGtid(gtid(n)).setPreviousGtid(n == 1 ? "" : gtid(n - 1))
                .setCommitTimeUs(System.currentTimeMillis() * 1000).setLastChunk(true);
    }

    public static LogRecord epochStart(long epoch, String set) {
        return LogRecord.newBuilder().setEpoch(epoch).setEpochStart(EpochStart.newBuilder().setGtidSet(set).setServerUuid(UUID)).build();
    }

    public static LogRecord rows(long n, Table table, RowChange... changes) {
        return transaction(n).setRows(Rows.newBuilder().addTables(table).addAllChanges(List.of(changes))).build();
    }

    public static LogRecord statement(long n, String database, String sql) {
        return transaction(n).setStatement(Statement.newBuilder().setSql(ByteString.copyFromUtf8(sql)).setDatabase(database)
                .putAllSession(Map.of("sql_mode", "1168113696", "character_set_client", "utf8mb4", "collation_connection",
                        "utf8mb4_0900_ai_ci",
                        "collation_server", "utf8mb4_0900_ai_ci", "time_zone", "SYSTEM", "foreign_key_checks", "1", "unique_checks", "1"))
                .setTimestampUs(1_700_000_000_123_456L)).build();
    }

    public static LogRecord empty(long n) {
        return transaction(n).setEmpty(Empty.getDefaultInstance()).build();
    }

    public static LogRecord rebuild(long n, String reason) {
        return transaction(n).setRebuild(Rebuild.newBuilder().setReason(reason)).build();
    }

    public static Table table(String database, String name, Column... columns) {
        return Table.newBuilder().setDatabase(database).setName(name).addAllColumns(List.of(columns)).build();
    }

    public static Column key(String name, ColumnType type) {
        return Column.newBuilder().setName(name).setType(type).setKey(true).build();
    }

    public static Column column(String name, ColumnType type) {
        return Column.newBuilder().setName(name).setType(type).build();
    }

    public static RowChange insert(Value... after) {
        return RowChange.newBuilder().setKind(RowChange.Kind.INSERT).addAllAfter(Arrays.asList(after)).build();
    }

    public static RowChange delete(Value... before) {
        return RowChange.newBuilder().setKind(RowChange.Kind.DELETE).addAllBefore(Arrays.asList(before)).build();
    }

    public static RowChange update(List<Value> before, List<Value> after) {
        return RowChange.newBuilder().setKind(RowChange.Kind.UPDATE).addAllBefore(before).addAllAfter(after).build();
    }

    public static Value signed(long n) {
        return Value.newBuilder().setSigned(n).build();
    }

    public static Value text(String text) {
        return Value.newBuilder().setText(text).build();
    }

    public static Value bytes(byte[] bytes) {
        return Value.newBuilder().setBytes(ByteString.copyFrom(bytes)).build();
    }

    public static Value nothing() {
        return Value.getDefaultInstance();
    }
}
