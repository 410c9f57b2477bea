package multimed.capture;

import multimed.binlog.GtidEvent;
import multimed.binlog.QueryEvent;
import multimed.capture.Verdict.AsEmpty;
import multimed.capture.Verdict.AsRaw;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsRows;
import multimed.capture.Verdict.AsStatement;
import multimed.capture.Verdict.AsStatementThenRaw;
import multimed.capture.Verdict.AsXaCommit;
import multimed.capture.Verdict.AsXaPrepare;
import multimed.capture.Verdict.AsXaRollback;
import multimed.capture.comparison.Checks;
import multimed.capture.debezium.RowSource;
import multimed.gtid.Gtid;

/**
 * In: a complete transaction and the one before it. Out: its records in the log, of the kind that the {@link Classifier} chose;
 * rows only if Debezium decodes them, raw events otherwise.
 */
final class VerdictWriter {
    private final Classifier classifier;
    private final PlainTables plainTables;
    private final RoutinePrivileges routinePrivileges;
    private final RowSource rowSource;
    private final RecordWriter writer;
    private final XaWriter xa;
    private final EpochKeeper epoch;
    private final Checks checks;

    VerdictWriter(Classifier classifier, PlainTables plainTables, RoutinePrivileges routinePrivileges, RowSource rowSource,
            RecordWriter writer, XaWriter xa, EpochKeeper epoch, Checks checks) {
        this.classifier = classifier;
        this.plainTables = plainTables;
        this.routinePrivileges = routinePrivileges;
        this.rowSource = rowSource;
        this.writer = writer;
        this.xa = xa;
        this.epoch = epoch;
        this.checks = checks;
    }

    /**
     * @param file the binlog file that has its end
     * @param largeXa an XA transaction whose changes were too large to be held, and are not in it
     */
    void write(MasterTransaction transaction, Gtid previous, String file, boolean largeXa) throws Exception {
        GtidEvent start = transaction.start();
        Verdict verdict = classifier.classify(transaction);
        if (verdict instanceof AsRows rows) {
            rows(transaction, previous, rows);
        } else if (verdict instanceof AsRaw raw) {
            writer.raw(transaction, previous, raw.reason());
        } else if (verdict instanceof AsStatement statement) {
            writer.statement(start, previous, routinePrivileges.asOnMaster(statement));
        } else if (verdict instanceof AsStatementThenRaw opening) {
            writer.statementThenRaw(transaction, previous, opening.statement());
        } else if (verdict instanceof AsEmpty && largeXa) {
            xa.fromBinlog(start, previous, Statements.xid(QueryEvent.parse(transaction.events().get(0))), file);
        } else if (verdict instanceof AsEmpty) {
            writer.empty(start, previous, checks.take(start.gtid()));
        } else if (verdict instanceof AsXaPrepare prepare) {
            xa.prepare(transaction, previous, prepare, !largeXa);
        } else if (verdict instanceof AsXaRollback rollback) {
            xa.rollback(start, previous, rollback.xid());
        } else if (verdict instanceof AsXaCommit commit) {
            xa.commit(start, previous, commit.xid(), file);
        } else if (verdict instanceof AsRebuild rebuild) {
            writer.rebuild(start, previous, rebuild.reason());
        }
    }

    private void rows(MasterTransaction transaction, Gtid previous, AsRows verdict) {
        if (!verdict.changes().stream().allMatch(plainTables::isPlain)) {
            writer.raw(transaction, previous, "computes");
            return;
        }
        RowSource.Answer answer = rowSource.rows(transaction.events(), verdict.changes().size());
        if (answer.rows() != null) {
            writer.rows(transaction.start(), previous, answer.rows());
        } else {
            writer.raw(transaction, previous, answer.reason());
        }
    }
}
