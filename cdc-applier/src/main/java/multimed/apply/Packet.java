package multimed.apply;

import com.google.protobuf.ByteString;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import multimed.apply.sql.RowStatement;
import multimed.apply.sql.SqlBuffer;
import multimed.mysql.PipelinedConnection;
import multimed.mysql.QueryText;

/**
 * In: statements, each with the row count it must have. Out: one round trip for all of them. The server stops at the first
 * that fails; a wrong count is found before anything later is sent. So a COMMIT stands first in a packet, or behind statements that
 * can't have a wrong count ({@link #isCertain}): everything else that it commits was checked in earlier packets.
 */
final class Packet {
    private static final int ANY = -1;

    /** @param done called when its statement has succeeded */
    record Expectation(int rows, Supplier<String> about, Runnable done, boolean isCommit) {
        boolean holds(long found) {
            return rows == ANY || rows == found;
        }

        ApplyFailure miss(long found, Divergence.Reason reason) {
            return new ApplyFailure(reason, about.get() + " expected=" + rows + " found=" + found);
        }

        /**
         * What the server's error means for the transaction. Throws the error if the session is gone: only the server's GTID set then tells
         * whether the transaction was committed.
         */
        ApplyFailure refusal(SQLException error, Divergence.Reason reason) throws SQLException {
            if (SqlErrors.sessionLost(error)) {
                throw error;
            }
            return new ApplyFailure(isCommit ? Divergence.Reason.COMMIT : reason, about.get(), error);
        }
    }

    private static final Runnable NOTHING = () -> {};

    private final SqlBuffer sql = new SqlBuffer();
    private final List<Expectation> expectations = new ArrayList<>();
    private boolean certain = true;

    int bytes() {
        return sql.length();
    }

    /** Whether each statement either does all that it must, or ends the packet with an error. */
    boolean isCertain() {
        return certain;
    }

    boolean isEmpty() {
        return expectations.isEmpty();
    }

    void add(String text) {
        next(new Expectation(ANY, () -> text, NOTHING, text.equals("COMMIT")));
        sql.add(text);
    }

    /** COMMIT, or what else ends a transaction. */
    void add(String text, Runnable done) {
        next(new Expectation(ANY, () -> text, done, true));
        sql.add(text);
    }

    void add(RowStatement statement) {
        next(new Expectation(statement.changes(), statement.about(), NOTHING, false));
        sql.add(statement.sql());
        certain &= statement.certain();
    }

    /** The statement of a session that commits by itself. */
    void add(RowStatement statement, Runnable committed) {
        next(new Expectation(statement.changes(), statement.about(), committed, false));
        sql.add(statement.sql());
    }

    /**
     * The statement, and a guard behind it: the packet ends there with an error (1690, whatever the sql_mode is) if the statement did not
     * find as many rows as it must.
     */
    void addGuarded(RowStatement statement) {
        boolean before = certain;
        add(statement);
        if (!statement.certain()) {
            next(new Expectation(ANY, statement.about(), NOTHING, false));
            sql.add("SET @rows=EXP(9999*(ROW_COUNT()<>").add(Integer.toString(statement.changes())).add("))");
            certain = before;
        }
    }

    /** BINLOG '…' with these events. The server forgets what stands behind it in a packet. */
    void addBinlog(List<ByteString> events) {
        certain = false;
        next(new Expectation(ANY, () -> "row events", NOTHING, false));
        sql.add("BINLOG '");
        events.forEach(event -> sql.add('\n').addBase64(event));
        sql.add("\n'");
    }

    /** All of another packet's statements. */
    void add(Packet more) {
        next(more.expectations.get(0));
        expectations.addAll(more.expectations.subList(1, more.expectations.size()));
        sql.add(more.sql);
        certain &= more.certain;
    }

    private void next(Expectation expectation) {
        if (!expectations.isEmpty()) {
            sql.add(';');
        }
        expectations.add(expectation);
    }

    List<Expectation> expectations() {
        return expectations;
    }

    /** Without waiting for anything. */
    void sendOn(PipelinedConnection connection) throws SQLException {
        connection.send(sql.array(), sql.length());
    }

    void clear() {
        sql.clear();
        expectations.clear();
        certain = true;
    }

    /** Sends what was added, if anything, checks every result, and leaves the packet empty. */
    void send(SatelliteSession session, Divergence.Reason reason) throws SQLException, ApplyFailure {
        if (isEmpty()) {
            return;
        }
        List<Expectation> sent = List.copyOf(expectations);
        int[] results = {0};
        try {
            session.execute(new QueryText().add(sql.array(), sql.length()), (index, rows) -> {
                results[0] = index + 1;
                return check(sent, index, rows, reason);
            });
        } catch (SQLException e) {
            throw failure(sent, e, reason);
        } finally {
            clear();
        }
        if (results[0] != sent.size()) {
            throw new ApplyFailure(reason, results[0] + " results for " + sent.size() + " statements");
        }
    }

    private static ApplyFailure check(List<Expectation> sent, int index, long rows, Divergence.Reason reason) {
        if (index >= sent.size()) {
            return new ApplyFailure(reason, "more results than the " + sent.size() + " statements");
        }
        return sent.get(index).holds(rows) ? null : sent.get(index).miss(rows, reason);
    }

    /** Which statement failed is only certain when there is one, as on the second try; till then the last stands for all. */
    private static ApplyFailure failure(List<Expectation> sent, SQLException e, Divergence.Reason reason) throws SQLException {
        return sent.get(sent.size() - 1).refusal(e, reason);
    }
}
