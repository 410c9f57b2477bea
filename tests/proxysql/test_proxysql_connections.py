"""How clients come in: many at once, by a Unix socket; and what must not come in at all."""

import contextlib
import pathlib

import pytest

import frontdoor
from support import crowd

pymysql = pytest.importorskip("pymysql")


def server(connection):
    with contextlib.closing(connection), connection.cursor() as cursor:
        cursor.execute("SELECT name FROM whoami")
        return cursor.fetchone()[0]


def test_3500_connections_at_once_are_all_answered_and_the_port_lives_on(door, session):
    for _ in range(3):
        told = crowd.connect((door.address, door.port))
        assert told["greeting"] > 0 and sum(told.values()) == 3500, told
        with session.cursor() as cursor:
            cursor.execute("SELECT 1")
        # Those who have left count until ProxySQL has seen it.
        frontdoor.until(lambda: logged_in(door) == "gate", 10, "a login")


def logged_in(door):
    with contextlib.suppress(pymysql.err.OperationalError):
        return server(door.connect())


def test_clients_log_in_by_the_unix_socket(door):
    path = pathlib.Path(door.settings["PROXYSQL_SOCKET"])
    assert path.stat().st_mode & 0o777 == 0o777
    assert (
        server(pymysql.connect(unix_socket=str(path), user="app", password=frontdoor.APP_PASSWORD.encode(), database="d", autocommit=True))
        == "gate"
    )


def test_a_port_that_is_taken_ends_the_start_instead_of_leaving_no_port(door):
    done = door.tool("entrypoint.sh")
    assert done.returncode == 1 and "in use already" in done.stderr, done.stderr


def test_the_admin_interface_is_on_no_port(door):
    if door.process:
        lines = frontdoor.run("ss", "-Hltnp").stdout.splitlines()
        ports = [line.split()[3] for line in lines if f"pid={door.process.pid}," in line]
        assert set(ports) == {f"{door.address}:{door.port}"}, lines
    else:
        table = frontdoor.run("docker", "exec", door.container, "cat", "/proc/net/tcp").stdout.splitlines()[1:]
        assert {int(line.split()[1].split(":")[1], 16) for line in table if line.split()[3] == "0A"} == {door.port}
