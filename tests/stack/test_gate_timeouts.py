"""Clients that go silent, and KILL of sessions that are not between two commands: each ends within seconds, and leaves nothing behind."""

import contextlib
import select
import time

import mysql.connector
import pytest
from pymysql.constants import CLIENT

from support.stack import ADMIN
from support.wait import wait_for

COM_QUERY = 3
FULL = 0xFFFFFF
# A limit is one second; the rest is for a busy machine.
SOON_S = 5
TLS = {"ssl_disabled": False, "ssl": {"check_hostname": False, "verify_mode": "none"}}
# Far more than the buffers between a server and a client hold.
LARGE = 100_000_000
LARGE_RESULT = {
    "satellite": "SELECT REPEAT('x', 100000) FROM app.items",
    "master": "SELECT REPEAT('x', 100000) FROM app.items FOR UPDATE",
}


@pytest.fixture(scope="module", autouse=True)
def interactive_timeout(stack):
    """Set before the first test: the gate asks the master for it every five seconds."""
    [(before,)] = stack.sql("master", "SELECT @@GLOBAL.interactive_timeout")
    stack.sql("master", "SET GLOBAL interactive_timeout = 1")
    yield
    stack.sql("master", "SET GLOBAL interactive_timeout = %s", (before,))


@pytest.fixture
def local_infile(stack):
    [(before,)] = stack.sql("master", "SELECT @@GLOBAL.local_infile")
    stack.sql("master", "SET GLOBAL local_infile = ON")
    yield
    stack.sql("master", "SET GLOBAL local_infile = %s", (before,))


@pytest.fixture
def connect(stack, schema, table):
    """connect(setting, **options): a session of an administrator in a schema that no other test uses."""
    with contextlib.ExitStack() as opened:

        def session(*settings, **options):
            connection = stack.gate_connect(user=ADMIN, database=schema, **options)
            opened.callback(connection._force_close)
            for setting in settings:
                connection.query(f"SET SESSION {setting}")
            return connection

        yield session


@pytest.fixture
def stalled(stack, schema, connect, local_infile):
    """stalled(how, *settings): a session that stops in the middle of what it sends to table t, once the master has the first half."""
    stack.sql("master", f"CREATE TABLE `{schema}`.t (v LONGBLOB)")

    def begin(how, *settings):
        connection = connect(*settings, local_infile=True)
        if how == "file":
            connection._execute_command(COM_QUERY, "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t")
            assert connection._read_packet().get_all_data()[:1] == b"\xfb"
            half, number = b"a row\n" * 1000, 2
        else:
            first = bytes([COM_QUERY]) + b"INSERT INTO t VALUES ('"
            connection._sock.sendall(FULL.to_bytes(3, "little") + b"\0" + first.ljust(FULL, b"x"))
            half, number = b"x" * 6000, 1
        connection._sock.sendall((2 * len(half)).to_bytes(3, "little") + bytes([number]) + half)
        wait_for(lambda: bytes_at_master(stack, schema) > len(half), SOON_S, "the master to have the first half")
        return connection

    return begin


def bytes_at_master(stack, schema):
    """Received by the master from sessions in this schema; None once there is no such session."""
    [(count,)] = stack.sql(
        "master",
        "SELECT CAST(SUM(b.VARIABLE_VALUE) AS UNSIGNED) FROM information_schema.processlist p "
        "JOIN performance_schema.threads t ON t.PROCESSLIST_ID = p.ID "
        "JOIN performance_schema.status_by_thread b ON b.THREAD_ID = t.THREAD_ID AND b.VARIABLE_NAME = 'Bytes_received' "
        "WHERE p.DB = %s",
        (schema,),
    )
    return count


def assert_gone(stack, schema):
    """The session's connection to the master has ended, so its transaction and its locks have."""
    wait_for(lambda: bytes_at_master(stack, schema) is None, SOON_S, "the session's connection to the master to end")


def assert_nothing_kept(stack, schema):
    assert_gone(stack, schema)
    assert stack.sql("master", f"SELECT COUNT(*) FROM `{schema}`.t") == [(0,)]


def says_something(connection, within_s=SOON_S):
    return select.select([connection._sock], [], [], within_s)[0] != []


def assert_inactive(connection):
    """The reason comes before the client's next statement, as from MySQL, and then the connection's end."""
    assert says_something(connection), "the gate waits on"
    assert said_last(connection) == (0, 4031)


def read_to_end(connection):
    """How much still comes."""
    count, until = 0, time.monotonic() + SOON_S
    connection._sock.settimeout(SOON_S)
    with contextlib.suppress(ConnectionResetError):
        while part := connection._sock.recv(1 << 20):
            count += len(part)
            assert time.monotonic() < until, "the answer goes on"
    return count


def said_last(connection):
    """The error packet before the connection's end: its number and the error's code."""
    connection._sock.settimeout(SOON_S)
    said = b""
    while part := connection._sock.recv(1 << 16):
        said += part
    assert (said[4:5], len(said)) == (b"\xff", 4 + int.from_bytes(said[:3], "little")), said
    return said[3], int.from_bytes(said[5:7], "little")


@pytest.mark.parametrize("options", [{}, TLS], ids=["plain", "tls"])
def test_a_client_idle_for_wait_timeout_is_told_and_shown_out(connect, options):
    assert_inactive(connect("wait_timeout = 1", **options))


def test_a_driver_raises_the_reason_at_the_next_statement(stack, schema):
    with contextlib.closing(stack.gate_connect(client="connector", database=schema, user=ADMIN)) as connection:
        connection.cmd_query("SET SESSION wait_timeout = 1")
        assert select.select([connection._socket.sock], [], [], SOON_S)[0], "the gate waits on"
        with pytest.raises(mysql.connector.Error) as caught:
            connection.cmd_query("DO 1")
        assert caught.value.errno == 4031


@pytest.mark.parametrize("how, number", [("file", 3), ("command", 2)])
def test_a_client_that_stalls_within_what_it_sends_is_told_and_shown_out_after_net_read_timeout(stack, schema, stalled, how, number):
    assert said_last(stalled(how, "net_read_timeout = 1")) == (number, 1159)
    assert_nothing_kept(stack, schema)


@pytest.mark.parametrize("server", LARGE_RESULT)
def test_a_client_that_stops_reading_ends_after_net_write_timeout(stack, schema, connect, server):
    connection = connect("net_write_timeout = 1", "autocommit = 0")
    connection._execute_command(COM_QUERY, LARGE_RESULT[server])
    assert says_something(connection)
    assert_gone(stack, schema)
    assert read_to_end(connection) < LARGE


@pytest.mark.parametrize("server", LARGE_RESULT)
def test_kill_ends_a_session_whose_client_has_stopped_reading(stack, connect, schema, server):
    connection, other = connect(), connect()
    connection._execute_command(COM_QUERY, LARGE_RESULT[server])
    assert says_something(connection)
    other.query(f"KILL {connection.thread_id()}")
    assert read_to_end(connection) < LARGE
    other.close()
    assert_gone(stack, schema)


@pytest.mark.parametrize("server", LARGE_RESULT)
def test_kill_ends_a_session_whose_client_reads_on(stack, connect, schema, server):
    connection, other = connect(), connect()
    connection._execute_command(COM_QUERY, LARGE_RESULT[server].replace("app.items", "app.items CROSS JOIN app.items again", 1))
    assert says_something(connection)
    other.query(f"KILL {connection.thread_id()}")
    read_to_end(connection)
    other.close()
    assert_gone(stack, schema)


@pytest.mark.parametrize("how", ["file", "command"])
def test_kill_ends_a_session_that_stalls_within_what_it_sends(stack, schema, connect, stalled, how):
    connection, other = stalled(how), connect()
    other.query(f"KILL {connection.thread_id()}")
    read_to_end(connection)
    other.close()
    assert_nothing_kept(stack, schema)


def test_an_interactive_client_is_given_interactive_timeout(connect):
    """And no other: that one still has wait_timeout."""
    other = connect()

    def ended():
        return says_something(connect(client_flag=CLIENT.INTERACTIVE), 1.5)

    wait_for(ended, SOON_S + 3, "an interactive client to be shown out")
    assert_inactive(connect(client_flag=CLIENT.INTERACTIVE))
    other.query("DO 1")
