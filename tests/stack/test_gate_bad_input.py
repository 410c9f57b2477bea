"""Garbage, oversized and half-open: a clear error for whoever sent it, nothing for anybody else."""

import contextlib
import os
import socket
import struct

import pymysql
import pytest

from support import compose as containers


@pytest.fixture(autouse=True)
def others_are_undisturbed(stack, table):
    """A session that was there before answers afterwards, and a new one too; the gate was not restarted."""
    before = containers.first_process("gate")
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        yield
        for opened in (cursor, stack.gate_connect().cursor()):
            opened.execute("SELECT n FROM items WHERE id = 5")
            assert opened.fetchall() == ((5,),)
    assert containers.first_process("gate") == before


def connect(stack, port=None):
    return socket.create_connection((stack.host, port or stack.gate_port), timeout=15)


def everything(connection):
    """What comes until the peer closes."""
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            got += part
    return got


def errors(data):
    """(code, message) of the error packets in a stream."""
    found, at = [], 0
    while at + 4 <= len(data):
        length = int.from_bytes(data[at : at + 3], "little")
        body = data[at + 4 : at + 4 + length]
        if body[:1] == b"\xff":
            found.append((struct.unpack("<H", body[1:3])[0], body[3:].decode(errors="replace")))
        at += 4 + length
    return found


GARBAGE = {
    "random": os.urandom(4096),
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeros": bytes(8192),
    "ones": b"\xff" * 8192,
    "empty packet": b"\0\0\0\1",
    "tls without asking": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_instead_of_a_login(stack, what):
    with connect(stack) as connection:
        connection.recv(1024)
        with contextlib.suppress(OSError):  # it may have been shown out before all was sent
            connection.sendall(GARBAGE[what])
            connection.shutdown(socket.SHUT_WR)
        answer = everything(connection)
    assert all(code in (1043, 1045, 1047, 1153, 1156, 1835) for code, _ in errors(answer)), errors(answer)


def test_a_login_packet_that_announces_16_mib_is_refused_before_it_is_read(stack):
    with connect(stack) as connection:
        connection.recv(1024)
        connection.sendall(b"\xff\xff\xff\x01")
        assert [code for code, _ in errors(everything(connection))] == [1153]


def test_somebody_who_says_nothing_is_shown_out(stack):
    with connect(stack) as connection:
        assert connection.recv(1024)
        everything(connection)


def test_a_statement_above_the_limit_is_refused(stack):
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        with pytest.raises(pymysql.err.MySQLError) as refused:
            cursor.execute("SELECT LENGTH(%s)", ("x" * (65 << 20),))
        assert refused.value.args[0] in (1153, 2006, 2013), refused.value


def test_an_unknown_command(stack):
    with contextlib.closing(stack.gate_connect()) as connection:
        connection._execute_command(0xEE, b"nonsense")
        with pytest.raises(pymysql.err.MySQLError) as refused:
            connection._read_packet()
        assert refused.value.args[0] == 1047
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")


def test_packets_out_of_order_within_a_session(stack):
    with contextlib.closing(stack.gate_connect()) as connection:
        connection._sock.sendall(b"\x09\0\0\x05\x03SELECT 1")
        with pytest.raises(pymysql.err.MySQLError):
            for _ in range(3):
                connection._next_seq_id = 6
                connection._read_packet()


def test_a_statement_that_is_cut_off_in_the_middle(stack):
    before = stack.metrics().total("gtid_gate_sessions")
    connection = stack.gate_connect()
    connection._sock.sendall(b"\xff\0\0\0\x03SELECT")
    connection._sock.close()
    connection._rfile = connection._sock = None
    stack.wait_for(lambda: stack.metrics().total("gtid_gate_sessions") <= before, 10, "the session to be gone")


def test_an_execute_of_a_statement_that_was_never_prepared(stack):
    with contextlib.closing(stack.gate_connect()) as connection:
        connection._execute_command(0x17, struct.pack("<IBI", 4711, 0, 1))
        with pytest.raises(pymysql.err.MySQLError) as refused:
            connection._read_packet()
        assert refused.value.args[0] == 1243


@pytest.mark.parametrize("service", ["gate", "capture", "applier-1"])
def test_garbage_on_the_status_ports(stack, service):
    host, port = (stack.host, int(stack.status_url.rsplit(":", 1)[1])) if service == "gate" else (containers.address(service), 8080)
    for garbage in (
        GARBAGE["random"],
        b"GET " + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
    ):
        with socket.create_connection((host, port), timeout=15) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(garbage)
                connection.shutdown(socket.SHUT_WR)
                everything(connection)
    assert stack.page(service, "/live")[0] == 200


def test_many_connections_that_come_and_go(stack):
    opened = [connect(stack) for _ in range(200)]
    for connection in opened:
        connection.close()
    with contextlib.ExitStack() as kept:
        for _ in range(100):
            kept.enter_context(contextlib.closing(stack.gate_connect()))
