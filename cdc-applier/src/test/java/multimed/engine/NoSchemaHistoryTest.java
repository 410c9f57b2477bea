package multimed.engine;

import static org.junit.jupiter.api.Assertions.assertNull;

import io.debezium.config.Configuration;
import io.debezium.relational.history.SchemaHistory;
import io.debezium.relational.history.SchemaHistoryListener;
import io.debezium.relational.history.TableChanges;
import java.lang.ref.WeakReference;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import multimed.master.MasterAccess;
import multimed.process.Address;
import org.junit.jupiter.api.Test;

class NoSchemaHistoryTest {
    private static SchemaHistory history() throws Exception {
        MasterAccess access = new MasterAccess(new Address("master", 3306), "capture", "secret");
        String name = DebeziumEngines.settings(access).get("schema.history.internal");
        SchemaHistory history = (SchemaHistory) Class.forName(name).getConstructor().newInstance();
        history.configure(Configuration.empty(), null, SchemaHistoryListener.NOOP, true);
        history.start();
        return history;
    }

    @Test
    void aStatementDoesNotStayInMemory() throws Exception {
        SchemaHistory history = history();
        WeakReference<String> statement = recorded(history);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (statement.get() != null && System.nanoTime() < deadline) {
            System.gc();
        }
        assertNull(statement.get());
        history.stop();
    }

    private static WeakReference<String> recorded(SchemaHistory history) {
        String ddl = new String("CREATE TABLE app.t (id INT PRIMARY KEY)");
        history.record(Map.of("server", "master"), Map.of("pos", 4), "app", null, ddl, new TableChanges(), Instant.EPOCH);
        return new WeakReference<>(ddl);
    }
}
