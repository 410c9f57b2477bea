package multimed.capture;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import multimed.binlog.QueryEvent;
import multimed.binlog.StatusVariables;
import multimed.binlog.StatusVariables.Account;
import multimed.capture.StatementText.Reading;
import multimed.capture.TemporaryTables.Part;
import multimed.capture.Verdict.AsEmpty;
import multimed.capture.Verdict.AsRebuild;
import multimed.capture.Verdict.AsStatement;
import multimed.capture.Verdict.AsStatementThenRaw;
import multimed.capture.Verdict.AsXaCommit;
import multimed.capture.Verdict.AsXaRollback;
import multimed.log.LogTopic;
import multimed.log.proto.Creator;
import multimed.log.proto.Statement;
import multimed.master.Collations;
import multimed.master.Collations.Collation;
import multimed.sqltext.ComputedValues;
import multimed.sqltext.CreatedRoutine;
import multimed.sqltext.CurrentUser;
import multimed.sqltext.TriggerStatements;

/**
 * In: a query event that is a transaction by itself. Out: the statement with its session settings, or why it can't be replayed as
 * text. Pure.
 */
final class Statements {
    private static final int ROOM_FOR_SETTINGS = 64 * 1024;
    private static final String SERVERS_CHARSET = "utf8mb4";
    /** Servers below this are not supported: each executes what comments have for versions up to it. */
    static final int OLDEST_VERSION = 80_000;

    /** As the server writes it. Behind the name of a view or routine it would be a part of that. */
    private static final Pattern DEFINER_FIRST = Pattern.compile("(CREATE|ALTER)( OR REPLACE)?( ALGORITHM=[A-Z]+)? DEFINER=[`\"]");

    private final Collations collations;
    private final String systemTimeZone;

    Statements(Collations collations, String systemTimeZone) {
        this.collations = collations;
        this.systemTimeZone = systemTimeZone;
    }

    Verdict verdict(QueryEvent query) {
        String upper = query.ascii().stripLeading().toUpperCase(Locale.ROOT);
        if (upper.startsWith("XA ROLLBACK ")) {
            return new AsXaRollback(xid(query));
        }
        if (upper.startsWith("XA COMMIT ")) {
            return new AsXaCommit(xid(query));
        }
        String charset = charset(query.status().clientCharset());
        Part temporary = TemporaryTables.part(query, charset);
        if (temporary == Part.ALL || UnsafeStatements.flushesMemory(query, charset)
                || TriggerStatements.isOne(query, charset, OLDEST_VERSION)) {
            return new AsEmpty();
        }
        Reading reading = StatementText.reading(query, charset, connectionCharset(query.status()));
        String readIn = reading == Reading.UTF8 ? SERVERS_CHARSET : charset;
        byte[] sql = CurrentUser.named(query, readIn);
        String unsafe = whyUnsafe(query, upper);
        unsafe = unsafe != null
                ? unsafe
                : temporary == Part.UNCERTAIN
                        ? "on temporary tables, perhaps"
                        : reading == Reading.UNCERTAIN
                                ? "text in character set " + charset + ", or of the server's own"
                                : reading == Reading.AMBIGUOUS
                                        ? "text that another character set or sql_mode reads otherwise"
                                        : sql == null
                                                ? "CURRENT_USER"
                                                : UnsafeStatements.of(query, readIn);
        ComputedValues computed = ComputedValues.of(query, readIn, OLDEST_VERSION);
        if (unsafe == null && computed.doubt() != null) {
            unsafe = "values that depend on more than rows and the settings in the binlog, by " + computed.doubt();
        }
        if (unsafe == null && hasCreator(query) && CreatedRoutine.of(query) == null) {
            unsafe = "the routine's name";
        }
        return unsafe != null
                ? new AsRebuild(unsafe + ": " + shortened(query))
                : new AsStatement(created(query, statement(query, sql, readIn))
                        .setNumberedTable(computed.numbered()).addAllComputedTables(computed.again()).setMakesKeys(computed.makesKeys())
                        .build());
    }

    /** One that has created a routine: IF NOT EXISTS, which found it there, is not atomic, and gives its client nothing. */
    private static boolean hasCreator(QueryEvent query) {
        return query.status().invoker() != null && query.status().atomic() && CreatedRoutine.mayBe(query);
    }

    private static Statement.Builder created(QueryEvent query, Statement.Builder statement) {
        if (!hasCreator(query)) {
            return statement;
        }
        Account client = query.status().invoker();
        CreatedRoutine routine = CreatedRoutine.of(query);
        return statement.setCreator(Creator.newBuilder().setUser(client.user()).setHost(client.host())
                .setSchema(routine.schema()).setRoutine(routine.name()).setProcedure(routine.procedure()));
    }

    /** CREATE TABLE … START TRANSACTION, as the binlog has CREATE TABLE … SELECT: what follows are its rows. */
    Verdict opening(QueryEvent query, byte[] formatDescription) {
        Verdict verdict = verdict(query);
        boolean alike = StatementText.isReadAlike(query, charset(query.status().clientCharset()));
        if (!(verdict instanceof AsStatement whole) || !alike) {
            return verdict instanceof AsRebuild ? verdict : new AsRebuild("text of the server's own: " + shortened(query));
        }
        return new AsStatementThenRaw(whole.statement().toBuilder().setFormatDescription(ByteString.copyFrom(formatDescription)).build());
    }

    boolean opensTransaction(QueryEvent query) {
        List<String> words = UnsafeStatements.words(query, charset(query.status().clientCharset()));
        int start = words.indexOf("START");
        return words.size() > 2 && words.subList(0, 2).equals(List.of("CREATE", "TABLE"))
                && start > 0 && start + 1 < words.size() && words.get(start + 1).equals("TRANSACTION");
    }

    /** X'…',X'…',n as XA START, XA COMMIT and XA ROLLBACK have it. */
    static String xid(QueryEvent query) {
        return query.ascii().strip().split("\\s+", 3)[2];
    }

    private String charset(long collation) {
        return collations.get(collation).map(Collation::charset).orElse("unknown");
    }

    private String connectionCharset(StatusVariables status) {
        return charset(status.numbers().getOrDefault("collation_connection", 0L));
    }

    /** Why the text is not certain to do on a satellite what it did on the master; null if it is. */
    private String whyUnsafe(QueryEvent query, String upper) {
        StatusVariables status = query.status();
        if (upper.startsWith("XA ")) {
            return "unknown";
        }
        if (query.errorCode() != 0) {
            return "ended with error " + query.errorCode();
        }
        if (status.unknownCode() >= 0) {
            return "unknown status variable " + status.unknownCode();
        }
        if (query.sql().length > LogTopic.MAX_RECORD_BYTES - ROOM_FOR_SETTINGS) {
            return "longer than a record";
        }
        if (status.timeZone().equals("SYSTEM") && !systemTimeZone.equals("UTC")) {
            return "depends on the master's system time zone " + systemTimeZone;
        }
        return settings(status) == null ? "unknown collation" : whyDefinerUnsafe(status, upper);
    }

    /** Who CURRENT_USER was can't be replayed: the text must name the definer itself. */
    private static String whyDefinerUnsafe(StatusVariables status, String upper) {
        boolean stored = upper.matches("(?s)(CREATE|ALTER)\\b.{0,200}?\\b(VIEW|PROCEDURE|FUNCTION)\\b.*");
        return stored && !DEFINER_FIRST.matcher(upper).lookingAt() && status.invoker() != null ? "definer not in the text" : null;
    }

    private Statement.Builder statement(QueryEvent query, byte[] sql, String charset) {
        return Statement.newBuilder()
                .setSql(ByteString.copyFrom(sql))
                .setDatabase(query.database())
                .putAllSession(settings(query.status()))
                .putSession("character_set_client", charset)
                .setTimestampUs(query.timestampMicros());
    }

    /** Session variables by name in literal form; null if one can't be named. */
    private Map<String, String> settings(StatusVariables status) {
        Map<String, String> settings = new TreeMap<>();
        for (Map.Entry<String, Long> e : status.numbers().entrySet()) {
            String literal = literal(e.getKey(), e.getValue());
            if (literal == null) {
                return null;
            }
            settings.put(e.getKey(), literal);
        }
        Collation client = collations.get(status.clientCharset()).orElse(null);
        if (client == null) {
            return null;
        }
        settings.put("character_set_client", client.charset());
        settings.put("time_zone", status.timeZone().isEmpty() || status.timeZone().equals("SYSTEM") ? "+00:00" : status.timeZone());
        return settings;
    }

    private String literal(String name, long value) {
        return switch (name) {
            case "collation_connection", "collation_server", "collation_database", "default_collation_for_utf8mb4" ->
                collations.get(value).map(Collation::name).orElse(null);
            default -> Long.toUnsignedString(value);
        };
    }

    /** The beginning of the text, for an operator. */
    static String shortened(QueryEvent query) {
        String text = new String(query.sql(), StandardCharsets.UTF_8).replaceAll("\\s+", " ").strip();
        return text.length() <= 80 ? text : text.substring(0, 80) + "…";
    }
}
