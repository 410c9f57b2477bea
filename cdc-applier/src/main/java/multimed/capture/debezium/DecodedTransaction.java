package multimed.capture.debezium;

import java.util.List;
import multimed.gtid.Gtid;
import org.apache.kafka.connect.data.Struct;

/**
 * What Debezium said about one transaction.
 *
 * @param bytes a rough upper estimate of the memory that the rows take
 * @param complete as many rows as its END announced, none dropped
 */
record DecodedTransaction(Gtid gtid, List<Row> rows, long bytes, boolean complete) {

    enum Operation { INSERT, UPDATE, DELETE }

    record Row(String database, String table, Operation operation, Struct before, Struct after) {}
}
