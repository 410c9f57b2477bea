"""Where the gate's clients on the host come in: its port, without a proxy of Docker's before it, and its Unix socket."""

import contextlib
import os
import pathlib
import socket
import stat

import pymysql
import pytest

from support import compose as containers
from support import crowd
from support.stack import USER

SOCKET = pathlib.Path(os.environ.get("SOCKET_DIR", "")) / "gate.sock"
LISTEN = "0A"


def answers(connection, statement="SELECT CURRENT_USER()"):
    with contextlib.closing(connection), connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()[0][0]


def listening():
    """{inode: (address, port)} of the host's listening IPv4 sockets."""
    found = {}
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == LISTEN:
            address, port = fields[1].split(":")
            found[fields[9]] = (socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16))
    return found


def inodes(pid):
    """Of the sockets that a process has; one that has ended meanwhile has none."""
    for entry in pathlib.Path("/proc").glob(f"{pid}/fd/*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            target = os.readlink(entry)
            if target.startswith("socket:["):
                yield target[8:-1]


def test_3500_connections_at_once_are_all_answered_and_the_port_lives_on(stack):
    with contextlib.closing(stack.gate_connect()) as during:
        for _ in range(3):
            told = crowd.connect((stack.host, stack.gate_port))
            assert told["greeting"] > 0 and sum(told.values()) == 3500, told
            with during.cursor() as cursor:
                cursor.execute("SELECT 1")
            assert answers(stack.gate_connect()) == f"{USER}@%"


def test_the_listen_queue_is_as_deep_as_the_kernel_allows(stack):
    allowed = pathlib.Path("/proc/sys/net/core/somaxconn").read_text().strip()
    line = containers.run("ss", "-Hltn", f"sport = :{stack.gate_port}").stdout.split()
    assert line[2] == allowed, line


def test_only_the_bind_address_listens_and_nothing_else_of_the_stack(stack):
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", stack.gate_port), timeout=5)
    services = stack.compose("ps", "--services").stdout.split()
    tops = [containers.run("docker", "top", containers.inspect(service)["Id"], "-eo", "pid").stdout for service in services]
    pids = [pid for top in tops for pid in top.split()[1:]]
    on_host = listening()
    ours = {on_host[inode] for pid in pids for inode in inodes(pid) if inode in on_host}
    expected = {(stack.host, stack.gate_port)} | ({(stack.host, stack.front_port)} if "proxysql" in services else set())
    assert ours == expected


def test_no_proxy_of_dockers_is_before_the_gates_port(stack):
    proxies = [
        pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        for pid in containers.run("pgrep", "-x", "docker-proxy", check=False).stdout.split()
    ]
    ports = {line[line.index(b"-host-port") + 1] for line in proxies if b"-host-port" in line}
    assert str(stack.gate_port).encode() not in ports and str(stack.front_port).encode() not in ports


# A user whose password the gate does not know yet hands it over.
@pytest.fixture
def fresh_user(stack):
    name = "by_socket"
    stack.make_user(name, db=USER, password=os.urandom(8).hex())
    stack.await_satellites()
    yield name
    stack.sql("master", f"DROP USER {name}@'%'")


def by_pymysql(user, password):
    return pymysql.connect(unix_socket=str(SOCKET), user=user, password=password, autocommit=True)


def by_connector(user, password):
    import mysql.connector

    return mysql.connector.connect(unix_socket=str(SOCKET), user=user, password=password, autocommit=True, use_pure=True)


@pytest.mark.parametrize("connect", [by_pymysql, by_connector])
def test_drivers_log_in_by_the_unix_socket_as_the_account_that_they_are_over_tcp(stack, fresh_user, connect):
    for _ in ("handing the password over", "proving that it is known"):
        assert answers(connect(fresh_user, stack.password(fresh_user))) == f"{fresh_user}@%"
    with pytest.raises(Exception, match="1045.*localhost"):
        connect(fresh_user, "wrong")


def test_mysqls_client_logs_in_by_the_unix_socket(stack, fresh_user):
    command = (
        "docker",
        "run",
        "--rm",
        "-i",
        "--network",
        "none",
        "-v",
        f"{SOCKET.parent}:/clients",
        "--entrypoint",
        "mysql",
        containers.inspect("master")["Config"]["Image"],
        "--defaults-file=/dev/stdin",
        "-N",
        "-e",
        "SELECT CURRENT_USER(); SHOW TABLES IN app",
    )
    done = containers.run(
        *command, input=f"[client]\nuser={fresh_user}\npassword={stack.password(fresh_user)}\nsocket=/clients/gate.sock\n"
    )
    assert done.stdout.splitlines()[0] == f"{fresh_user}@%"


def test_every_user_of_the_host_may_connect_to_the_unix_socket(stack):
    found = SOCKET.stat()
    assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o777
    assert all(parent.stat().st_mode & 0o005 == 0o005 for parent in (SOCKET.parent, SOCKET.parent.parent))


@pytest.mark.fault
def test_port_and_socket_survive_a_restart_of_either_process(stack, wait_for):
    def serves():
        with contextlib.suppress(OSError, pymysql.err.Error):
            return answers(stack.gate_connect()) == answers(by_pymysql(USER, stack.password(USER))) == f"{USER}@%"

    with contextlib.closing(stack.gate_connect()) as during:
        stack.kill_container("gate-port")
        assert serves(), "the gate has its sockets itself"
        with during.cursor() as cursor:
            cursor.execute("SELECT 1")
    stack.kill_container("gate")
    wait_for(serves, 60, "the gate to serve on port and socket again")
    stack.await_satellites()
