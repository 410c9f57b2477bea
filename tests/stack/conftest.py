"""A schema of its own for a test, and a way to run statements in it as an administrator."""

import contextlib
import re

import pytest

from support.stack import ADMIN


@pytest.fixture
def schema(stack, request):
    """Name of an empty schema; kept after the test, so that the comparison at the end sees what it left."""
    name = re.sub(r"\W+", "_", request.node.name.removeprefix("test_"))[:60].rstrip("_")
    stack.sql("master", f"DROP DATABASE IF EXISTS `{name}`")
    stack.sql("master", f"CREATE DATABASE `{name}`")
    return name


@pytest.fixture
def execute(stack, schema):
    """execute(statement, ..., via="gate" | "master", **driver options): one session; returns the last one's rows."""

    def run(*statements, via="gate", **options):
        connect = stack.gate_connect if via == "gate" else stack.master_connect
        with contextlib.closing(connect(user=ADMIN, database=schema, **options)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    return run


@pytest.fixture
def incarnations(stack):
    """Of the satellites when the test began: to say afterwards who was rebuilt."""
    return {service: stack.incarnation(service) for service in stack.satellites}


@pytest.fixture(scope="session")
def table(stack):
    """app.items: 1000 rows, on every satellite."""
    stack.sql("master", "DROP TABLE IF EXISTS app.items")
    stack.sql("master", "CREATE TABLE app.items (id INT PRIMARY KEY, v VARCHAR(50), n INT, d DECIMAL(10,2), t DATETIME(3), b BLOB)")
    stack.sql(
        "master",
        "INSERT INTO app.items WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000) "
        "SELECT i, CONCAT('item ü ', i), i % 10, i / 3, '2024-01-02 03:04:05.678', X'00FF27' FROM s",
    )
    stack.await_satellites()
    return "items"


@pytest.fixture
def cursor(stack, table):
    """One session through the gate, as an application has it."""
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as opened:
        yield opened


@pytest.fixture
def reads(stack):
    """reads(action) -> {server: reads that it answered meanwhile}, without zeros; as the gate's metrics count them."""

    def counted():
        return {server["name"]: server["reads"] for server in stack.servers()}

    def settled():
        """A read is counted a moment after the client has its answer."""
        looks = []
        stack.wait_for(lambda: looks.append(counted()) or looks[-3:] == 3 * looks[-1:], 10, "the counts to stand still")
        return looks[-1]

    def during(action):
        # Who answers is asked here, not how fast replay is.
        stack.await_satellites()
        before = settled()
        action()
        return {name: count - before[name] for name, count in settled().items() if count != before[name]}

    return during
