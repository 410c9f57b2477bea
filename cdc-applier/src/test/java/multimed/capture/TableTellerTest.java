package multimed.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import multimed.binlog.BinlogEvent;
import multimed.capture.tables.TableStream;
import multimed.capture.tables.TestSubscriber;
import multimed.gtid.GtidSet;
import multimed.master.MasterAccess;
import multimed.process.Address;
import multimed.process.Metrics;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TableTellerTest {
    private static final String MASTER = "aaaaaaaa-0000-0000-0000-000000000001";
    private static final MasterAccess NOBODY = new MasterAccess(new Address("127.0.0.1", 1), "nobody", "");

    /** Debezium may take a second for a transaction; reads of other tables must not wait for it. */
    @Test
    void allThatWasReadIsToldWhileTheFirstTransactionIsStillBeingWritten() throws Exception {
        List<MasterTransaction> transactions = CapturedEvents.transactions();
        List<String> told = new ArrayList<>();
        List<BinlogEvent> written = new ArrayList<>();
        try (TableStream stream = new TableStream(new Address("127.0.0.1", 0), NOBODY, new Metrics())) {
            stream.restart(MASTER, GtidSet.EMPTY);
            TableTeller teller = new TableTeller(stream, TestFault.parse(""));
            ReadAhead ahead = new ReadAhead(1 << 20);
            try (TestSubscriber subscriber = new TestSubscriber(stream.port())) {
                assertTrue(subscriber.next().startsWith("hello"));
                ahead.run(() -> {
                    for (BinlogEvent event : CapturedEvents.events()) {
                        ahead.add(event, teller.event(event));
                    }
                    throw new BinlogEnded();
                }, () -> {}, event -> {
                    while (told.size() < transactions.size()) {
                        told.add(subscriber.next().split(" ")[0]);
                    }
                    written.add(event);
                });
            } catch (BinlogEnded e) {
                // as it should
            }
        }
        assertEquals(transactions.stream().map(t -> t.start().gtid().toString()).toList(), told);
        assertEquals(CapturedEvents.events().size(), written.size());
    }

    private static final class BinlogEnded extends Exception {
        private static final long serialVersionUID = 1;
    }

    @Test
    void onlyTheEndOfATransactionCompletesSomething() throws Exception {
        try (TableStream stream = new TableStream(new Address("127.0.0.1", 0), NOBODY, new Metrics())) {
            TableTeller teller = new TableTeller(stream, TestFault.parse(""));
            List<Boolean> ends = CapturedEvents.events().stream().map(teller::event).toList();
            assertEquals(CapturedEvents.transactions().size(), ends.stream().filter(end -> end).count());
            assertFalse(ends.get(0), "a GTID event");
        }
    }
}
