package multimed.apply;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import multimed.apply.sql.CreatorPrivileges;
import multimed.apply.sql.SessionSettings;
import multimed.apply.sql.SqlBuffer;
import multimed.apply.sql.StatementBuilder;
import multimed.log.LogBrokenException;
import multimed.log.LogEvent.Part;
import multimed.log.proto.Creator;
import multimed.log.proto.LogRecord;
import multimed.log.proto.Raw;
import multimed.log.proto.Rows;
import multimed.log.proto.Statement;
import multimed.mysql.QueryText;
import multimed.sqltext.TableExpressions;
import multimed.sqltext.TriggerStatements;

/**
 * In: parts of transactions, in order, none of which the satellite has. Out: transactions on the satellite under
 * their GTIDs, in the same order. COMMIT goes out only after every result of the transaction was checked; it may share its
 * packet with the next transaction's statements, which come after it.
 *
 * <p>What is done with each kind: rows → statements by primary key; statement → as it is under its own session settings,
 * except triggers and events, which satellites don't have, and with what the creator of a routine gets; raw → BINLOG; empty → an empty
 * transaction. After any exception it is not known whether the transaction in hand and the one before are committed: close the session, and ask the server for its set.
 */
final class SerialWriter {
    private static final int UNKNOWN_DATABASE = 1049;
    /** No schema chosen, unknown schema, unknown table. */
    private static final Set<Integer> NO_TABLE = Set.of(1046, UNKNOWN_DATABASE, 1146);

    private final SatelliteSession session;
    private final RowFilter filter;
    private final Consumer<Part> committed;
    private final Runnable sent;
    private final StatementBuilder joining;
    private final StatementBuilder oneByOne = new StatementBuilder(1, 1);
    private final int packetBytes;
    private final Packet packet = new Packet();
    private Part awaitingCommit;
    private Divergence.Reason reason = Divergence.Reason.ROW;
    private Statement opening;
    private ByteString formatDescription = ByteString.EMPTY;
    /** Settings of the last raw transaction, in addition to those that BINLOG changes; to be restored. Null for none. */
    private Map<String, String> altered;

    /**
     * @param committed told each transaction's last part once the server has acknowledged its COMMIT
     * @param sent told of each packet of row changes
     */
    SerialWriter(SatelliteSession session, ApplyConfig config, RowFilter filter, Consumer<Part> committed, Runnable sent) {
        this.session = session;
        this.filter = filter;
        this.committed = committed;
        this.sent = sent;
        this.joining = new StatementBuilder(config.batchRows(), config.batchBytes());
        this.packetBytes = config.batchBytes();
    }

    /** @param careful one statement per packet, so that a failure names its row */
    void write(Part part, boolean careful) throws SQLException, ApplyFailure {
        if (careful) {
            flush();
        }
        LogRecord record = part.record();
        reason = reason(record);
        try {
            switch (record.getBodyCase()) {
                case ROWS -> rows(part, record.getRows(), careful);
                case STATEMENT -> statement(part, record.getStatement());
                case RAW -> raw(part, record.getRaw());
                case EMPTY -> empty(part);
                default -> throw new LogBrokenException("a transaction of kind " + record.getBodyCase());
            }
            if (careful) {
                // Its own COMMIT, so that the failure of that is not taken for the next one's.
                flush();
            }
        } catch (SQLException e) {
            if (SqlErrors.sessionLost(e)) {
                throw e;
            }
            throw new ApplyFailure(reason, describe(record), e);
        }
    }

    private static Divergence.Reason reason(LogRecord record) {
        return switch (record.getBodyCase()) {
            case STATEMENT -> Divergence.Reason.STATEMENT;
            case RAW -> Divergence.Reason.RAW;
            default -> Divergence.Reason.ROW;
        };
    }

    private static String describe(LogRecord record) {
        return record.hasStatement() ? shortened(record.getStatement().getSql()) : "kind=" + record.getBodyCase();
    }

    private static String shortened(ByteString sql) {
        String line = sql.toString(StandardCharsets.UTF_8).replaceAll("\\s+", " ");
        return "statement=\"" + (line.length() <= 120 ? line : line.substring(0, 120) + "…") + '"';
    }

    private void empty(Part part) throws SQLException, ApplyFailure {
        begin(part, Map.of());
        end(part);
    }

    private void rows(Part part, Rows rows, boolean careful) throws SQLException, ApplyFailure {
        begin(part, Map.of());
        int fullAt = careful ? 1 : packetBytes;
        for (var statements = (careful ? oneByOne : joining).statements(filter.apply(rows)); statements.hasNext();) {
            packet.add(statements.next());
            if (packet.bytes() >= fullAt) {
                send();
            }
        }
        end(part);
    }

    /** Opens the transaction; the COMMIT of the one before travels ahead in the same packet. */
    private void begin(Part part, Map<String, String> settings) {
        if (!part.first()) {
            return;
        }
        addCommit();
        if (!settings.isEmpty()) {
            packet.add(SessionSettings.set(settings));
        }
        packet.add("SET gtid_next=_utf8mb4'" + part.gtid() + "'");
        packet.add("BEGIN");
    }

    private void addCommit() {
        if (awaitingCommit != null) {
            packet.add("COMMIT");
        }
        if (altered != null) {
            packet.add(restoring(altered));
            altered = null;
        }
    }

    private void end(Part part) throws SQLException, ApplyFailure {
        send();
        if (part.last()) {
            awaitingCommit = part;
        }
    }

    private void send() throws SQLException, ApplyFailure {
        if (!packet.isEmpty()) {
            sent.run();
        }
        packet.send(session, reason);
        Part done = awaitingCommit;
        awaitingCommit = null;
        if (done != null) {
            committed.accept(done);
        }
    }

    /** Commits what is complete; afterwards nothing waits. To be called whenever the next transaction is not at hand. */
    void flush() throws SQLException, ApplyFailure {
        if (awaitingCommit != null) {
            addCommit();
            send();
        }
    }

    /** Throws away what was written of a transaction that is not committed. */
    void abandon() throws SQLException {
        packet.clear();
        awaitingCommit = null;
        Map<String, String> entered = opening != null ? opening.getSessionMap() : altered != null ? altered : Map.of();
        opening = null;
        altered = null;
        session.execute("ROLLBACK;SET gtid_next=_utf8mb4'AUTOMATIC';" + restoring(entered));
    }

    private String restoring(Map<String, String> entered) {
        return SessionSettings.leave(entered, session.identity().cascadesAreLogged());
    }

    private void statement(Part part, Statement statement) throws SQLException, ApplyFailure {
        if (!statement.getFormatDescription().isEmpty()) {
            open(part, statement);
            return;
        }
        if (!part.first() || !part.last()) {
            throw new LogBrokenException("a statement is a transaction by itself");
        }
        flush();
        long sqlMode = Long.parseUnsignedLong(statement.getSessionOrDefault("sql_mode", "0"));
        if (TriggerStatements.isOne(statement.getSql(), sqlMode, SessionSettings.charset(statement), session.identity().version())) {
            empty(part);
            flush();
            return;
        }
        OwnIndexes.dropBefore(statement, session);
        if (statement.hasCreator() && !statement.getKeepsPrivileges() && mustGrant(part, statement.getCreator())) {
            createAndGrant(part, statement);
        } else {
            execute(part, statement);
        }
        finishStatement(part, statement);
        OwnIndexes.release(session);
    }

    /** Here accounts are as they were on the master then. */
    private boolean mustGrant(Part part, Creator creator) throws SQLException {
        session.execute("SET gtid_next=_utf8mb4'AUTOMATIC'");
        String answer = session.text(CreatorPrivileges.question(creator));
        if (!answer.equals(CreatorPrivileges.GRANT) && !answer.equals(CreatorPrivileges.NONE)) {
            throw Divergence.at(part.gtid(), Divergence.Reason.REBUILD_RECORD,
                    "it is not certain whether the creator of a routine got privileges on it");
        }
        return answer.equals(CreatorPrivileges.GRANT);
    }

    /**
     * The grant comes under the GTID, the routine before it without one: who may read here because of the GTID finds both, and an attempt that
     * ends in between is repeated. On the master the routine was not there before, so what is there is of such an attempt.
     */
    private void createAndGrant(Part part, Statement statement) throws SQLException {
        session.execute(CreatorPrivileges.drop(statement.getCreator()));
        execute("AUTOMATIC", part, statement);
        session.execute(restoring(statement.getSessionMap()));
        // Its row has the time of the statement.
        session.execute(SessionSettings.enter(Statement.newBuilder().setTimestampUs(statement.getTimestampUs()).build())
                + ";SET gtid_next=_utf8mb4'" + part.gtid() + "'");
        session.execute(CreatorPrivileges.grant(statement.getCreator()));
    }

    private void execute(Part part, Statement statement) throws SQLException {
        execute(part.gtid().toString(), part, statement);
    }

    /** The schema's name is in UTF-8, the statement in the client's character set: so the one before the settings, the other after. */
    private void execute(String gtidNext, Part part, Statement statement) throws SQLException {
        useSchema(statement.getDatabase());
        session.execute(SessionSettings.enter(statement));
        requireOrder(part, statement.getNumberedTable());
        requireSameValues(part, statement);
        session.execute(
                "SET GLOBAL automatic_sp_privileges=" + (statement.getKeepsPrivileges() ? 0 : 1) + ";SET gtid_next=_utf8mb4'" + gtidNext
                        + "'");
        session.executeAlone(new QueryText().add(statement.getSql()));
    }

    /** Rows that are numbered are so in the order of the primary key. Without one they stand as they were inserted, on each server in another order. */
    private void requireOrder(Part part, ByteString table) throws SQLException {
        if (table.isEmpty()) {
            return;
        }
        QueryText question = QueryText.of("SHOW KEYS FROM ").add(table)
                .add(" WHERE Key_name = 'PRIMARY'".getBytes(StandardCharsets.US_ASCII));
        if (session.textAlone(question, 0) == null) {
            throw Divergence.at(part.gtid(), Divergence.Reason.REBUILD_RECORD, "it numbers rows in the order that they have on the master");
        }
    }

    /** What a table's definition computes may be computed again. Only here is the table as it was then. */
    private void requireSameValues(Part part, Statement statement) throws SQLException {
        for (ByteString table : statement.getComputedTablesList()) {
            String definition = definition(table);
            String doubt = definition == null ? null : TableExpressions.doubt(definition, statement.getMakesKeys());
            if (doubt != null) {
                throw Divergence.at(part.gtid(), Divergence.Reason.REBUILD_RECORD,
                        "it may compute values again that depend on more than rows and the settings in the binlog, by " + doubt);
            }
        }
        if (statement.getComputedTablesCount() > 0) {
            session.execute(restoring(statement.getSessionMap()));
            session.execute(SessionSettings.enter(statement));
        }
    }

    /** Null if there is no such table. Names are read alike under ANSI_QUOTES, unless they would be wrong without. */
    private String definition(ByteString table) throws SQLException {
        session.execute("SET sql_mode=_utf8mb4'ANSI_QUOTES'");
        try {
            return session.textAlone(QueryText.of("SHOW CREATE TABLE ").add(table), 1);
        } catch (SQLException e) {
            if (NO_TABLE.contains(e.getErrorCode())) {
                return null;
            }
            throw e;
        }
    }

    /**
     * CREATE TABLE … START TRANSACTION opens a transaction by itself; the server allows nothing but BINLOG before its end, so that
     * the settings stay until then.
     */
    private void open(Part part, Statement statement) throws SQLException, ApplyFailure {
        flush();
        formatDescription(statement.getFormatDescription());
        execute(part, statement);
        opening = statement;
        endOpened(part);
    }

    private void endOpened(Part part) throws SQLException, ApplyFailure {
        if (part.last()) {
            awaitingCommit = part;
            flush();
            session.execute(restoring(opening.getSessionMap()));
            opening = null;
        }
    }

    /** The default schema of CREATE and DROP DATABASE can be the one that is not there; the one before must not stand in for it. */
    private void useSchema(String database) throws SQLException {
        session.execute("USE information_schema");
        if (database.isEmpty()) {
            return;
        }
        try {
            session.execute(new SqlBuffer().add("USE ").addIdentifier(database).text());
        } catch (SQLException e) {
            if (e.getErrorCode() != UNKNOWN_DATABASE) {
                throw e;
            }
        }
    }

    /** Statements commit by themselves; should one not have consumed its GTID, that must not be left behind. */
    private void finishStatement(Part part, Statement statement) throws SQLException, ApplyFailure {
        session.execute(restoring(statement.getSessionMap()));
        awaitingCommit = part;
        if (!"1".equals(session.text("SELECT GTID_SUBSET('" + part.gtid() + "',@@global.gtid_executed)"))) {
            packet.add("SET gtid_next=_utf8mb4'" + part.gtid() + "'");
            packet.add("BEGIN");
            packet.add("COMMIT");
        }
        send();
    }

    /**
     * As mysqlbinlog prints it, without a copy of the events: one row can be of 64 MiB. BINLOG sets session variables from the
     * events' flags, which are restored behind the COMMIT.
     */
    private void raw(Part part, Raw raw) throws SQLException, ApplyFailure {
        if (opening != null) {
            binlog(raw);
            endOpened(part);
            return;
        }
        formatDescription(raw.getFormatDescription());
        begin(part, raw.getSessionMap());
        send();
        altered = raw.getSessionMap();
        binlog(raw);
        end(part);
    }

    private void binlog(Raw raw) throws SQLException {
        sent.run();
        session.execute(QueryText.binlog(raw.getEventsList()));
    }

    /** Outside a transaction; the session keeps it for the row events that follow. */
    private void formatDescription(ByteString event) throws SQLException, ApplyFailure {
        if (!event.equals(formatDescription)) {
            flush();
            packet.add("SET gtid_next=_utf8mb4'AUTOMATIC'");
            packet.addBinlog(List.of(event));
            send();
            formatDescription = event;
        }
    }
}
