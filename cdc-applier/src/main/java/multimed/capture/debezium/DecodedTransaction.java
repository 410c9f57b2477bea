package multimed.capture.debezium;

import java.util.ArrayList;
import java.util.List;
import multimed.gtid.Gtid;
import org.apache.kafka.connect.data.Struct;

/** What Debezium said about one transaction so far. Owned by the {@link DecodedQueue} until it is taken from there. */
final class DecodedTransaction {

    enum Operation { INSERT, UPDATE, DELETE }

    /** @param bytes a rough upper estimate of the memory that it takes */
    record Row(String database, String table, Operation operation, Struct before, Struct after, long bytes) {}

    private final Gtid gtid;
    private final List<Row> rows = new ArrayList<>();
    private long bytes;
    private boolean complete = true;

    DecodedTransaction(Gtid gtid) {
        this.gtid = gtid;
    }

    Gtid gtid() {
        return gtid;
    }

    List<Row> rows() {
        return rows;
    }

    long bytes() {
        return bytes;
    }

    /** False: rows of it were dropped. */
    boolean complete() {
        return complete;
    }

    void add(Row row) {
        if (complete) {
            rows.add(row);
            bytes += row.bytes();
        }
    }

    /** It has a row that can't be used, or too many to keep. */
    void drop() {
        complete = false;
        rows.clear();
        bytes = 0;
    }
}
