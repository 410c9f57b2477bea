package multimed.apply;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * A real MySQL in a container, with a user {@code dev} that may do anything. The image is MYSQL_TEST_IMAGE. A mysqld that
 * ends is started again on the same data.
 */
final class TestMysql {
    static final String IMAGE = System.getenv().getOrDefault("MYSQL_TEST_IMAGE", "multimed/mysql-master:0.2.0");
    static final String USER = "dev";
    /** Its own per run: an address can come to another server once a container has gone. */
    static final String PASSWORD = UUID.randomUUID().toString();
    private static final String BINLOG = "--log-bin=/data/binlog --binlog-row-metadata=FULL --sync-binlog=1 --innodb-flush-log-at-trx-commit=1";
    private static final String NO_BINLOG = "--skip-log-bin --read-only=ON --event-scheduler=OFF --innodb-flush-log-at-trx-commit=0";
    private static final String COMMON = " --gtid-mode=ON --enforce-gtid-consistency=ON --mysqlx=OFF --skip-name-resolve"
            + " --innodb-buffer-pool-size=64M --max-allowed-packet=1G --secure-file-priv=/tmp"
            + " --log-error=/tmp/error.log --socket=/tmp/mysql.sock --datadir=/data --user=mysql";
    private static final String INIT = "CREATE USER IF NOT EXISTS dev@'%%' IDENTIFIED BY '" + PASSWORD
            + "';\\nGRANT ALL ON *.* TO dev@'%%' WITH GRANT OPTION;";

    private final String container;
    private final String address;

    private TestMysql(String container) {
        this.container = container;
        this.address = Docker.address(container);
    }

    static TestMysql master(String name) {
        return start(name, "mysqld --no-defaults", BINLOG, List.of());
    }

    /** One that names its boots, as a stack's does: capture marks its history, and compares. */
    static TestMysql markedMaster(String name) {
        return start(name, "mysqld --no-defaults --report-host=boot-00000000000000a1", BINLOG, List.of());
    }

    /** As a satellite runs: no binlog, read-only, no events. */
    static TestMysql satellite(String name) {
        return start(name, "mysqld --no-defaults", NO_BINLOG, List.of());
    }

    static TestMysql masterEight(String name) {
        return startEight(name, BINLOG);
    }

    static TestMysql satelliteEight(String name) {
        return startEight(name, NO_BINLOG);
    }

    /** MySQL 8.0 brings most of its libraries; this one is where, or as what, the image's own MySQL has it. */
    private static TestMysql startEight(String name, String options) {
        String at = "/opt/mysql-8.0";
        String mysqld = at + "/bin/mysqld --no-defaults --basedir=" + at + " --lc-messages-dir=" + at + "/share";
        String libaio = "for lib in /usr/lib/*/libaio.so.1t64; do [ ! -e $lib ] || ln -sf $lib ${lib%t64}; done; ";
        return start(name, mysqld, options, List.of("-v", MysqlEight.directory() + ":" + at + ":ro"), libaio);
    }

    private static TestMysql start(String name, String mysqld, String options, List<String> container, String... before) {
        String script = String.join("", before) + "id mysql >/dev/null 2>&1 || useradd -r mysql; mkdir -p /data; chown mysql /data;"
                + " printf \"" + INIT + "\" > /tmp/init.sql; chmod 644 /tmp/init.sql;"
                + " [ -d /data/mysql ] || " + mysqld + " --datadir=/data --user=mysql --initialize-insecure --log-error=/tmp/init.log;"
                + " while :; do " + mysqld + " --init-file=/tmp/init.sql " + options + COMMON + "; done";
        List<String> arguments = new ArrayList<>(List.of("--tmpfs", "/data", "--entrypoint", "sh"));
        arguments.addAll(container);
        TestMysql mysql = new TestMysql(Docker.start(name, arguments, IMAGE, List.of("-c", script)));
        Docker.await("MySQL " + name + " answers", 120, () -> mysql.text("SELECT 1").equals("1"));
        return mysql;
    }

    String container() {
        return container;
    }

    String address() {
        return address;
    }

    Connection connect() throws SQLException {
        return connect(USER, PASSWORD);
    }

    Connection connect(String user, String password) throws SQLException {
        return DriverManager.getConnection("jdbc:mysql://" + address + ":3306/?user=" + user + "&password=" + password
                + "&sslMode=DISABLED&allowPublicKeyRetrieval=true&allowMultiQueries=true&connectTimeout=2000&connectionTimeZone=UTC");
    }

    void run(String... statements) {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** First column of the first row. */
    String text(String sql) throws SQLException {
        return rows(sql).get(0).get(0);
    }

    List<List<String>> rows(String sql) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            List<List<String>> all = new ArrayList<>();
            while (rows.next()) {
                List<String> row = new ArrayList<>();
                for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                    row.add(rows.getString(i));
                }
                all.add(row);
            }
            return all;
        }
    }

    /** kill -9 of mysqld, not of its container. */
    void kill() {
        Docker.docker(List.of("exec", container, "sh", "-c",
                "for p in /proc/[0-9]*; do if [ \"$(cat $p/comm)\" = mysqld ]; then kill -9 ${p#/proc/}; fi; done"));
    }

    /** Empty again, as if nothing had ever been applied. */
    void reset() {
        Docker.await("satellite is back", 60, () -> text("SELECT 1").equals("1"));
        run("DROP DATABASE IF EXISTS app", "RESET BINARY LOGS AND GTIDS");
        Docker.docker(List.of("exec", container, "rm", "-f", "/tmp/rebuild"));
    }

    long startedAt() throws SQLException {
        return Long.parseLong(text(
                "SELECT CAST(UNIX_TIMESTAMP() - VARIABLE_VALUE AS SIGNED) FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Uptime'"));
    }

    boolean has(String gtid) throws SQLException {
        return text("SELECT GTID_SUBSET('" + gtid + "', @@global.gtid_executed)").equals("1");
    }
}
