"""What the gate records of statements: digests, where they ran, why there, how long; errors; a table that is bounded."""

import contextlib
import json
import secrets

import pymysql
import pytest

from support.gate import operate as gate
from support.gate import reads_on_a_satellite
from support.stack import ADMIN

# In the names of this run's statements: the stack may have seen others.
RUN = secrets.token_hex(4)
HISTOGRAM = "gtid_gate_statement_seconds_count"


def recorded(tag):
    """The one statement whose text has this name, by the gate's own command."""
    rows = [row for row in json.loads(gate("statements")[1])["statements"] if tag in row["text"]]
    assert len(rows) <= 1, rows
    return rows[0] if rows else None


def reasons(row):
    return {why["reason"]: why["count"] for why in row["why"]}


@pytest.fixture
def session(stack, table):
    """session(**driver options): a cursor of a session of its own through the gate."""
    with contextlib.ExitStack() as opened:

        def begin(**options):
            connection = opened.enter_context(contextlib.closing(stack.gate_connect(**options)))
            return opened.enter_context(contextlib.closing(connection.cursor()))

        yield begin


def test_reads_on_satellites_are_one_digest_whatever_their_values(stack, session):
    cursor = session()
    stack.wait_for(lambda: reads_on_a_satellite(cursor, "SELECT 1 FROM items LIMIT 1"), 30, "satellites read")
    for value in range(5):
        cursor.execute(f"select v as tag_reads_{RUN} from items where id=%s", (f"secret{value}",))
        cursor.execute(f"SELECT v AS tag_reads_{RUN} /* a */ FROM items WHERE id = %s", (77_000_000 + value,))
    row = recorded(f"tag_reads_{RUN}")
    assert row["text"] == f"SELECT v AS tag_reads_{RUN} FROM items WHERE id = ?"
    assert (row["count"], row["errors"]) == (10, 0)
    assert sum(row["servers"].values()) == 10 and set(row["servers"]) <= {"satellite-1", "satellite-2"}
    assert set(reasons(row)) <= {"fresh", "fresh after a wait", "has what wrote its tables"}
    assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"] <= row["total_ms"]


@pytest.mark.parametrize(
    "name, before, query, reason",
    [
        ("autocommit", ["SET autocommit = 0"], "SELECT v AS {} FROM items", "autocommit is off"),
        ("locking", [], "SELECT v AS {} FROM items WHERE id = 1 FOR UPDATE", "locking read"),
        ("function", [], "SELECT tag_fn(v) AS {} FROM items", "function that is not known to be harmless"),
        ("transaction", ["START TRANSACTION"], "SELECT v AS {} FROM items", "in a read-write transaction"),
        ("pinned", ["CREATE TEMPORARY TABLE passing (a INT)"], "SELECT a AS {} FROM passing", "session pinned: temporary table"),
        ("serial", ["SET SESSION transaction_isolation = 'SERIALIZABLE'"], "SELECT v AS {} FROM items", "isolation level SERIALIZABLE"),
    ],
)
def test_each_way_to_the_master_is_told_with_its_reason_and_what_to_change(stack, session, name, before, query, reason):
    stack.sql("master", "CREATE FUNCTION IF NOT EXISTS app.tag_fn (a VARCHAR(50)) RETURNS INT DETERMINISTIC NO SQL RETURN 1")
    tag = f"tag_{name}_{RUN}"
    cursor = session(user=ADMIN, database="app")
    for sql in before:
        cursor.execute(sql)
    cursor.execute(query.format(tag))
    row = recorded(f"AS {tag}")
    assert row["servers"] == {"master": 1} and reasons(row) == {reason: 1}
    assert row["why"][0]["on_master"] and row["why"][0]["advice"]


def test_a_read_only_transaction_and_what_the_gate_answers_itself(session):
    cursor = session()
    cursor.execute("START TRANSACTION READ ONLY")
    for _ in range(3):
        cursor.execute(f"SELECT v AS tag_inside_{RUN} FROM items WHERE id = 1")
    cursor.execute("COMMIT")
    row = recorded(f"tag_inside_{RUN}")
    assert len(row["servers"]) == 1 and "master" not in row["servers"]
    assert reasons(row)["its read-only transaction is here"] == 2 and row["count"] == 3
    begun = recorded("START TRANSACTION READ ONLY")
    assert begun["servers"]["gate"] >= 1 and reasons(begun)["answered by the gate"] >= 1


def test_prepared_statements_share_the_digest_of_their_text(stack, table):
    with contextlib.closing(stack.gate_connect(client="connector")) as connection, connection.cursor(prepared=True) as cursor:
        for value in (1, 2, 3):
            cursor.execute(f"SELECT v AS tag_prepared_{RUN} FROM items WHERE id = %s", (value,))
            cursor.fetchall()
    row = recorded(f"tag_prepared_{RUN}")
    assert row["text"] == f"SELECT v AS tag_prepared_{RUN} FROM items WHERE id = ?" and row["count"] == 3


def test_errors_are_counted_of_servers_and_of_the_gate(session):
    cursor = session()
    for _ in range(2):
        with pytest.raises(pymysql.err.OperationalError, match="no_such_column"):
            cursor.execute(f"SELECT no_such_column AS tag_error_{RUN} FROM items")
    cursor.execute("START TRANSACTION READ ONLY")
    cursor.execute("SELECT 1 FROM items WHERE id = 1")
    with pytest.raises(pymysql.err.MySQLError):
        cursor.execute(f"UPDATE items SET v = 'tag_refused_{RUN}' WHERE tag_refused_{RUN} = 1")
    assert recorded(f"tag_error_{RUN}")["errors"] == 2
    refused = recorded(f"tag_refused_{RUN}")
    assert refused["text"] == f"UPDATE items SET v = ? WHERE tag_refused_{RUN} = ?"
    assert (refused["errors"], refused["servers"], reasons(refused)) == (1, {"gate": 1}, {"error of the gate": 1})


def test_no_password_is_kept(stack):
    stack.sql("master", f"DROP USER IF EXISTS tag_nobody_{RUN}")
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=None)) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER tag_nobody_{RUN} IDENTIFIED BY 'secret-of-nobody'")
        cursor.execute(f"ALTER USER tag_nobody_{RUN} IDENTIFIED BY 'secret-of-\\'nobody'")
        cursor.execute(f"DROP USER tag_nobody_{RUN}")
    told = gate("statements")[1]
    assert f"CREATE USER tag_nobody_{RUN} IDENTIFIED BY ?" in told and "secret-of" not in told


def test_thousands_of_shapes_take_a_bounded_table_and_what_is_used_stays(session):
    cursor = session()
    for number in range(3000):
        cursor.execute(f"SELECT v AS tag_{RUN}_shape_{number} FROM items WHERE id = 1")
        if number % 10 == 0:
            cursor.execute(f"SELECT v AS tag_used_{RUN} FROM items WHERE id = 1")
    told = json.loads(gate("statements")[1])
    assert told["known"] <= told["most"] and len(told["statements"]) == told["known"]
    assert recorded(f"tag_used_{RUN}")["count"] == 300
    assert sum(f"tag_{RUN}_shape_" in row["text"] for row in told["statements"]) < 1100


def test_the_histogram_has_each_server_and_level(stack, session):
    cursor = session()
    cursor.execute("SELECT v FROM items WHERE id = 1 /* multimed: consistency=eventual */")
    cursor.execute("SET autocommit = 1")
    cursor.execute("START TRANSACTION READ ONLY")
    text = stack.page("gate", "/metrics")[1]
    lines = [line for line in text.splitlines() if line.startswith(HISTOGRAM)]

    def counted(*labels):
        return [line for line in lines if all(label in line for label in labels) and float(line.rsplit(" ", 1)[1]) > 0]

    assert counted('server="satellite-', 'level="eventual"')
    assert counted('server="master"', 'level="none"') and counted('server="gate"', 'level="none"')


def test_texts_of_statements_need_the_token(stack, table):
    status, said = stack.page("gate", "/statements")
    assert status == 401 and "error" in json.loads(said)
