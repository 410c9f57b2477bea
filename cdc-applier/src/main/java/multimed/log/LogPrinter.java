package multimed.log;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import multimed.log.proto.LogRecord;
import multimed.log.proto.RowChange;
import multimed.process.ConfigException;
import multimed.process.Settings;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** Entry point of {@code cdc-applier log}: prints the log's records, one line each, for operators and tests. */
public final class LogPrinter {
    private static final int LONGEST = 160;

    private LogPrinter() {}

    /** Prints up to the end that the log has now, or goes on with --follow; returns the exit status. */
    public static int run(List<String> args, Map<String, String> env) {
        Settings s = new Settings(env);
        LogAccess access = LogAccess.reader(s);
        String topic = s.text("LOG_TOPIC", "multimed.log");
        s.check();
        long from = from(args);
        try (KafkaConsumer<byte[], byte[]> consumer = LogTopic.consumer(access, topic)) {
            print(consumer, LogTopic.partition(topic), from, args.contains("--follow"));
        }
        return 0;
    }

    private static long from(List<String> args) {
        int at = args.indexOf("--from");
        try {
            return at < 0 ? 0 : Long.parseLong(args.get(at + 1));
        } catch (IndexOutOfBoundsException | NumberFormatException e) {
            throw new ConfigException(List.of("--from needs an offset"));
        }
    }

    private static void print(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long from, boolean follow) {
        long end = consumer.endOffsets(List.of(partition)).get(partition);
        consumer.seek(partition, Math.max(from, consumer.beginningOffsets(List.of(partition)).get(partition)));
        while (follow || consumer.position(partition) < end) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                System.out.println(line(record));
            }
        }
    }

    private static String line(ConsumerRecord<byte[], byte[]> kafka) {
        LogRecord r = LogTopic.parse(kafka);
        String head = "offset=" + kafka.offset() + " epoch=" + r.getEpoch() + " kind=" + r.getBodyCase().name().toLowerCase();
        if (r.hasEpochStart()) {
            return head + " gtids=" + r.getEpochStart().getGtidSet() + " server=" + r.getEpochStart().getServerUuid();
        }
        return head + " gtid=" + r.getGtid() + " previous=" + r.getPreviousGtid() + " chunk=" + r.getChunk()
                + (r.getLastChunk() ? "/last" : "") + " committed=" + Instant.EPOCH.plusNanos(r.getCommitTimeUs() * 1000)
                + " clock=" + r.getLastCommitted() + "/" + r.getSequenceNumber() + " bytes=" + kafka.serializedValueSize() + " " + body(r);
    }

    private static String body(LogRecord r) {
        return switch (r.getBodyCase()) {
            case ROWS -> rows(r);
            case STATEMENT -> "database=" + r.getStatement().getDatabase() + " session=" + r.getStatement().getSessionMap()
                    + " sql=\"" + shortened(r.getStatement().getSql().toStringUtf8()) + "\"";
            case RAW -> "reason=" + r.getRaw().getReason() + " events=" + r.getRaw().getEventsCount()
                    + (r.getRaw().getLastEventCut() ? " cut" : "");
            case EMPTY -> r.getEmpty().hasCheck() ? "compares=\"" + shortened(r.getEmpty().getCheck().getPiece()) + "\"" : "";
            case REBUILD -> "reason=\"" + shortened(r.getRebuild().getReason()) + "\"";
            default -> "";
        };
    }

    private static String rows(LogRecord r) {
        StringBuilder out = new StringBuilder("changes=" + r.getRows().getChangesCount());
        r.getRows().getTablesList().forEach(t -> out.append(" table=").append(t.getDatabase()).append('.').append(t.getName()));
        RowChange first = r.getRows().getChanges(0);
        return out + " first=\"" + shortened(first.getKind() + " " + first.getBeforeList() + " " + first.getAfterList()) + "\"";
    }

    private static String shortened(String text) {
        String line = text.replaceAll("\\s+", " ").replace("\"", "'");
        return line.length() <= LONGEST ? line : line.substring(0, LONGEST) + "…";
    }
}
