"""What is large passes in bounded memory: the appliers have half of what the stack gives them, capture no more than the stack gives it."""

import pytest

from support import compose as containers

MEMORY = "1g"
APPLIERS = ("applier-1", "applier-2")
ROW = 64 << 20
NUMBERS = "WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000000) SELECT i"


@pytest.fixture(scope="module", autouse=True)
def little_memory(stack):
    stack.recreate(*APPLIERS, CDC_MEMORY=MEMORY)
    stack.await_satellites(90)
    yield
    stack.recreate(*APPLIERS)


@pytest.fixture(autouse=True)
def nobody_was_restarted(stack, incarnations):
    """Running out of memory ends a process; a satellite that cannot hold a row clones again."""

    def starts():
        return {service: containers.inspect(service)["State"]["StartedAt"] for service in ("capture", *APPLIERS)}

    before = starts()
    yield
    assert starts() == before
    assert {service: stack.incarnation(service) for service in stack.satellites} == incarnations


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "column,value,then",
    [
        ("LONGBLOB", f"REPEAT(X'00FF2722', {ROW // 4})", "UPDATE large SET n = 2"),
        ("LONGTEXT", f"REPEAT('ü', {ROW // 2})", "DELETE FROM large"),
    ],
)
def test_a_row_of_64_mib(stack, schema, execute, column, value, then):
    execute(f"CREATE TABLE large (id INT PRIMARY KEY, n INT, c {column})", via="master")
    for statement in (f"INSERT INTO large VALUES (1, 1, {value})", then):
        execute(statement, via="master", read_timeout=300)
        stack.await_satellites(deadline_s=240)
        rows = [
            stack.sql(service, f"SELECT id, n, LENGTH(c), SHA2(c, 256) FROM `{schema}`.large") for service in ("master", *stack.satellites)
        ]
        assert rows == 3 * rows[:1]
    stack.sql("master", f"DROP TABLE `{schema}`.large")


@pytest.mark.timeout(600)
def test_a_transaction_of_a_million_rows(stack, schema, execute):
    execute(
        "CREATE TABLE many (id INT PRIMARY KEY, v VARCHAR(60), n INT)",
        "SET SESSION cte_max_recursion_depth = 1000001",
        "START TRANSACTION",
        f"INSERT INTO many {NUMBERS}, CONCAT('row ', i), i % 7 FROM s",
        "UPDATE many SET n = n + 1 WHERE id % 10 = 0",
        "DELETE FROM many WHERE id % 20 = 0",
        "COMMIT",
        via="master",
        read_timeout=300,
    )
    stack.await_satellites(deadline_s=300)
    rows = f"SELECT COUNT(*), SUM(n), BIT_XOR(CRC32(CONCAT_WS('#', id, v, n))) FROM `{schema}`.many"
    assert stack.sql("master", rows)[0][0] == 950_000
    assert [stack.sql(service, rows) for service in stack.satellites] == 2 * [stack.sql("master", rows)]
    stack.sql("master", f"DROP TABLE `{schema}`.many")
