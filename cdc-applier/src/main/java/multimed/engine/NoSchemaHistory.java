package multimed.engine;

import io.debezium.relational.history.AbstractSchemaHistory;
import io.debezium.relational.history.HistoryRecord;
import java.util.function.Consumer;

/**
 * Debezium's schema history, of which nothing is kept. It reads the history back only when it starts from a stored offset; here
 * every run starts without one and reads the tables' schemas from the master. Debezium's own history in memory grows with every
 * DDL.
 */
public final class NoSchemaHistory extends AbstractSchemaHistory {
    @Override
    protected void storeRecord(HistoryRecord record) {
        // never read back
    }

    @Override
    protected void recoverRecords(Consumer<HistoryRecord> records) {
        // there are none
    }

    @Override
    public boolean exists() {
        return false;
    }

    @Override
    public boolean storageExists() {
        return true;
    }
}
