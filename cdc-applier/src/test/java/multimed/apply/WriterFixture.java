package multimed.apply;

import java.sql.SQLException;
import java.util.Map;
import multimed.gtid.Gtid;
import multimed.log.LogEvent.Part;
import multimed.log.proto.LogRecord;
import multimed.process.Address;

/** A TransactionWriter on a real satellite, without a log: records are handed to it directly. */
final class WriterFixture implements AutoCloseable {
    private final SatelliteSession session;
    private final SerialWriter writer;
    private long committed;

    WriterFixture(TestMysql satellite) throws SQLException {
        ApplyConfig config = ApplyConfig
                .from(Map.of("LOG_AUTHENTICATION", "off", "SATELLITE_HOST", satellite.address(), "APPLIER_USER", TestMysql.USER,
                        "APPLIER_PASSWORD", TestMysql.PASSWORD));
        session = new SatelliteConnector(new Address(satellite.address(), 3306), null, TestMysql.USER, TestMysql.PASSWORD).open();
        writer = new SerialWriter(session, config, new RowFilter(0), part -> committed++, () -> {});
    }

    /** Writes one whole transaction and commits it. */
    void write(LogRecord record) throws SQLException, ApplyFailure {
        write(record, true, true);
        writer.flush();
    }

    void write(LogRecord record, boolean first, boolean last) throws SQLException, ApplyFailure {
        writer.write(new Part(Gtid.parse(record.getGtid()), null, record, first, last, 0), false);
    }

    SerialWriter writer() {
        return writer;
    }

    long committed() {
        return committed;
    }

    @Override
    public void close() {
        session.close();
    }
}
