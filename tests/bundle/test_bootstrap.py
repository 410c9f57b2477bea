"""How a satellite comes to serve, or does not: the images of a master and one satellite, alone on a network of their own."""

import os
import re
import subprocess

import pytest

from support import compose as containers
from support.wait import wait_for

VERSION = containers.setting("MULTIMED_VERSION")
PREFIX = f"{os.environ['COMPOSE_PROJECT_NAME']}-bootstrap"
MYSQL = ("mysql", "--defaults-file=/run/multimed/client.cnf", "--batch", "--skip-column-names", "--default-character-set=utf8mb4")
# Between backquotes: what a client in batch mode escapes, what it takes for commands of its own, what ends lines, and what is not ASCII.
ODD_NAMES = [
    r"a\b", r"a\nb", "a\nb", "a\tb", "a\r\nb", "\\", "a``b", "a'b\"c", "é ü 名", "x\n\\! touch /tmp/shell\ny", "\ndelimiter //\n;b", "a;b -- c", "a\u2028b",
]  # fmt: skip
OF_SATELLITES = ("'multimed_applier'@'%'", "'multimed_local'@'localhost'")
OF_MASTER = tuple(f"'multimed_{name}'@'%'" for name in ("capture", "clone", "gate", "monitor"))


class Pair:
    """Of both the entrypoints run; the satellite's data is on a tmpfs."""

    def __init__(self, secrets):
        self.secrets = secrets

    def run(self, name, image, *options):
        containers.run(
            *(
                "docker",
                "run",
                "-d",
                "--name",
                f"{PREFIX}-{name}",
                "--network",
                PREFIX,
                "--network-alias",
                name,
                "--tmpfs",
                "/run:mode=0755",
            ),
            *("-v", f"{self.secrets}/{name}:/run/secrets:ro", *options, f"multimed/{image}:{VERSION}"),
        )

    def start(self):
        containers.run("mysql-master/generate-secrets.sh", str(self.secrets))
        self.remove()
        containers.run("docker", "network", "create", PREFIX)
        self.run("master", "mysql-master", "-e", "MASTER_BUFFER_POOL=64m")
        self.run(
            *(
                "satellite",
                "mysql-satellite",
                "-e",
                "CLONE_DONORS=master:3306",
                "-e",
                "SATELLITE_BUFFER_POOL=32m",
                "-e",
                "SATELLITE_NAME=one",
            ),
            *("--tmpfs", "/var/lib/mysql:size=1g", "-v", f"{self.secrets.parent}/conf.d:/etc/multimed/conf.d:ro"),
        )

    @staticmethod
    def remove():
        subprocess.run(("docker", "rm", "-f", "-v", f"{PREFIX}-master", f"{PREFIX}-satellite"), capture_output=True, check=False)
        subprocess.run(("docker", "network", "rm", PREFIX), capture_output=True, check=False)

    @staticmethod
    def execute(server, *command, **options):
        return containers.run("docker", "exec", "-i", f"{PREFIX}-{server}", *command, **options)

    def sql(self, server, script, *options, check=True):
        done = self.execute(server, *MYSQL, *options, input=script, check=check)
        return done.stdout if check else done

    def logs(self, server="satellite"):
        done = containers.run("docker", "logs", f"{PREFIX}-{server}")
        return done.stdout + done.stderr

    def count(self, event):
        return len(re.findall(rf"event={event}\b", self.logs()))

    def life(self):
        return dict(line.split("=", 1) for line in self.execute("satellite", "cat", "/run/multimed/life").stdout.splitlines())

    def end(self):
        """The satellite's mysqld, by an orderly shutdown; it waits until that serves."""
        wait_for(lambda: self.sql("satellite", "SHUTDOWN", check=False).returncode == 0, 60, "mysqld to take the word")

    def clone_again(self):
        """The satellite's data thrown away; returns once it serves anew."""
        before = self.count("ready")
        self.end()
        wait_for(lambda: self.count("ready") > before, 60, "the satellite to serve anew")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    there = Pair(tmp_path_factory.mktemp("bootstrap") / "secrets")
    own = there.secrets.parent / "conf.d" / "one"
    own.mkdir(parents=True)
    (own / "indexes").write_text("odd.child (v)\n")
    there.start()
    try:
        wait_for(lambda: there.count("ready"), 90, "the satellite to serve")
        yield there
    finally:
        there.remove()


def quoted(name):
    return f"`{name}`"


def test_a_satellite_starts_again_whatever_triggers_events_tables_and_keys_are_called(pair):
    script = "SET NAMES utf8mb4; CREATE DATABASE odd; USE odd; CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE child (v INT);"
    for number, name in enumerate(ODD_NAMES):
        it = quoted(name)
        script += f"""
            CREATE TRIGGER {it} BEFORE INSERT ON t FOR EACH ROW SET NEW.id = NEW.id;
            CREATE EVENT {it} ON SCHEDULE EVERY 1 DAY DO SET @x = 1;
            CREATE DATABASE {it}; CREATE TABLE {it}.{it} ({it} INT PRIMARY KEY); CREATE TRIGGER {it}.{it} AFTER DELETE ON {it}.{it} FOR EACH ROW SET @x = 1;
            ALTER TABLE child ADD COLUMN c{number} INT, ADD CONSTRAINT {it} FOREIGN KEY (c{number}) REFERENCES {it}.{it} ({it});"""
    pair.sql("master", script, "--binary-mode")
    pair.clone_again()
    left = "SELECT (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema <> 'sys'), (SELECT COUNT(*) FROM information_schema.events)"
    assert pair.sql("satellite", left) == "0\t0\n"
    opened = "SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = 'odd'"
    assert pair.sql("satellite", opened) == f"{len(ODD_NAMES)}\n"
    # No text was taken for a command, and a table with such keys has the satellite's own index.
    assert pair.execute("satellite", "test", "-e", "/tmp/shell", check=False).returncode == 1
    assert "event=own-index-made" in pair.logs().rpartition("event=clone ")[2]


# In place of mysql: fails in the step that opens the satellite to clients.
REFUSING = """#!/bin/bash
[[ $* != *'offline_mode = OFF'* ]] || { echo 'ERROR 1064 (42000): "refused" é' >&2; exit 1; }
exec /usr/bin/mysql.real "$@"
"""


def test_a_bootstrap_that_fails_backs_off_and_says_why(pair):
    place = "cat > /tmp/mysql; chmod 755 /tmp/mysql; mv /usr/bin/mysql /usr/bin/mysql.real; mv /tmp/mysql /usr/bin/mysql"
    pair.execute("satellite", "bash", "-ec", place, input=REFUSING)
    pair.end()
    said, refused = (
        "opening it to clients: ERROR 1064 (42000): 'refused' ??",
        r"level=error .*event=bootstrap-failed reason=\"opening.*\" .*retry_s=(\d+)",
    )
    wait_for(lambda: len(re.findall(refused, pair.logs())) >= 3, 90, "three failures")
    assert pair.life()["failing"] == said
    pauses = [int(pause) for pause in re.findall(refused, pair.logs())]
    assert pauses[1] == 2 * pauses[0] and pauses[2] == 2 * pauses[1]
    assert int(pair.life()["retry_at"]) - int(pair.life()["failing_since"]) >= pauses[0] + pauses[1]
    pair.execute("satellite", "mv", "/usr/bin/mysql.real", "/usr/bin/mysql")
    wait_for(lambda: "since" in pair.life(), 60, "the satellite to serve again")


def ask_for_rebuild(pair, required):
    """As an applier does."""
    before = pair.count("ready")
    pair.execute("satellite", "sh", "-c", "cat > /var/lib/multimed/rebuild", input=required)
    pair.end()
    return before


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("required", ["11111111-2222-3333-4444-555555555555:1-7", "no GTID set:-1'"])
def test_a_donor_that_cannot_exist_is_not_waited_for_for_ever(pair, required):
    before = ask_for_rebuild(pair, required)
    if required[0] == "1":
        wait_for(lambda: "does not hold 11111111" in pair.life().get("failing", ""), 30, "what is waited for to be said")
    clones = pair.count("clone")
    wait_for(lambda: pair.count("ready") > before, 90, "the satellite to serve again")
    assert pair.count("clone") <= clones + 1


def test_a_donor_that_cannot_exist_is_not_waited_for_where_only_satellites_are_donors(pair):
    """The master is asked what it has, also where nobody clones from it."""
    said = "in=$1; . /usr/local/lib/multimed/lib.sh; . /usr/local/lib/multimed/bootstrap.sh; required_s=0; required=$in"
    asked = "donor_sql() { if [[ $1 == master ]]; then echo 0; else printf '0\\t0\\t1\\n'; fi; }; donor_suits satellite-2 3306; echo \"$required.\""
    answered = pair.execute(
        "satellite", "bash", "-c", f"COMPONENT=satellite; {said}; {asked}", "bash", "11111111-2222-3333-4444-555555555555:1-7"
    )
    assert answered.stdout.splitlines()[-1] == ".", answered


def test_a_missing_donor_is_asked_for_each_second_and_said(pair):
    containers.run("docker", "stop", "-t", "20", f"{PREFIX}-master")
    before = ask_for_rebuild(pair, "")
    wait_for(lambda: int(pair.life().get("failures", 0)) >= 4, 60, "attempts")
    assert pair.life()["failing"].startswith("no donor to clone from: master: ERROR 20")
    containers.run("docker", "start", f"{PREFIX}-master")
    wait_for(lambda: pair.count("ready") > before, 60, "the satellite to serve again")


ATTACKS = (
    "ALTER USER IF EXISTS {} IDENTIFIED BY 'mine'",
    "ALTER USER IF EXISTS {} ACCOUNT UNLOCK",
    "ALTER USER IF EXISTS attacker@'%' IDENTIFIED BY 'mine', {} IDENTIFIED BY 'mine'",
    "DROP USER IF EXISTS {}",
    "DROP ROLE IF EXISTS {}",
    "RENAME USER {} TO elsewhere@'%'",
    "RENAME USER attacker@'%' TO {}",
    "CREATE USER IF NOT EXISTS {} IDENTIFIED BY 'mine'",
    "CREATE ROLE IF NOT EXISTS {}",
    "SET PASSWORD FOR {} = 'mine'",
    "GRANT CREATE USER ON *.* TO {}",
    "REVOKE SYSTEM_USER ON *.* FROM {}",
    "REVOKE IF EXISTS ALL PRIVILEGES, GRANT OPTION FROM {} IGNORE UNKNOWN USER",
    "GRANT {} TO attacker@'%'",
    "GRANT attacker@'%' TO {}",
    "SET DEFAULT ROLE NONE TO {}",
    "GRANT PROXY ON {} TO attacker@'%'",
    "CREATE DEFINER={} VIEW odd.v AS SELECT 1",
)
ACCOUNTS = "SELECT user, host, account_locked, authentication_string FROM mysql.user WHERE user LIKE 'multimed%' ORDER BY 1, 2"


@pytest.fixture
def attacker(pair):
    pair.sql(
        "master",
        """CREATE USER attacker@'%' IDENTIFIED BY 'x'; CREATE DATABASE IF NOT EXISTS odd;
        GRANT CREATE USER, ROLE_ADMIN, CONNECTION_ADMIN, SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER ON *.* TO attacker@'%' WITH GRANT OPTION;
        GRANT ALL ON odd.* TO attacker@'%' WITH GRANT OPTION""",
    )
    address = "mysql --host=127.0.0.1 --protocol=TCP --user=attacker --get-server-public-key --force"

    def run(statement):
        return pair.execute("master", "sh", "-c", f"MYSQL_PWD=x exec {address}", input=statement, check=False).stderr

    yield run
    pair.sql("master", "DROP USER IF EXISTS attacker@'%'")


@pytest.mark.parametrize("account", OF_SATELLITES + OF_MASTER)
def test_who_may_create_users_cannot_change_the_stacks_accounts(pair, attacker, account):
    before, position = pair.sql("master", ACCOUNTS), pair.sql("master", "SELECT @@global.gtid_executed")
    refused = re.findall(r"ERROR (\d+) .* at line (\d+)", attacker(";\n".join(ATTACKS).replace("{}", account)))
    assert [int(line) for _, line in refused] == list(range(1, len(ATTACKS) + 1)), refused
    assert pair.sql("master", ACCOUNTS) == before
    assert pair.sql("master", "SELECT @@global.gtid_executed") == position, "nothing is in the log, for satellites to repeat"


def test_nobody_logs_in_at_the_master_as_an_account_of_satellites(pair):
    locked = pair.sql("master", "SELECT user, host FROM mysql.user WHERE account_locked = 'Y' AND user LIKE 'multimed%' ORDER BY 1")
    assert locked == "multimed_applier\t%\nmultimed_local\tlocalhost\n"
    names = "SELECT user, host FROM mysql.user ORDER BY 1, 2"
    assert pair.sql("satellite", names) == pair.sql("master", names), "what is done to an account there fails nowhere"


def test_an_account_that_stands_before_the_appliers_costs_one_clone(pair):
    """MySQL sorts accounts by host first. Nobody logs in instead of the applier, and its satellite is not cloned again and again."""
    other, nobody = "'multimed_applier'@'172.%'", "''@'172.%'"
    pair.sql("master", f"SET sql_log_bin = 0; CREATE USER {other} IDENTIFIED BY 'mine'")
    for account in (other, nobody):
        before, shut_out = pair.count("ready"), pair.count("applier-shut-out")
        pair.sql("satellite", f"CREATE USER {account} IDENTIFIED BY 'mine'")
        wait_for(lambda: pair.count("ready") > before, 90, "the satellite to clone and to serve")
        assert pair.count("applier-shut-out") == shut_out + 1
        assert pair.sql("satellite", "SELECT user, host FROM mysql.user WHERE user IN ('multimed_applier', '')") == "multimed_applier\t%\n"
    first, second = re.findall(r"event=bootstrap-failed .*could not log in.* retry_s=(\d+)", pair.logs())
    assert int(second) == 2 * int(first)
    pair.sql("master", f"SET sql_log_bin = 0; DROP USER {other}")


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("how", ["restart", "running"])
def test_a_stack_of_an_older_version_gets_the_accounts_and_its_satellites_hear_only_of_those_they_share(pair, how):
    """Also where a client has made one of these names meanwhile."""
    older = "".join(f"DROP USER IF EXISTS {each};" for each in OF_SATELLITES) + "".join(
        f"REVOKE SYSTEM_USER ON *.* FROM {each};" for each in OF_MASTER
    )
    taken = "CREATE USER 'multimed_applier'@'%' IDENTIFIED BY 'mine'; GRANT SELECT ON *.* TO 'multimed_applier'@'%';"
    pair.sql("master", f"SET sql_log_bin = 0; {older} {taken}")
    if how == "restart":
        containers.run("docker", "restart", "-t", "30", f"{PREFIX}-master")
    else:
        up = containers.run(
            "bash",
            "-euc",
            '. <(sed -n "/^make_accounts() {/,/^}/p" bin/up); docker() { command docker exec -i "$0" "${@:5}"; }; make_accounts',
            f"{PREFIX}-master",
        )
        assert "event=accounts-made" in up.stderr
    protected = "SELECT COUNT(*) FROM mysql.global_grants WHERE priv = 'SYSTEM_USER' AND user LIKE 'multimed%'"

    def whole():
        return pair.sql("master", protected, check=False).stdout == f"{len(OF_SATELLITES + OF_MASTER)}\n"

    wait_for(whole, 60, "the accounts")
    assert "GRANT USAGE" in pair.sql("master", "SHOW GRANTS FOR multimed_applier@'%'")
    test_nobody_logs_in_at_the_master_as_an_account_of_satellites(pair)
    logged = pair.execute(
        "master", "bash", "-c", "mysqlbinlog $(ls /var/lib/mysql/binlog.0* | tail -n 2) | grep -i 'applier\\|multimed_local'", check=False
    )
    assert logged.stdout == ""
    pair.clone_again()
