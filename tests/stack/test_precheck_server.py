"""`make precheck` of a server that is not ours: it names what is there, and changes nothing."""

import pytest

from support import compose as containers
from support import old as servers

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
    """(host:port, SQL on it) of a second MySQL, on Docker's own bridge."""
    with servers.running("old") as server:
        server.sql(SCRIPT)
        yield f"{server.address}:3306", lambda script: server.sql(script).stdout


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
