"""Query attributes: what a client sends beside a statement arrives with it, wherever the statement runs. Servers tell through
MySQL's own component, which these tests install and remove."""

import contextlib
import datetime
import decimal
import glob
import io
import struct

import mysql.connector
import pymysql
import pytest
from mysql.connector.constants import ServerCmd

from support import compose as containers
from support.gate import operate as gate

COMPONENT = "file://component_query_attributes"
ASK = "SELECT mysql_query_attribute_string('trace')"
# Letters of a value that the component tells.
MOST_TOLD = 1023
VALUES = {
    "trace": "00-4bf92f-01 ü '\"?",
    "empty": "",
    "long": "x" * 300,
    "longer": "y" * 70_000,
    "tiny": 7,
    "short": -300,
    "int": 70_000,
    "big": -(1 << 40),
    "unsigned": 2**64 - 1,
    "double": 0.1,
    "decimal": decimal.Decimal("12.50"),
    "bytes": b"abc",
    "date": datetime.date(2024, 2, 29),
    "datetime": datetime.datetime(2024, 1, 2, 3, 4, 5, 678000),
    "midnight": datetime.datetime(2024, 1, 2),
    "time": datetime.timedelta(days=-3, microseconds=5),
}


def installed(stack, service):
    return stack.sql(service, "SELECT COUNT(*) FROM mysql.component WHERE component_urn = %s", (COMPONENT,)) == [(1,)]


@pytest.fixture(scope="module", autouse=True)
def component(stack):
    """On satellites too, where read-only transactions ask."""
    everywhere = ("master", *stack.satellites)
    for service in everywhere:
        if not installed(stack, service):
            stack.sql(service, f"INSTALL COMPONENT '{COMPONENT}'")
    yield
    for service in everywhere:
        if installed(stack, service):
            stack.sql(service, f"UNINSTALL COMPONENT '{COMPONENT}'")


@pytest.fixture
def connect(stack, table):
    """connect(attributes, where): a session whose statements all have these."""
    with contextlib.ExitStack() as opened:

        def connected(attributes, where="gate", **options):
            to = stack.gate_connect if where == "gate" else stack.master_connect
            connection = opened.enter_context(contextlib.closing(to(client="connector", **options)))
            for name, value in attributes.items():
                connection.query_attrs_append((name, value))
            return connection

        yield connected


@pytest.fixture
def drained(stack):
    """drained(name): new statements go elsewhere, until the test ends."""

    def drain(name):
        for other in stack.satellites:
            gate("drain" if other == name else "undrain", other)

    yield drain
    for name in stack.satellites:
        gate("undrain", name)


def ask(connection, *statements, prepared=False, parameters=()):
    """Rows of the last one."""
    with contextlib.closing(connection.cursor(prepared=prepared)) as cursor:
        for statement in statements:
            cursor.execute(statement, parameters)
            rows = cursor.fetchall() if cursor.with_rows else None
        return rows


def on_satellites(counts):
    return bool(counts) and all(name.startswith("satellite") for name in counts)


@pytest.mark.parametrize("prepared", [False, True])
def test_values_of_every_type_arrive_as_without_the_gate(connect, prepared):
    question = "SELECT " + ", ".join(f"mysql_query_attribute_string('{name}')" for name in VALUES)
    through, direct = (ask(connect(VALUES, where), question, prepared=prepared) for where in ("gate", "master"))
    assert through == direct
    assert through[0][0] == VALUES["trace"] and through[0][3] == VALUES["longer"][:MOST_TOLD]


@pytest.mark.parametrize("prepared", [False, True])
def test_reads_with_attributes_are_answered_by_satellites(connect, reads, prepared):
    connection = connect(VALUES)
    counts = reads(lambda: [ask(connection, "SELECT n FROM items WHERE id = 5", prepared=prepared) for _ in range(4)])
    assert on_satellites(counts) and sum(counts.values()) == 4, counts


@contextlib.contextmanager
def without_component(stack, *services):
    for service in services:
        stack.sql(service, f"UNINSTALL COMPONENT '{COMPONENT}'")
    try:
        yield
    finally:
        for service in services:
            stack.sql(service, f"INSTALL COMPONENT '{COMPONENT}'")


@pytest.mark.parametrize("prepared", [False, True])
def test_inside_a_transaction_on_a_satellite_attributes_are_asked_of_the_master(connect, drained, stack, prepared):
    """The function is a component's: with a table beside it nobody has both its name and the transaction's snapshot."""
    connection = connect({"trace": "there"})
    cursor = connection.cursor(prepared=prepared)
    for name in stack.satellites:
        drained(name)
        ask(connection, "START TRANSACTION READ ONLY", "SELECT n FROM items WHERE id = 1")
        cursor.execute(ASK)
        assert cursor.fetchall() == [("there",)]
        with pytest.raises(mysql.connector.Error) as raised:
            cursor.execute(f"{ASK}, n FROM items WHERE id = 2")
        assert raised.value.errno == 1105
        ask(connection, "COMMIT")


def test_a_read_only_transaction_asks_the_master_where_satellites_can_not_tell(connect, stack):
    connection = connect({"trace": "here"})
    with without_component(stack, *stack.satellites):
        ask(connection, "START TRANSACTION READ ONLY", "SELECT n FROM items WHERE id = 1")
        assert ask(connection, ASK) == [("here",)]
        ask(connection, "COMMIT")


def test_attributes_are_those_of_their_statement_only(connect):
    connection = connect({"trace": "first"})
    assert ask(connection, ASK) == [("first",)]
    connection.query_attrs_clear()
    assert ask(connection, ASK) == [(None,)]
    connection.query_attrs_append(("trace", "second"))
    assert ask(connection, ASK) == [("second",)]


def test_parameters_and_attributes_together(connect):
    connection = connect(VALUES)
    question = ASK + ", %s, %s, CAST(%s AS CHAR), %s"
    values = (1 << 40, "ü", None, 0.5)
    for _ in range(2):
        assert ask(connection, question, prepared=True, parameters=values) == [(VALUES["trace"], 1 << 40, "ü", None, 0.5)]


def test_long_data_and_attributes(connect):
    connection = connect({"trace": "beside long data"})
    parameters = (5, io.BytesIO(b"long " * 5000), "after")
    answer = ask(connection, ASK + ", %s, LENGTH(%s), %s", prepared=True, parameters=parameters)
    assert answer == [("beside long data", 5, 25_000, "after")]


def test_a_prepared_statement_with_attributes_follows_to_every_server(connect, drained, stack):
    cursor = connect({"trace": "moves"}).cursor(prepared=True)
    for name in (*stack.satellites, *stack.satellites):
        drained(name)
        other = next(s for s in stack.satellites if s != name)
        before = stack.server(other)["reads"]
        cursor.execute("SELECT id, v FROM items WHERE id = %s AND v = %s", (7, "item ü 7"))
        assert cursor.fetchall() == [(7, "item ü 7")]
        assert stack.server(other)["reads"] > before


def test_types_that_came_with_attributes_are_known_to_the_next_server(connect, drained, stack):
    """A client that gives the types once, as MySQL's own library does."""
    connection = connect({"trace": "moves", "more": 5})
    drained(stack.satellites[0])
    prepared = connection.cmd_stmt_prepare(b"SELECT v, ? FROM items WHERE id = ?")
    number = prepared["statement_id"]

    def answer(result):
        connection.unread_result = True
        rows, _ = connection.get_rows(binary=True, columns=result[1])
        return rows

    bound = connection.cmd_stmt_execute(number, ("ü", 8), prepared["parameters"])
    assert answer(bound) == [("item ü 8", "ü")]
    for name in (stack.satellites[1], stack.satellites[0]):
        drained(name)
        for count_flag in (0, 8):
            packet = struct.pack("<IBI", number, count_flag, 1) + b"\x02\x00\x00" + b"\x02\xc3\xbc" + b"\x09"
            unbound = connection._handle_binary_result(connection._send_cmd(ServerCmd.STMT_EXECUTE, packet=packet))
            assert answer(unbound) == [("item ü 9", "ü")]


def test_connector_j(stack, table):
    """Cursors with attributes, and executions whose types came before."""
    jars = glob.glob(f"{stack.root}/cdc-applier/target/dist/lib/mysql-connector-j-*.jar")
    assert jars, "cdc-applier is built before the stack comes up"
    done = containers.run(
        "java",
        "-cp",
        jars[0],
        "tests/stack/clients/Attributes.java",
        env={
            "URL": f"jdbc:mysql://{stack.host}:{stack.gate_port}/app?useServerPrepStmts=true&useCursorFetch=true&cachePrepStmts=true&allowPublicKeyRetrieval=true",
            "DB_USER": "app",
            "DB_PASSWORD": stack.password("app"),
        },
    )
    assert done.stdout.strip().endswith("fine"), done.stdout


def test_the_mysql_client(stack, table):
    options = f"[client]\nuser=app\npassword={stack.password('app')}\nhost=gate\nport=6034\nprotocol=TCP\n"
    stack.compose("exec", "-T", "master", "sh", "-c", "umask 077; cat > /run/multimed/test.cnf", input=options)
    script = f"query_attributes trace by_hand other 2\n{ASK};\n{ASK};\nSELECT n FROM items WHERE id = 3;\n"
    done = stack.compose(
        "exec", "-T", "master", "mysql", "--defaults-file=/run/multimed/test.cnf", "-N", "--loose-commands", "app", input=script
    )
    assert done.stdout.splitlines() == ["by_hand", "NULL", "3"]


STATEMENTS = (
    "CREATE TABLE attributed (id INT PRIMARY KEY, v VARCHAR(40))",
    "INSERT INTO attributed VALUES (1, 'a'), (2, 'b')",
    "BEGIN",
    "UPDATE attributed SET v = mysql_query_attribute_string('trace') WHERE id = 1",
    "SAVEPOINT s",
    "DELETE FROM attributed",
    "ROLLBACK TO s",
    "COMMIT",
    "SELECT * FROM attributed ORDER BY id",
    "START TRANSACTION READ ONLY",
    "SAVEPOINT s",
    "SELECT v FROM attributed WHERE id = 1",
    ASK,
    "COMMIT",
    "SET TRANSACTION READ ONLY",
    "START TRANSACTION",
    "SELECT COUNT(*) FROM attributed",
    "ROLLBACK",
    "SET autocommit = 0",
    "SELECT v FROM attributed WHERE id = 2",
    "SET autocommit = 1",
    "SET @a = 5, @multimed_consistency = 'session'",
    "SELECT @a",
    "SET SESSION sql_select_limit = 1",
    "SELECT id FROM attributed ORDER BY id",
    "SET SESSION sql_select_limit = DEFAULT",
    "SET NAMES utf8mb4",
    "USE app",
    "SELECT /* multimed: consistency=eventual */ 1",
    "SELECT CAST('12x' AS SIGNED)",
    "SHOW WARNINGS",
    "PREPARE p FROM 'SELECT 1'",
    "EXECUTE p",
    "DROP TABLE attributed",
)


def test_statements_of_every_kind_may_have_attributes(connect):
    through, direct = connect(VALUES), connect(VALUES, "master")
    assert [ask(through, s) for s in STATEMENTS] == [ask(direct, s) for s in STATEMENTS]


def test_kill_and_several_statements_with_attributes(connect):
    connection, other = connect({"trace": "first"}), connect({})
    number = ask(other, "SELECT CONNECTION_ID()")[0][0]
    ask(connection, f"KILL QUERY {number}")
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute(f"{ASK}; SELECT 2")
        answers = [cursor.fetchall()]
        while cursor.nextset():
            answers.append(cursor.fetchall())
    assert answers == [[("first",)], [(2,)]]


def test_statements_and_attributes_of_more_than_16_mib(connect):
    connection = connect({"trace": "long"})
    text = "x" * (17 << 20)
    assert ask(connection, f"{ASK}, LENGTH('{text}')") == [("long", len(text))]
    assert ask(connection, f"{ASK}, LENGTH(%s)", prepared=True, parameters=(text,)) == [("long", len(text))]
    connection.query_attrs_append(("text", text))
    for prepared in (False, True):
        assert ask(connection, "SELECT LENGTH(mysql_query_attribute_string('text'))", prepared=prepared) == [(MOST_TOLD,)]
        assert ask(connection, "SELECT n FROM items WHERE id = 5", prepared=prepared) == [(5,)]


MALFORMED = {
    "no set": b"\x00",
    "two sets": b"\x00\x02SELECT 1",
    "count without values": b"\x01\x01",
    "no types": b"\x01\x01\x00\x00SELECT 1",
    "cut off": b"\x01\x01\x00\x01\xfe\x00\x05tra",
    "a boolean": b"\x01\x01\x00\x01\xf4\x00\x01a\x01SELECT 1",
    "no length": b"\xfb\x01SELECT 1",
    "long": b"\x01\x01\x00\x01\xfe\x00\xfe" + b"\xff" * (17 << 20),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_attributes_are_refused_and_disturb_nothing(connect, what):
    connection = connect({"trace": "after"})
    ask(connection, "BEGIN", "SET @a = 1")
    answer = connection._send_cmd(ServerCmd.QUERY, MALFORMED[what])
    assert (answer[4], struct.unpack("<H", answer[5:7])[0]) == (0xFF, 1835), answer
    assert connection.in_transaction and ask(connection, f"{ASK}, @a") == [("after", 1)]
    ask(connection, "COMMIT")


def test_too_few_values_are_refused_as_mysql_does(connect):
    for where in ("gate", "master"):
        connection = connect({}, where)
        number = connection.cmd_stmt_prepare(b"SELECT ?, ?")["statement_id"]
        answer = connection._send_cmd(ServerCmd.STMT_EXECUTE, struct.pack("<IBI", number, 8, 1) + b"\x01\x00\x01\x08\x00\x00" + bytes(8))
        assert (answer[4], struct.unpack("<H", answer[5:7])[0]) == (0xFF, 1210), answer
        assert ask(connection, "SELECT 1") == [(1,)]


def test_a_client_that_knows_no_attributes_is_served_as_before(stack, table, connect):
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        assert not connection.client_flag & 1 << 27
        for statement, rows in (("SELECT n FROM items WHERE id = 5", ((5,),)), (ASK, ((None,),))):
            cursor.execute(statement)
            assert cursor.fetchall() == rows
        with pytest.raises(pymysql.err.ProgrammingError):
            cursor.execute("\x00\x01SELECT 1")
