"""Node's drivers through the gate: what they get is what they get from the master itself, reads run on satellites."""

import time

import pytest

from support import compose as containers

CLIENTS = "tests/stack/clients/node"
# What these cases do may run on satellites, and so must.
READS = [("mysql2", each) for each in ("values", "pool", "prepared", "stream", "readOnlyTransactions")] + [
    ("mariadb", "values"),
    ("mariadb", "pipeline"),
]
# What these do may not run there.
ON_THE_MASTER = ["transactions", "multipleStatements"]
OTHERS = [("mysql2", each) for each in ("writes", "sessions", "errors", "kill", "killedConnection")] + [("mariadb", "writes")]


@pytest.fixture(scope="module")
def node(stack):
    """node(program, case, where, user, NAME=value...) -> what it printed, connected to the gate or to the master."""

    def run(program, case, where, user="app", **env):
        host, port = (stack.host, stack.gate_port) if where == "gate" else (containers.address("master"), 3306)
        return containers.run(
            "node",
            f"{CLIENTS}/{program}.js",
            case,
            env={
                "NODE_PATH": str(stack.root / ".state/test/node/node_modules"),
                "HOST": host,
                "PORT": str(port),
                "DB_USER": user,
                "DB_PASSWORD": stack.password(user),
                **env,
            },
        ).stdout

    return run


@pytest.fixture(scope="module")
def tables(stack, table):
    """Those that the cases use, the values at their limits."""
    for name in ("values", "writes", "loaded"):
        stack.sql("master", f"DROP TABLE IF EXISTS app.node_{name}")
    stack.sql(
        "master",
        "CREATE TABLE app.node_writes (id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(40), big BIGINT, document JSON, content LONGBLOB)",
    )
    stack.sql("master", "CREATE TABLE app.node_loaded (id INT PRIMARY KEY, v VARCHAR(200))")
    stack.sql(
        "master",
        "CREATE TABLE app.node_values (id INT PRIMARY KEY, big BIGINT, unsigned_big BIGINT UNSIGNED, decimals DECIMAL(65,30), f FLOAT, d DOUBLE, "
        "day DATE, moment DATETIME(6), stamp TIMESTAMP(3) NULL, t TIME(3), y YEAR, bits BIT(10), bytes VARBINARY(20), content BLOB, text TEXT, "
        "e ENUM('a', 'ü'), s SET('a', 'b', 'c'), document JSON, place POINT)",
    )
    stack.sql(
        "master",
        """INSERT INTO app.node_values VALUES
        (1, -9223372036854775808, 0, -0.000000000000000000000000000001, -1.5e-10, -1.7976931348623157e308, '1000-01-01', '1000-01-01 00:00:00.000001',
         '1970-01-02 00:00:01.001', '-838:59:59', 1901, b'0', '', '', '', 'a', '', '{}', NULL),
        (2, 9223372036854775807, 18446744073709551615, 99999999999999999999999999999999999.999999999999999999999999999999, 3.4e38, 0.1, '9999-12-31',
         '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07.999', '838:59:58.999', 2155, b'1111111111', X'00FF27', REPEAT(X'00', 1000), REPEAT('ü 🦀', 300), 'ü', 'a,c',
         '{"text": "ü 🦀", "list": [1, 2.5, null]}', POINT(1.5, -2)),
        (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""",
    )
    stack.await_satellites()


def on_satellites(counts):
    return bool(counts) and all(name.startswith("satellite") for name in counts)


@pytest.mark.parametrize("program,case", READS)
def test_reads_are_answered_by_satellites_as_by_the_master(node, tables, reads, program, case):
    output = []
    counts = reads(lambda: output.append(node(program, case, "gate")))
    assert on_satellites(counts), counts
    assert output[0] == node(program, case, "master")


@pytest.mark.parametrize("case", ON_THE_MASTER)
def test_transactions_and_texts_of_several_statements_of_mysql2_run_on_the_master(stack, node, tables, reads, case):
    output, before = [], stack.last_number()
    counts = reads(lambda: output.append(node("mysql2", case, "gate")))
    assert not any(name.startswith("satellite") for name in counts), counts
    assert stack.last_number() > before
    assert output[0] == node("mysql2", case, "master")


@pytest.mark.parametrize("program,case", OTHERS)
def test_the_gate_answers_as_the_master_does(stack, node, tables, program, case):
    stack.make_user("second_app")
    other = {"OTHER_USER": "second_app", "OTHER_PASSWORD": stack.password("second_app")}
    assert node(program, case, "gate", **other) == node(program, case, "master", **other)


@pytest.mark.parametrize("tls", ["", "yes"])
def test_mysql2_logs_in_with_tls_and_without(stack, node, tables, tls):
    """With a new password each time, so that nobody remembers it: the whole way, then the short one."""
    output = []
    for where in ("gate", "master"):
        stack.make_user("node_login", db="app", password=f"a new \\ `one` {time.time_ns()}")
        output.append(node("mysql2", "login", where, user="node_login", TLS=tls))
    assert output[0] == output[1]


def test_mysql2_loads_data_from_a_stream(stack, node, tables):
    stack.sql("master", "SET GLOBAL local_infile = ON")
    try:
        assert node("mysql2", "loadData", "gate") == node("mysql2", "loadData", "master")
    finally:
        stack.sql("master", "SET GLOBAL local_infile = OFF")
