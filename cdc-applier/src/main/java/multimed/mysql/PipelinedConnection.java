package multimed.mysql;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * One session with a server. Until {@link #register} calls block; afterwards none does: statements are sent before earlier
 * ones are answered, and answers are read as they arrive. Used by one thread, but for {@link #close}.
 */
public final class PipelinedConnection implements AutoCloseable {
    private static final byte[] COM_QUERY = {0x03};
    private static final byte[] COM_SET_OPTION = {0x1b};
    private static final byte[] MULTI_STATEMENTS_ON = {0, 0};
    private static final byte[] MULTI_STATEMENTS_OFF = {1, 0};
    private static final byte[] NOTHING = {};
    private static final ScheduledThreadPoolExecutor LIMITS = limits();

    private final SocketChannel channel;
    private final Frames frames = new Frames();
    private final ArrayDeque<ByteBuffer> unsent = new ArrayDeque<>();
    /** Ends a connection over a Unix socket that blocks for too long; null over TCP. */
    private ScheduledFuture<?> limit;
    private long connectionId;
    private SelectionKey key;

    private PipelinedConnection(SocketChannel channel) {
        this.channel = channel;
    }

    /** Connects and logs in with caching_sha2_password, without TLS; the whole within the time. */
    public static PipelinedConnection open(String host, int port, String user, String password, int timeoutMs) throws SQLException {
        SocketChannel channel = null;
        try {
            channel = SocketChannel.open();
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.socket().connect(new InetSocketAddress(host, port), timeoutMs);
            channel.socket().setSoTimeout(timeoutMs);
            PipelinedConnection connection = new PipelinedConnection(channel);
            connection.login(new Login(user, password));
            return connection;
        } catch (IOException | SQLException | RuntimeException e) {
            closeQuietly(channel);
            if (e instanceof SQLException sql) {
                throw sql;
            }
            throw lost(e);
        }
    }

    /**
     * The same over the server's Unix socket, which costs both sides less for each packet than TCP. The time is for all until
     * {@link #register}; then the connection ends.
     */
    public static PipelinedConnection openLocal(Path socket, String user, String password, int timeoutMs) throws SQLException {
        SocketChannel channel = null;
        try {
            channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            PipelinedConnection connection = new PipelinedConnection(channel);
            connection.limit = LIMITS.schedule(connection::close, timeoutMs, TimeUnit.MILLISECONDS);
            channel.connect(UnixDomainSocketAddress.of(socket));
            connection.login(Login.local(user, password));
            return connection;
        } catch (IOException | SQLException | RuntimeException e) {
            closeQuietly(channel);
            if (e instanceof SQLException sql) {
                throw sql;
            }
            throw lost(e);
        }
    }

    private static ScheduledThreadPoolExecutor limits() {
        ScheduledThreadPoolExecutor limits = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "login-limit");
            thread.setDaemon(true);
            return thread;
        });
        limits.setRemoveOnCancelPolicy(true);
        return limits;
    }

    private void login(Login login) throws SQLException, IOException {
        byte[] answer = login.greet(receive());
        int sequence = 1;
        while (!login.done()) {
            if (answer != null) {
                sendNow(Frames.frame(NOTHING, answer, answer.length, sequence));
            }
            answer = login.answer(receive());
            sequence += 2;
        }
        connectionId = login.connectionId();
    }

    private byte[] receive() throws IOException, SQLException {
        byte[] payload = frames.next();
        while (payload == null) {
            // A channel of a Unix socket has no stream, and no time limit of its own.
            if (!frames.read(limit != null ? channel : Channels.newChannel(channel.socket().getInputStream()))) {
                throw lost(null);
            }
            payload = frames.next();
        }
        return payload;
    }

    private void sendNow(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    public long id() {
        return connectionId;
    }

    // --- while it blocks ------------------------------------------------------------------------------------------

    /** From now on each answer may take so long; 0: as long as it takes. */
    public void answerTimeout(int millis) throws SQLException {
        try {
            channel.socket().setSoTimeout(millis);
        } catch (IOException e) {
            throw lost(e);
        }
    }

    /** Sends statements; {@link #answer} then gives one reply for each that was executed. */
    public void ask(QueryText text) throws SQLException {
        try {
            text.writeTo(channel);
        } catch (IOException e) {
            throw lost(e);
        }
    }

    /** The next statement's result; throws the server's error, if that is the answer. */
    public Reply answer() throws SQLException {
        return answer(0);
    }

    /** @param wanted the column, from 0, of the first row that is its value */
    private Reply answer(int wanted) throws SQLException {
        try {
            byte[] head = receive();
            Reply reply = Reply.isResultSet(head) ? resultSet(new Bytes(head).lenenc(), wanted) : Reply.parse(head);
            if (reply.error() != null) {
                throw reply.error();
            }
            return reply;
        } catch (IOException e) {
            throw lost(e);
        }
    }

    private Reply resultSet(long columns, int wanted) throws IOException, SQLException {
        for (long i = 0; i < columns; i++) {
            receive();
        }
        String first = null;
        boolean any = false;
        byte[] row = receive();
        for (; !Reply.endsResultSet(row); row = receive()) {
            if (!any) {
                first = text(row, wanted);
                any = true;
            }
        }
        return Reply.parse(row).withValue(first);
    }

    private static String text(byte[] row, int column) {
        Bytes in = new Bytes(row);
        String text = in.text();
        for (int i = 0; i < column; i++) {
            text = in.text();
        }
        return text;
    }

    /** Runs statements whose results don't matter. */
    public void execute(QueryText text) throws SQLException {
        ask(text);
        while (answer().more()) {
            continue;
        }
    }

    /** Runs one statement that somebody else wrote: while it runs, the server takes no more than one. */
    public void executeAlone(QueryText text) throws SQLException {
        option(MULTI_STATEMENTS_OFF);
        try {
            execute(text);
        } finally {
            option(MULTI_STATEMENTS_ON);
        }
    }

    /**
     * {@link #text} of one query that somebody else wrote.
     *
     * @param column that is wanted, from 0; there are none of NULL before it
     */
    public String textAlone(QueryText text, int column) throws SQLException {
        option(MULTI_STATEMENTS_OFF);
        try {
            ask(text);
            return answer(column).value();
        } finally {
            option(MULTI_STATEMENTS_ON);
        }
    }

    private void option(byte[] option) throws SQLException {
        try {
            sendNow(Frames.frame(COM_SET_OPTION, option, option.length, 0));
            Reply reply = Reply.parse(receive());
            if (reply.error() != null) {
                throw reply.error();
            }
        } catch (IOException e) {
            throw lost(e);
        }
    }

    public void execute(String sql) throws SQLException {
        execute(QueryText.of(sql));
    }

    /** First column of the first row of one query; null if there is none. */
    public String text(String sql) throws SQLException {
        ask(QueryText.of(sql));
        return answer().value();
    }

    // --- from then on ---------------------------------------------------------------------------------------------

    /** From now on the selector reports arrived answers with this attachment, and no call blocks. */
    public void register(Selector selector, Object attachment) throws SQLException {
        try {
            channel.configureBlocking(false);
            if (limit != null) {
                limit.cancel(false);
            }
            key = channel.register(selector, SelectionKey.OP_READ, attachment);
        } catch (IOException e) {
            throw lost(e);
        }
    }

    /** Statements as bytes, of which as many replies will come until one is an error or says that it is the last. */
    public void send(byte[] sql, int length) throws SQLException {
        unsent.add(Frames.frame(COM_QUERY, sql, length, 0));
        write();
    }

    /** Goes on with what the network did not take at once. */
    public void write() throws SQLException {
        try {
            while (!unsent.isEmpty()) {
                channel.write(unsent.peek());
                if (unsent.peek().hasRemaining()) {
                    key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
                    return;
                }
                unsent.remove();
            }
            key.interestOps(SelectionKey.OP_READ);
        } catch (IOException | RuntimeException e) {
            throw lost(e);
        }
    }

    /** Reads the bytes that have arrived; {@link #reply} then returns complete replies. */
    public void read() throws SQLException {
        try {
            if (!frames.read(channel)) {
                throw lost(null);
            }
        } catch (IOException e) {
            throw lost(e);
        }
    }

    /** The next complete reply; null if there is none yet. */
    public Reply reply() throws SQLException {
        byte[] payload = frames.next();
        return payload == null ? null : Reply.parse(payload);
    }

    private static SQLException lost(Exception cause) {
        return new SQLException("connection lost" + (cause == null ? "" : ": " + cause.getMessage()), "08S01", cause);
    }

    /** From any thread: what is under way fails. */
    @Override
    public void close() {
        closeQuietly(channel);
    }

    private static void closeQuietly(SocketChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            // it is gone then
        }
    }
}
