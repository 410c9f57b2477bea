"""Satellites are reached over their Unix sockets, and over TCP where a socket would make another account of the user."""

import contextlib

import pytest

from support import compose as containers
from support.gate import operate as gate
from support.stack import USER


def read_everywhere(stack, cursor):
    """Reads until each satellite has answered this session; sessions stay with a server as long as it is as good as any."""
    for name in stack.satellites:
        others = [other for other in stack.satellites if other != name]
        for other in others:
            gate("drain", other)
        cursor.execute("SELECT COUNT(*) FROM items")
        assert cursor.fetchall()[0][0] >= 1000
        yield name, transports(stack, name)
        for other in others:
            gate("undrain", other)


def transports(stack, name):
    """How connections of the application's user have come to this satellite."""
    rows = stack.sql(name, "SELECT DISTINCT CONNECTION_TYPE FROM performance_schema.threads WHERE PROCESSLIST_USER = %s", (USER,))
    return {row[0] for row in rows}


@pytest.fixture
def undrained(stack):
    yield
    for name in stack.satellites:
        gate("undrain", name)


def test_reads_come_over_the_socket(stack, cursor, undrained):
    assert dict(read_everywhere(stack, cursor)) == {name: {"Socket"} for name in stack.satellites}


def test_where_the_socket_would_make_another_account_of_the_user_tcp_is_used(stack, cursor, undrained):
    stack.sql("master", f"CREATE USER {USER}@localhost IDENTIFIED BY %s", (stack.password(USER),))
    try:
        stack.await_satellites()
        with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as fresh:
            for name, found in read_everywhere(stack, fresh):
                assert found <= {"TCP/IP", "SSL/TLS"}, f"{name}: {found}"
                fresh.execute("SELECT CURRENT_USER()")
                assert fresh.fetchall() == ((f"{USER}@%",),)
    finally:
        stack.sql("master", f"DROP USER {USER}@localhost")


@pytest.mark.fault
def test_a_socket_that_is_gone_costs_nothing(stack, table, undrained):
    stack.compose("exec", "-T", "satellite-1", "rm", "/sockets/satellite-1/mysqld.sock")
    before = stack.incarnation("satellite-1")
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        found = dict(read_everywhere(stack, cursor))
        assert found["satellite-1"] <= {"TCP/IP", "SSL/TLS"} and found["satellite-2"] == {"Socket"}
    stack.kill_process("satellite-1", "mysqld")
    stack.wait_for(lambda: stack.incarnation("satellite-1") != before, 60, "satellite-1 cloned again")
    stack.await_satellites()
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        assert dict(read_everywhere(stack, cursor))["satellite-1"] == {"Socket"}


TAKEOVERS = ["rm -f {}/mysqld.sock", "mv {} {}.old", "touch {}/mysqld.sock.new", "ln -s /tmp {}/mysqld.sock.lock.new", "chmod 0777 {}"]
TAKEOVERS += ["touch {}.facts.new", "rm -f {}.facts /sockets/gate-proxy.sock", "mkdir {}0", "ln -s /tmp /sockets/gate-proxy.sock.new"]


@pytest.mark.parametrize("victim", ["master", "satellite-2"])
@pytest.mark.parametrize("takeover", TAKEOVERS)
def test_a_server_that_was_taken_over_cannot_put_a_socket_in_anothers_place(stack, victim, takeover):
    """Users' passwords go over them."""
    user = containers.execute("satellite-1", "stat", "-c", "%u", "/sockets/satellite-1").stdout.strip()
    command = takeover.replace("{}", f"/sockets/{victim}")
    done = containers.run("docker", "exec", "--user", user, containers.container("satellite-1"), "sh", "-c", command, check=False)
    assert done.returncode != 0 and "denied" in done.stderr + done.stdout or "not permitted" in done.stderr, done
    assert stack.client(victim, "SELECT 1").strip() == "1"


def test_no_server_has_rights_that_it_does_not_need(stack):
    for service in ("master", "satellite-1", "capture", "applier-1", "kafka", "gate", "gate-port"):
        host = containers.inspect(service)["HostConfig"]
        assert host["CapDrop"] == ["ALL"] and "no-new-privileges:true" in host["SecurityOpt"], service
