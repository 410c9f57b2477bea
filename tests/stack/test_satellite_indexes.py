"""A satellite's own indexes and settings (conf.d/satellite-2): there after every clone, nowhere else, and unknown to clients."""

import pathlib
import re
import shutil

import pytest

from support import compose as containers

SATELLITE = "satellite-2"
MASTERS_CONF = pathlib.Path(containers.ROOT) / "tests/mysql-conf.d/main"


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    """conf.d of the satellites, with some of satellite-2's own."""
    directory = tmp_path_factory.mktemp("conf.d")
    shutil.copytree(MASTERS_CONF, directory, dirs_exist_ok=True)
    directory.chmod(0o755)
    own = directory / SATELLITE
    own.mkdir()
    (own / "own.cnf").write_text("[mysqld]\nmax_connections = 777\n")
    (own / "indexes").write_text(
        "# for reports\nown.orders (customer, created DESC)\n`own`.`later` (a) # not there yet\nown.child (parent, b)\nown.orders (never)\n"
    )
    return directory


@pytest.fixture(scope="module")
def with_indexes(stack, conf):
    for statement in (
        "DROP DATABASE IF EXISTS own",
        "CREATE DATABASE own",
        "CREATE TABLE own.orders (id INT PRIMARY KEY, customer INT, created DATETIME, note VARCHAR(20))",
        "INSERT INTO own.orders WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000) "
        "SELECT i, i % 500, NOW(), 'x' FROM s",
        "CREATE TABLE own.parent (id INT PRIMARY KEY)",
        "CREATE TABLE own.child (id INT PRIMARY KEY, parent INT, b INT, FOREIGN KEY (parent) REFERENCES parent (id))",
    ):
        stack.sql("master", statement)
    stack.await_satellites()
    stack.recreate(*stack.satellites, TEST_MYSQL_CONF=str(conf))
    stack.await_satellites()
    try:
        yield stack
    finally:
        stack.sql("master", "DROP DATABASE own")
        stack.await_satellites()
        stack.recreate(*stack.satellites)


def own_indexes(stack, service):
    """(table, columns) of each."""
    return {
        tuple(row)
        for row in stack.sql(
            service,
            "SELECT table_name, GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM information_schema.statistics "
            "WHERE index_name LIKE 'multimed%' GROUP BY table_schema, table_name, index_name",
        )
    }


ORDERS = ("orders", "customer,created")


@pytest.mark.fault
def test_one_satellite_has_indexes_and_settings_that_the_others_have_not(with_indexes):
    stack = with_indexes
    assert own_indexes(stack, SATELLITE) == {ORDERS}
    assert own_indexes(stack, "satellite-1") == set()
    assert stack.sql(SATELLITE, "SELECT @@max_connections") == [(777,)]
    assert stack.sql("satellite-1", "SELECT @@max_connections") != [(777,)]
    plan = str(stack.sql(SATELLITE, "EXPLAIN SELECT id FROM own.orders WHERE customer = 7 ORDER BY created DESC LIMIT 1"))
    assert "multimed_own_" in plan
    said = stack.logs(SATELLITE)
    assert 'reason="it would replace the index parent' in said, "MySQL's index of a foreign key, which clients may name in a hint"
    assert re.search(r'line="own.orders \(never\)" reason="ERROR 1072', said)


@pytest.mark.fault
def test_clients_see_the_masters_indexes(with_indexes):
    stack = with_indexes
    with stack.gate_connect(user="test_admin", database="own") as connection, connection.cursor() as cursor:
        for statement in (
            "SHOW CREATE TABLE orders",
            "SHOW INDEX FROM orders",
            "SHOW COLUMNS FROM orders",
            "DESCRIBE orders",
            "SELECT column_name, column_key FROM information_schema.columns WHERE table_schema = 'own' AND table_name = 'orders'",
            "SELECT index_name FROM information_schema.statistics WHERE table_schema = 'own'",
        ):
            for _ in range(4):  # some would reach satellite-2
                cursor.execute(statement)
                shown = str(cursor.fetchall())
                assert "multimed_own" not in shown and "MUL" not in shown.replace("parent", ""), shown


@pytest.mark.fault
def test_own_indexes_come_back_after_a_rebuild_and_go_from_a_clone_of_it(with_indexes):
    stack = with_indexes
    for service, expected in ((SATELLITE, {ORDERS}), ("satellite-1", set())):
        before = stack.incarnation(service)
        stack.kill_process(service, "mysqld")
        stack.wait_for(lambda s=service, b=before: stack.incarnation(s) != b, 90, f"{service} to be a new incarnation")
        stack.await_satellites(deadline_s=90)
        assert own_indexes(stack, service) == expected
    assert "satellite-2" in re.findall(r"event=clone donor=(\S+?):\d+", stack.logs("satellite-1"))[-1]


@pytest.mark.fault
def test_statements_of_the_master_pass_and_the_indexes_come_back(with_indexes):
    stack = with_indexes
    before = stack.incarnation(SATELLITE)
    stack.sql("master", "CREATE TABLE own.later (id INT PRIMARY KEY, a VARCHAR(700))")
    stack.wait_for(lambda: ("later", "a") in own_indexes(stack, SATELLITE), 60, "the index of a later table")
    stack.sql("master", "ALTER TABLE own.later MODIFY a VARCHAR(2000)")
    stack.sql("master", "CREATE TABLE own.like_orders LIKE own.orders")
    stack.sql("master", "ALTER TABLE own.orders ADD COLUMN more INT")
    stack.sql("master", "RENAME TABLE own.orders TO own.orders2, own.orders2 TO own.orders")
    stack.await_satellites()
    stack.wait_for(lambda: own_indexes(stack, SATELLITE) == {ORDERS}, 60, "the index of the changed table, none of the copy")
    assert stack.incarnation(SATELLITE) == before, "nothing of this needed a clone"
    assert stack.contains("master", stack.gtid(SATELLITE)), "no GTID of its own"
    assert "identical" in stack.compare()


@pytest.mark.fault
def test_mistakes_in_the_file_are_refused_all_at_once(stack, tmp_path):
    own = tmp_path / SATELLITE
    own.mkdir()
    (own / "indexes").write_text(
        "own.t (a); DROP TABLE own.t\nown.t ((a + 1))\nt (a)\nUNIQUE own.t (a)\nown.t (a)\nown.t (a)\nown.t (`b``c`(5) desc)\n"
    )
    # Not as the service: a second satellite-2 would take the socket of the one that serves.
    image = containers.run("docker", "inspect", "-f", "{{.Config.Image}}", containers.container(SATELLITE)).stdout.strip()
    options = (
        "-v",
        f"{tmp_path}:/etc/multimed/conf.d:ro",
        "-v",
        f"{stack.secrets}/satellite:/run/secrets:ro",
        "-e",
        f"SATELLITE_NAME={SATELLITE}",
    )
    run = containers.run("docker", "run", "--rm", *options, "-e", "CLONE_DONORS=none:1", image, check=False)
    said = run.stdout + run.stderr
    assert run.returncode == 64, said
    assert said.count("not an index like") == 4 and said.count("twice: own.t (a)") == 1, said
