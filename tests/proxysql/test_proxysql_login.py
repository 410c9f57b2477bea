"""Logins through the front door, and users added while it runs."""

import contextlib
import socket

import pytest

import frontdoor

pymysql = pytest.importorskip("pymysql")


def answer(connection, statement="SELECT name FROM whoami"):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


@pytest.mark.parametrize(
    "options", [{"ssl_disabled": True}, {"ssl": {"check_hostname": False, "verify_mode": False}}], ids=["plain", "tls"]
)
def test_login_with_caching_sha2_password(door, options):
    connection = door.connect(**options)
    assert connection._auth_plugin_name == "caching_sha2_password"
    assert connection._secure == ("ssl" in options)
    assert answer(connection) == "gate"
    assert answer(connection, "SELECT name FROM whoami FOR UPDATE") == "master"
    connection.close()


@pytest.mark.parametrize(
    ("user", "password"), [("app", "wrong"), ("app", ""), ("nobody", "x"), ("multimed_monitor", frontdoor.MONITOR_PASSWORD)]
)
def test_wrong_password_and_unknown_user_are_refused(door, user, password):
    with pytest.raises(pymysql.err.OperationalError) as refused:
        door.connect(user=user, password=password)
    assert refused.value.args[0] == 1045


def test_garbage_disturbs_nobody(door, session):
    for garbage in (b"GET / HTTP/1.0\r\n\r\n", b"\xff\xff\xff\x00" + b"x" * 1000, b"\0" * 64):
        with socket.create_connection((door.address, door.port), timeout=20) as raw, contextlib.suppress(ConnectionError):
            raw.sendall(garbage)
            with contextlib.suppress(OSError):
                raw.shutdown(socket.SHUT_WR)
            while raw.recv(4096):
                pass
    assert answer(session) == "gate" and door.healthy()


def test_a_user_added_while_it_runs_can_log_in_and_nobody_is_cut_off(door, servers, session):
    password = 'new "one" \\ $(id) `id` %s'
    for server in servers:
        server.add_user("added", password)
    with pytest.raises(pymysql.err.OperationalError):
        door.connect(user="added", password=password)
    assert (done := door.tool("add-user.sh", "added", text=password + "\n")).returncode == 0, done.stderr
    assert answer(door.connect(user="added", password=password)) == "gate"

    for server in servers:
        server.add_user("added", "changed")
    assert door.tool("add-user.sh", "added", text="changed").returncode == 0
    assert answer(door.connect(user="added", password="changed")) == "gate"
    with pytest.raises(pymysql.err.OperationalError):
        door.connect(user="added", password=password)
    assert answer(session) == "gate"


@pytest.mark.parametrize(("name", "password"), [("bad name", "x"), ("../x", "x"), ("", "x"), ("ann", ""), ("ann", "a'b"), ("ann", "a\nb")])
def test_add_user_refuses_what_proxysql_cannot_take(door, name, password):
    done = door.tool("add-user.sh", name, text=password)
    assert done.returncode == 64 and "level=error" in done.stderr


def test_no_secret_is_logged(door):
    shown = door.output()
    assert "event=start" in shown
    for secret in (frontdoor.APP_PASSWORD, frontdoor.MONITOR_PASSWORD, "admin-password"):
        assert secret not in shown
