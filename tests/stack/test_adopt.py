"""An existing MySQL comes here while it is written: `make adopt` loads and follows it, `make cutover` takes over, and goes back again.

One story, in the order of the tests: each goes on where the one before has ended.
"""

import contextlib
import os
import signal
import subprocess
import threading

import pymysql
import pytest

from support import compose as containers
from support import old as servers

ACCOUNT, PASSWORD = "old_mover", 'mover\'s "password"'
OPTIONS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin-trust-function-creators=ON", "--server-id=1")
SCRIPT = r"""
CREATE USER old_mover@'%' IDENTIFIED BY 'mover\'s "password"'; GRANT ALL ON *.* TO old_mover@'%';
CREATE USER old_little@'%' IDENTIFIED BY 'mover\'s "password"';
CREATE DATABASE old_tpcw; CREATE USER old_tpcw@'%' IDENTIFIED BY 'tpcw-password'; GRANT ALL ON old_tpcw.* TO old_tpcw@'%';
CREATE DATABASE old_shop; CREATE DATABASE `old_odd na``me ü` DEFAULT CHARACTER SET latin1;
USE old_shop;
CREATE TABLE giving (id INT PRIMARY KEY, balance INT); INSERT INTO giving VALUES (1, 1000000);
CREATE TABLE history (id INT PRIMARY KEY AUTO_INCREMENT, v TEXT);
CREATE TABLE parent (id INT PRIMARY KEY, v VARCHAR(20), w VARCHAR(40) AS (UPPER(v)) STORED, x INT AS (id * 2), KEY (x));
CREATE TABLE child (id INT PRIMARY KEY, p INT, b BLOB, j JSON, d DATETIME(6), FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE);
CREATE TABLE floats (id INT PRIMARY KEY, f FLOAT); INSERT INTO floats VALUES (1, 1 / 3);
CREATE TABLE `a``b "c"` (`d'e` INT PRIMARY KEY); INSERT INTO `a``b "c"` VALUES (1);
INSERT INTO parent (id, v) VALUES (1, 'one'), (2, 'tü');
INSERT INTO child VALUES (1, 1, X'000A0D275C22', '{"a": [1, 2.50, "x"]}', '2024-02-29 12:34:56.123456'), (2, 2, NULL, NULL, NULL);
CREATE TABLE ticks (id INT PRIMARY KEY, n INT); INSERT INTO ticks VALUES (1, 0);
CREATE TRIGGER counted AFTER INSERT ON history FOR EACH ROW UPDATE ticks SET n = n + 1;
CREATE FUNCTION twice(i INT) RETURNS INT DETERMINISTIC RETURN i * 2;
CREATE PROCEDURE give(IN i INT) UPDATE giving SET balance = balance - i;
USE `old_odd na``me ü`;
CREATE TABLE getting (id INT PRIMARY KEY, balance INT, t VARCHAR(20)); INSERT INTO getting VALUES (1, 0, 'é');
CREATE VIEW z_view AS SELECT id, old_shop.twice(id) AS t FROM old_shop.parent;
CREATE DEFINER = old_tpcw@'%' SQL SECURITY INVOKER VIEW old_shop.a_view AS SELECT * FROM `old_odd na``me ü`.z_view;
CREATE ROLE old_reader; GRANT SELECT ON old_shop.* TO old_reader;
CREATE USER old_ann@'%' IDENTIFIED BY 'ann-password' DEFAULT ROLE old_reader PASSWORD EXPIRE NEVER COMMENT 'it''s ann';
CREATE USER old_bob@'%' IDENTIFIED BY 'bob-password';
GRANT SUPER, PROCESS ON *.* TO old_bob@'%'; GRANT SELECT (id), UPDATE (v) ON old_shop.parent TO old_bob@'%';
GRANT EXECUTE ON PROCEDURE old_shop.give TO old_bob@'%'; GRANT old_reader TO old_bob@'%' WITH ADMIN OPTION;
CREATE DEFINER = old_tpcw@'%' EVENT old_shop.tick ON SCHEDULE EVERY 1 HOUR DO UPDATE ticks SET n = n + 1000;
"""
TABLES = (
    "SELECT CONCAT('`', REPLACE(table_schema, '`', '``'), '`.`', REPLACE(table_name, '`', '``'), '`') FROM information_schema.tables "
    "WHERE table_schema LIKE 'old\\_%' AND table_type = 'BASE TABLE' ORDER BY 1"
)


@pytest.fixture(scope="module")
def old(stack):
    """The existing server: TPC-W's tables, and everything that is hard to move."""
    with servers.running("adopted", *OPTIONS, network="multimed") as server:
        server.sql(SCRIPT)
        login = (f"--mysql-host={server.address}", "--mysql-user=old_tpcw", "--mysql-password=tpcw-password", "--mysql-db=old_tpcw")
        scale = ("--items=1000", "--ebs=1", "--carts=8", "--threads=2")
        containers.run("sysbench", "loadgen/tpcw.lua", *login, *scale, "prepare")
        yield server


@pytest.fixture(scope="module")
def given(stack, old, tmp_path_factory):
    """What make gets, as environment."""
    file = tmp_path_factory.mktemp("adopt") / "password"
    file.write_text(PASSWORD + "\n")
    yield {"MYSQL": f"{old.address}:3306", "NAME": ACCOUNT, "PASSWORD_FILE": str(file)}
    # Where a test has failed: whatever is left.
    make("adopt", {"CANCEL": "drop"})
    make("adopt", {"CANCEL": "keep"})
    users = stack.client("master", "SELECT CONCAT('DROP USER ', user, ';') FROM mysql.user WHERE user LIKE 'old\\_%'")
    schemas = "SELECT CONCAT('DROP DATABASE `', REPLACE(schema_name, '`', '``'), '`;') FROM information_schema.schemata WHERE schema_name LIKE 'old\\_%'"
    stack.client("master", users + stack.client("master", schemas))


@pytest.fixture(scope="module")
def writers(old):
    """Transfers at the existing server, from before the load to the cutover."""
    with contextlib.closing(Writers(old.address)) as running:
        yield running


def make(target, variables, timeout=200):
    done = containers.run("make", "-s", target, check=False, env=variables, timeout=timeout)
    assert PASSWORD not in done.stdout + done.stderr
    return done


class Writers:
    """Two sessions, each of whose transactions takes from one table and gives to another, in another schema, and writes a line."""

    def __init__(self, address):
        self.acknowledged, self.ended, self.errors = [], threading.Event(), []
        self.threads = [threading.Thread(target=self._write, args=(address,)) for _ in range(2)]
        for each in self.threads:
            each.start()

    def _write(self, address):
        connection = pymysql.connect(host=address, user=ACCOUNT, password=PASSWORD, autocommit=False, charset="utf8mb4")
        with connection, connection.cursor() as cursor:
            while not self.ended.is_set():
                try:
                    cursor.execute("UPDATE old_shop.giving SET balance = balance - 1 WHERE id = 1")
                    cursor.execute("UPDATE `old_odd na``me ü`.getting SET balance = balance + 1 WHERE id = 1")
                    cursor.execute("INSERT INTO old_shop.history (v) VALUES ('ü')")
                    number = cursor.lastrowid
                    connection.commit()
                    self.acknowledged.append(number)
                    # No more than our master, which syncs each commit, can follow on a slow disk.
                    self.ended.wait(0.01)
                except pymysql.err.MySQLError as error:
                    self.errors.append(error)
                    return

    def close(self):
        self.ended.set()
        for each in self.threads:
            each.join()


def balance(stack, server="master"):
    query = "SELECT (SELECT balance FROM old_shop.giving), (SELECT balance FROM `old_odd na``me ü`.getting)"
    return stack.sql(server, query)[0]


def sums(rows_of):
    """Of each table its checksum; a FLOAT comes with six digits."""
    names = [row[0] for row in rows_of(TABLES) if "floats" not in row[0]]
    return {name: int(rows_of(f"CHECKSUM TABLE {name}")[0][1]) for name in names}


def of_old(old):
    return lambda query: [line.split("\t") for line in old.sql(query).stdout.splitlines()]


def test_every_mistake_is_said_at_once_and_nothing_is_touched(stack, old, given, tmp_path):
    stack.sql("master", "CREATE DATABASE old_shop")
    stack.sql("master", "CREATE USER old_ann@'%'")
    old.sql("SET GLOBAL server_id = 6034; SET GLOBAL binlog_row_image = MINIMAL; CREATE TABLE old_shop.m (i INT) ENGINE = MyISAM")
    before = stack.gtid("master"), old.value("@@gtid_executed")
    try:
        done = make("adopt", {**given, "FOLLOW": "1"})
        for each in ("schema old_shop", "account old_ann@%", "server_id", "binlog_row_image=FULL", "old_shop.m (MyISAM)", "Error 64"):
            assert each in done.stderr, done.stderr
        assert (stack.gtid("master"), old.value("@@gtid_executed")) == before
    finally:
        stack.client("master", "DROP DATABASE old_shop; DROP USER old_ann@'%'")
        old.sql("SET GLOBAL server_id = 1; SET GLOBAL binlog_row_image = FULL; DROP TABLE old_shop.m")
    long = tmp_path / "long"
    long.write_text("p" * 33 + "\n")
    gateway = "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}"
    near = containers.run("docker", "inspect", "-f", gateway, old.name).stdout.strip()
    old.sql(f"CREATE USER old_near@'{near}' IDENTIFIED BY '{'p' * 33}'; GRANT ALL ON *.* TO old_near@'{near}'")
    try:
        done = make("adopt", {**given, "NAME": "old_near", "PASSWORD_FILE": str(long), "FOLLOW": "1"})
        for each in ("at most 32 bytes", "in its own network, cannot log in", "Error 64"):
            assert each in done.stderr, done.stderr
    finally:
        old.sql(f"DROP USER old_near@'{near}'")
    done = make("adopt", {**given, "NAME": "old_little"})
    assert "lacks SELECT" in done.stderr and "Error 64" in done.stderr
    done = make("adopt", {**given, "FOLLOW": "yes", "DB": "x", "THREADS": "0"})
    assert all(each in done.stderr for each in ("FOLLOW=yes", "DB", "THREADS=0", "Error 64")), done.stderr


def killed_at(stack, variables, moment):
    """What an adopt has said up to a line with this in it, at which it is killed."""
    command = subprocess.Popen(
        ["make", "-s", "adopt"], cwd=stack.root, env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    said = ""
    with command:
        for line in command.stderr:
            said += line
            if moment in line:
                break
        os.killpg(command.pid, signal.SIGKILL)
    assert moment in said, said
    container = f"name=^{containers.setting('COMPOSE_PROJECT_NAME')}-adopt$"
    stack.wait_for(lambda: not containers.run("docker", "ps", "-q", "--filter", container).stdout, 30, "the clients' container to be gone")
    return said


def test_a_later_load_of_another_schema_leaves_what_is_here_alone(stack, old, given):
    old.sql(
        "CREATE DATABASE old_1; CREATE TABLE old_1.t (id INT PRIMARY KEY); CREATE DATABASE old_2; CREATE TABLE old_2.t (id INT PRIMARY KEY)"
    )
    old.sql("GRANT SELECT ON old_1.t TO old_ann@'%'; GRANT SELECT ON old_2.t TO old_ann@'%'")
    try:
        assert make("adopt", {**given, "DB": "old_1"}).returncode == 0
        changed = "ALTER USER old_ann@'%' IDENTIFIED BY 'changed here'; GRANT INSERT ON old_1.t TO old_ann@'%'; CREATE DATABASE old_mine;"
        stack.client("master", changed + "GRANT SELECT ON old_mine.* TO old_ann@'%'")
        show = "SELECT authentication_string FROM mysql.user WHERE user = 'old_ann'; SHOW GRANTS FOR old_ann@'%'"
        before = stack.client("master", show)
        killed_at(stack, {**given, "DB": "old_2"}, "snapshots of one moment")
        assert stack.client("master", show) == before
        done = make("adopt", {"CANCEL": "drop"})
        assert done.returncode == 0 and "old_1, loaded before, stay" in done.stderr, done.stderr
        assert "loaded" in make("adopt", {"STATUS": "1"}).stdout and stack.client("master", show) == before
        old.sql("CREATE USER old_later@'%' IDENTIFIED BY 'later-password'")
        done = make("adopt", {**given, "DB": "old_2"})
        assert done.returncode == 0 and "old_ann@%" in done.stderr, done.stderr
        grants = set(stack.client("master", show).splitlines())
        assert grants - set(before.splitlines()) == {"GRANT SELECT ON `old_2`.`t` TO `old_ann`@`%`"} and grants > set(before.splitlines())
        assert stack.sql("master", "SELECT host FROM mysql.user WHERE user = 'old_later'") == [("%",)], "an account that is new there comes"
        assert "CANCEL=keep" in make("adopt", {**given, "FOLLOW": "1"}).stderr
        assert make("adopt", {"CANCEL": "drop"}).returncode == 0
        assert stack.sql("master", "SHOW DATABASES LIKE 'old\\_%'") == [("old_mine",)]
        assert stack.sql("master", "SELECT user FROM mysql.user WHERE user LIKE 'old\\_%'") == []
    finally:
        stack.client("master", "DROP DATABASE IF EXISTS old_mine")
        old.sql(
            "DROP USER IF EXISTS old_later@'%'; DROP DATABASE old_1; DROP DATABASE old_2; REVOKE SELECT ON old_1.t FROM old_ann@'%'; REVOKE SELECT ON old_2.t FROM old_ann@'%'"
        )


def test_a_load_that_was_killed_starts_over(stack, old, given, writers):
    assert "4 snapshots" in killed_at(stack, given, "snapshots of one moment")
    assert "loading" in make("adopt", {"STATUS": "1"}).stdout
    assert old.value("COUNT(*) FROM performance_schema.metadata_locks WHERE object_type = 'BACKUP LOCK'") == "0", "it is locked no longer"


def test_it_is_loaded_and_followed_while_it_is_written(stack, old, given, writers):
    before = {satellite: stack.incarnation(satellite) for satellite in stack.satellites}
    said = killed_at(stack, {**given, "FOLLOW": "1"}, "satellites clone")
    assert "left out: old_bob@%: SUPER" in said and "old_shop.floats" in said
    done = make("adopt", {"STATUS": "1"})
    assert done.returncode and "starting" in done.stdout and "no channel" in done.stdout, "it should follow, and does not"
    assert "FOLLOW=1" in make("adopt", given).stderr
    done = make("adopt", {**given, "FOLLOW": "1"})
    assert done.returncode == 0 and "tables loaded" not in done.stderr, done.stderr
    cloned = {satellite: stack.incarnation(satellite) for satellite in stack.satellites}
    assert all(cloned[satellite] != before[satellite] for satellite in stack.satellites)
    assert sum(balance(stack)) == 1_000_000 and writers.errors == []
    assert "receiver Yes, applier Yes" in make("adopt", {"STATUS": "1"}).stdout
    for satellite in stack.satellites:
        assert stack.sql(satellite, "SELECT COUNT(*) FROM performance_schema.replication_connection_configuration") == [(0,)], (
            "a clone is no replica"
        )
    old.sql("ALTER TABLE old_shop.history ADD more INT DEFAULT 7; CREATE DATABASE old_new; CREATE TABLE old_new.t (i INT PRIMARY KEY)")
    wait = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'old_new'"
    stack.wait_for(lambda: stack.sql("master", wait)[0][0] == 1, 180, "what was made there")
    stack.await_satellites(180)
    assert {satellite: stack.incarnation(satellite) for satellite in stack.satellites} == cloned, "once, and no more"
    refused = stack.client("master", "INSERT INTO old_shop.history (v) VALUES ('here')", check=False)
    assert "super-read-only" in refused.stderr
    state = "SELECT status, definer FROM information_schema.events WHERE event_schema = 'old_shop'"
    assert stack.sql("master", state) in ([("REPLICA_SIDE_DISABLED", "old_tpcw@%")], [("SLAVESIDE_DISABLED", "old_tpcw@%")])


def test_views_programs_and_accounts_are_as_they_were(stack, old):
    assert stack.sql("master", "SELECT id, t FROM old_shop.a_view ORDER BY id") == [(1, 2), (2, 4)]
    for each in ("FUNCTION old_shop.twice", "PROCEDURE old_shop.give", "VIEW old_shop.a_view", "TABLE old_shop.parent"):
        assert stack.client("master", f"SHOW CREATE {each}") == old.sql(f"SHOW CREATE {each}").stdout, each
    trigger = "SELECT action_statement, definer, sql_mode FROM information_schema.triggers WHERE trigger_schema = 'old_shop'"
    assert stack.client("master", trigger) == old.sql(trigger).stdout
    show = "SET print_identified_with_as_hex = ON; SHOW CREATE USER old_ann@'%'; SHOW GRANTS FOR old_ann@'%'; SHOW GRANTS FOR old_tpcw@'%'"
    assert stack.client("master", show) == old.sql(show).stdout
    grants = stack.client("master", "SHOW GRANTS FOR old_bob@'%'")
    assert grants == old.sql("SHOW GRANTS FOR old_bob@'%'").stdout.replace("PROCESS, SUPER", "PROCESS")
    with stack.gate_connect(user="old_ann", password="ann-password", database=None) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM old_shop.parent")
        assert cursor.fetchall() == ((2,),)


def test_a_cutover_that_is_late_leaves_the_old_server_open(stack, old, given, writers):
    stack.sql("master", "STOP REPLICA SQL_THREAD FOR CHANNEL 'adopt'")
    done = make("cutover", {**given, "TIMEOUT_S": "15"})
    assert done.returncode and "within 15 s" in done.stderr, done.stderr
    assert old.value("@@super_read_only, @@read_only, @@event_scheduler") == "0\t0\tON"
    stack.sql("master", "START REPLICA SQL_THREAD FOR CHANNEL 'adopt'")
    assert "following" in make("adopt", {"STATUS": "1"}).stdout


def test_a_cutover_whose_channel_is_gone_leaves_the_old_server_open(stack, old, given, writers):
    stack.client("master", "STOP REPLICA FOR CHANNEL 'adopt'")
    done = make("adopt", {"STATUS": "1"})
    assert done.returncode and "receiver No" in done.stdout, "it has stopped without an error"
    stack.client("master", "RESET REPLICA ALL FOR CHANNEL 'adopt'")
    done = make("adopt", {"STATUS": "1"})
    assert done.returncode and "no channel" in done.stdout
    done = make("cutover", given)
    assert done.returncode and "does not follow" in done.stderr, done.stderr
    assert old.value("@@super_read_only, @@read_only, @@event_scheduler") == "0\t0\tON"
    password = PASSWORD.replace("'", "''")
    stack.client(
        "master",
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{old.address}', SOURCE_USER = '{ACCOUNT}', SOURCE_PASSWORD = '{password}', "
        "SOURCE_SSL = 1, SOURCE_AUTO_POSITION = 1 FOR CHANNEL 'adopt'; START REPLICA FOR CHANNEL 'adopt'",
    )
    stack.wait_for(lambda: make("adopt", {"STATUS": "1"}).returncode == 0, 30, "our master to follow again")


def test_a_cutover_loses_nothing_and_the_old_server_follows(stack, old, given, writers):
    writers.close()
    writers.errors.clear()
    late = Writers(old.address)
    old.sql("ALTER USER old_bob@'%' IDENTIFIED BY 'changed'; SET GLOBAL event_scheduler = ON")
    done = make("cutover", {**given, "BACK": "127.0.0.1:1"})
    assert done.returncode and "does not follow" in done.stderr
    assert "closing" in make("adopt", {"STATUS": "1"}).stdout and stack.sql("master", "SELECT @@read_only") == [(1,)]
    done = make("cutover", {**given, "BACK": f"{containers.address('master')}:3306"})
    late.close()
    assert done.returncode == 0, done.stderr
    assert late.acknowledged and {error.args[0] for error in late.errors} == {1290}
    there = {row[0] for row in stack.sql("master", "SELECT id FROM old_shop.history")}
    assert there >= {*writers.acknowledged, *late.acknowledged} and sum(balance(stack)) == 1_000_000
    stack.await_satellites()
    expected = sums(of_old(old))
    assert len(expected) > 15
    for server in ("master", *stack.satellites):
        assert sums(lambda query, server=server: stack.sql(server, query)) == expected
    assert stack.sql("master", "SELECT status, definer FROM information_schema.events WHERE event_schema = 'old_shop'") == [
        ("ENABLED", "old_tpcw@%")
    ]
    with stack.gate_connect(user="old_bob", password="changed", database=None):
        pass


def test_what_is_written_after_the_cutover_comes_back_to_the_old_server(stack, old, given):
    assert make("cutover", given).returncode == 0, "again, which changes nothing"
    stack.sql("master", "INSERT INTO old_shop.history (v) VALUES ('after')")
    stack.sql("master", "CREATE TABLE app.not_there (id INT PRIMARY KEY)")
    stack.sql("master", "DROP TABLE app.not_there")
    done = make("cutover", {**given, "RETURN": "1", "TIMEOUT_S": "20"})
    assert done.returncode == 0, done.stderr
    assert old.value("COUNT(*) FROM old_shop.history WHERE v = 'after'") == "1"
    assert sums(of_old(old)) == sums(lambda query: stack.sql("master", query))
    old.sql("INSERT INTO old_shop.history (v) VALUES ('there again')")
    assert make("adopt", {"CANCEL": "drop"}).returncode == 0
    assert stack.sql("master", TABLES) == [] and stack.sql("master", "SELECT @@super_read_only, @@read_only, @@event_scheduler") == [
        (0, 0, "ON")
    ]
    assert stack.sql("master", "SELECT user FROM mysql.user WHERE user LIKE 'old\\_%' OR user = 'multimed_back'") == []
