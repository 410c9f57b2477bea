package multimed.log;

import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits for a broker that was away. In: a question. Out: one call when it has an answer, on a thread of its own. Asks each second. Must
 * never: hold up who waits, or take a broker for returned that does not yet have the log.
 */
final class BrokerReturn implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(BrokerReturn.class);
    private static final int EVERY_MS = 1000;
    private static final int ANSWER_MS = 5000;

    /** Whether the broker is there; an exception is no. */
    interface Question {
        boolean isThere() throws Exception;
    }

    private final Question question;
    private ScheduledExecutorService thread;
    private boolean closed;

    BrokerReturn(LogAccess access, String topic) {
        this(() -> hasLog(access, topic));
    }

    BrokerReturn(Question question) {
        this.question = question;
    }

    /** Nothing is awaited after {@link #close}. */
    synchronized void await(Runnable returned) {
        if (closed) {
            return;
        }
        thread = Executors.newSingleThreadScheduledExecutor(BrokerReturn::daemon);
        ScheduledExecutorService own = thread;
        own.scheduleWithFixedDelay(() -> ask(own, returned), EVERY_MS, EVERY_MS, TimeUnit.MILLISECONDS);
    }

    private static Thread daemon(Runnable task) {
        Thread t = new Thread(task, "broker-return");
        t.setDaemon(true);
        return t;
    }

    private void ask(ScheduledExecutorService own, Runnable returned) {
        try {
            if (question.isThere()) {
                own.shutdown();
                returned.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            log.debug("the broker is away", e);
        }
    }

    /** A refusal, or a log that is gone, are answers, too: the next epoch finds them. A new client each time: its address may be another. */
    private static boolean hasLog(LogAccess access, String topic) throws InterruptedException, ExecutionException {
        Properties settings = access.clientSettings();
        settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, ANSWER_MS);
        settings.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, ANSWER_MS);
        try (Admin admin = Admin.create(settings)) {
            Node leader = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(0).leader();
            return leader != null && !leader.isEmpty();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException || e.getCause() instanceof AuthenticationException) {
                return true;
            }
            throw e;
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            thread.shutdownNow();
        }
    }
}
