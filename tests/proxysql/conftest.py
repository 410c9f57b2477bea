"""Fixtures of the front door's tests. What this machine lacks is said in the reason of each skip."""

import pytest

import frontdoor


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    """Two MySQLs: the master, and one that stands where the gate stands (a complete MySQL server to ProxySQL)."""
    mysql_image = frontdoor.image("mysql-master")
    if not mysql_image:
        pytest.skip("no image of MySQL on this machine (make images)")
    if not (frontdoor.proxysql_binary() or frontdoor.image("proxysql")):
        pytest.skip("no ProxySQL on this machine: neither PROXYSQL_BINARY, nor proxysql on PATH, nor its image")
    started = []
    # As in the stack, ProxySQL reaches both over Unix sockets.
    sockets = tmp_path_factory.mktemp("s")
    try:
        for role in ("master", "gate"):
            started.append(frontdoor.MySQL(role, mysql_image, sockets))
        for server in started:
            server.prepare()
        yield started
    finally:
        for server in started:
            server.remove()


@pytest.fixture(scope="session")
def door(servers, tmp_path_factory):
    started = frontdoor.FrontDoor(tmp_path_factory.mktemp("door"), *servers)
    yield started
    started.stop()


@pytest.fixture
def session(door):
    """A session through the front door with autocommit on."""
    connection = door.connect()
    yield connection
    connection.close()


@pytest.fixture
def manual(door):
    """A session with autocommit off, as Python's and Java's frameworks open it: SET AUTOCOMMIT = 0, never a BEGIN."""
    connection = door.connect(autocommit=False)
    yield connection
    connection.close()
