package multimed.capture.debezium;

import org.apache.kafka.connect.data.Struct;

/** What Debezium said about one row change. */
record DecodedRow(String database, String table, Operation operation, Struct before, Struct after) {

    enum Operation { INSERT, UPDATE, DELETE }
}
