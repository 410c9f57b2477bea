"""A master that is lost while a command or a file is passed on: what the client still sends never becomes a command."""

import contextlib

import pytest

from support.stack import ADMIN
from support.wait import poll, wait_for

COM_QUERY = 3
FULL = 0xFFFFFF
LOST = "the gate to see that the master's connection is lost"


def packet(number, payload):
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


def create(schema):
    """A whole command: what a gate that reads on in the middle would carry out."""
    return packet(0, bytes([COM_QUERY]) + f"CREATE TABLE IF NOT EXISTS `{schema}`.from_data (a INT)".encode())


@pytest.fixture
def session(stack, schema):
    """A session through the gate that may send files, its own table t in a schema that no other session uses."""
    stack.sql("master", f"CREATE TABLE `{schema}`.t (v LONGBLOB)")
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema, local_infile=True)) as connection:
        yield connection
        connection._force_close()


@pytest.fixture
def local_infile(stack):
    [(before,)] = stack.sql("master", "SELECT @@GLOBAL.local_infile")
    stack.sql("master", "SET GLOBAL local_infile = ON")
    yield
    stack.sql("master", "SET GLOBAL local_infile = %s", (before,))


def master_connection(stack, schema):
    """The master's connection of the session whose schema this is, and how many bytes it has read."""
    return stack.sql(
        "master",
        "SELECT p.ID, CAST(b.VARIABLE_VALUE AS UNSIGNED) FROM information_schema.processlist p "
        "JOIN performance_schema.threads t ON t.PROCESSLIST_ID = p.ID "
        "JOIN performance_schema.status_by_thread b ON b.THREAD_ID = t.THREAD_ID AND b.VARIABLE_NAME = 'Bytes_received' "
        "WHERE p.DB = %s",
        (schema,),
    )


def lose_master(stack, schema, sock):
    """Ends the master's connection, then sends single bytes until the gate has seen it: the next byte is read as a header by
    a gate that takes the rest for commands. Returns how many bytes that took."""

    def lost():
        metrics, name = stack.metrics(), "gtid_gate_errors_total"
        return metrics.total(name, kind="master_lost") if name in metrics.names() else 0  # there is none before the first

    before, sent = lost(), 0
    [(number, _)] = master_connection(stack, schema)
    stack.sql("master", f"KILL {number}")
    wait_for(lambda: not master_connection(stack, schema), 5, "the master's connection to end")
    while lost() == before:
        assert sent < 20, LOST
        sock.sendall(b"x")
        sent += 1
        with contextlib.suppress(AssertionError):
            poll(lambda: lost() > before, 0.3, LOST)
    return sent


def send_rest(session, schema, size, last=b""):
    """The rest of the data, all of it commands; then what ends it."""
    commands = create(schema) * (size // len(create(schema)))
    with contextlib.suppress(OSError):  # the gate may have gone
        session._sock.sendall(commands.ljust(size, b"x") + last)


def assert_ended(stack, session, schema, number):
    """Nothing of the data was carried out; the session has one error, in its turn, and then its end; others are served."""
    said, ended = b"", False
    session._sock.settimeout(3)
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while part := session._sock.recv(1 << 16):
            said += part
        ended = True
    assert stack.sql("master", f"SHOW TABLES FROM `{schema}`") == [("t",)]
    size, code = int.from_bytes(said[:3], "little"), int.from_bytes(said[5:7], "little")
    assert (said[3:5], code, len(said)) == (bytes([number, 0xFF]), 1105, 4 + size), said
    assert ended
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema)) as other, other.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES ('another session')")
    assert stack.sql("master", f"SELECT v FROM `{schema}`.t") == [(b"another session",)]


def test_the_rest_of_a_file_becomes_no_command_when_the_master_is_lost(stack, schema, session, local_infile):
    size = 1 << 16
    begun = b"a row\n" * 1000
    session._execute_command(COM_QUERY, "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t")
    assert session._read_packet().get_all_data()[:1] == b"\xfb"
    session._sock.sendall(size.to_bytes(3, "little") + b"\2" + begun)
    wait_for(lambda: master_connection(stack, schema)[0][1] > len(begun), 5, "the master to have what was sent")
    sent = len(begun) + lose_master(stack, schema, session._sock)
    send_rest(session, schema, size - sent, packet(3, b""))
    assert_ended(stack, session, schema, 4)


def test_the_rest_of_an_insert_beyond_16_mib_becomes_no_command_when_the_master_is_lost(stack, schema, session):
    size = 1 << 16
    first = bytes([COM_QUERY]) + b"INSERT INTO t VALUES ('"
    session._sock.sendall(packet(0, first.ljust(FULL, b"x")) + size.to_bytes(3, "little") + b"\1")
    wait_for(lambda: master_connection(stack, schema)[0][1] >= FULL, 5, "the master to have the first packet")
    sent = lose_master(stack, schema, session._sock)
    send_rest(session, schema, size - sent)
    assert_ended(stack, session, schema, 2)
