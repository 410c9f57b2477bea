"""`make precheck` of a server that is not ours: it names what is there, and changes nothing."""

import os

import pytest

from support import compose as containers

MYSQLD = "mysqld --no-defaults --user=mysql --datadir=/tmp/old --secure-file-priv=NULL --mysqlx=OFF --innodb-buffer-pool-size=64M"
SCRIPT = """
CREATE DATABASE shop; USE shop;
CREATE TABLE orders (id INT PRIMARY KEY, total INT);
CREATE TABLE old_log (t TEXT) ENGINE=MyISAM;
CREATE TRIGGER tr AFTER INSERT ON orders FOR EACH ROW SET @x = 1;
CREATE USER far@'10.0.0.5' IDENTIFIED BY 'x';
CREATE USER looks@'%' IDENTIFIED BY 'looks-password';
GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, PROCESS ON *.* TO looks@'%';
CREATE USER little@'%' IDENTIFIED BY 'looks-password';
SELECT SUM(total) FROM orders; SELECT * FROM orders WHERE id IN (1, 2); SELECT * FROM orders FOR UPDATE;
"""


@pytest.fixture(scope="module")
def old(stack):
    """host:port of a second MySQL, from the master's image, on Docker's own bridge."""
    name = os.environ["COMPOSE_PROJECT_NAME"] + "-old"
    image = f"multimed/mysql-master:{containers.setting('MULTIMED_VERSION')}"
    start = f"mkdir -p /tmp/old /run/mysqld && chown mysql:mysql /tmp/old /run/mysqld && {MYSQLD} --initialize-insecure && exec {MYSQLD} --socket=/run/mysqld/mysqld.sock"
    containers.run("docker", "rm", "-f", "-v", name, check=False)
    containers.run("docker", "run", "-d", "--name", name, "--memory", "1g", "--entrypoint", "bash", image, "-c", start)

    def client(script, check=False):
        command = ("docker", "exec", "-i", name, "mysql", "-uroot", "--socket=/run/mysqld/mysqld.sock", "-N")
        return containers.run(*command, input=script, check=check)

    try:
        stack.wait_for(lambda: client("SELECT 1").returncode == 0, 120, "the second MySQL")
        client(SCRIPT, check=True)
        address = containers.run("docker", "inspect", "-f", "{{.NetworkSettings.IPAddress}}", name).stdout.strip()
        yield f"{address}:3306", lambda script: client(script, check=True).stdout
    finally:
        containers.run("docker", "rm", "-f", "-v", name, check=False)


@pytest.fixture
def precheck(old, tmp_path):
    password = tmp_path / "password"
    password.write_text("looks-password\n")

    def run(user, address=old[0]):
        env = {"MYSQL": address, "NAME": user, "PASSWORD_FILE": str(password)}
        return containers.run("mysql-master/precheck", check=False, env=env)

    return run


def test_it_names_what_blocks_and_what_moves_and_changes_nothing(old, precheck):
    state = "SELECT @@global.gtid_executed; SHOW BINARY LOGS; SELECT COUNT(*) FROM mysql.innodb_table_stats"
    before = old[1](state)
    done = precheck("looks")
    assert done.returncode == 1, done.stdout + done.stderr
    for each in ("shop.old_log (MyISAM)", "far@10.0.0.5", "1 triggers: shop.tr", "statements that satellites may answer: ", "locking read"):
        assert each in done.stdout, done.stdout
    assert "looks-password" not in done.stdout + done.stderr
    assert old[1](state) == before


def test_what_an_account_may_not_see_is_not_called_ok(precheck):
    done = precheck("little")
    assert "lacks SELECT, SHOW VIEW, TRIGGER, EVENT, PROCESS" in done.stdout and "all tables are InnoDB" not in done.stdout


def test_a_server_out_of_reach_is_said(precheck):
    done = precheck("looks", "127.0.0.1:1")
    assert done.returncode == 1 and "2003" in done.stderr, done.stderr
