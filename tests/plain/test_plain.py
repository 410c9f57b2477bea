"""`docker compose up -d` alone gives the whole stack: passwords, replication, reads on satellites, and each server on its own cores."""

import os

import pymysql
import pytest

from support.shares import dealt_here, share_of
from support.wait import wait_for

from plain_stack import docker

# The first test waits until the gate is compiled.
pytestmark = pytest.mark.timeout(3000)


def test_proxysql_comes_up_where_its_image_can_be_had(plain):
    if not plain.has_proxysql:
        pytest.skip("no image of ProxySQL, and no package that could stand in for it: the stack ran without")
    assert plain.inspect("proxysql")["State"]["Running"]


def test_every_server_is_healthy(plain):
    for service in plain.servers:
        wait_for(lambda s=service: plain.inspect(s)["State"]["Health"]["Status"] == "healthy", 120, f"{service} to be healthy")


def test_the_passwords_are_made_and_closed_to_others(plain):
    secrets = plain.folder / "secrets"
    assert secrets.stat().st_mode & 0o777 == 0o700
    files = {str(file.relative_to(secrets)): file for file in secrets.glob("*/*") if file.is_file()}
    assert {"master/root_password", "satellite/clone_password", "gate/gate_password", "kafka/jaas.conf"} <= set(files)
    assert {oct(file.stat().st_mode & 0o777) for file in files.values()} == {"0o444"}
    assert all(len(file.read_text().strip()) >= 32 for file in files.values())


def test_what_is_written_through_the_gate_is_read_from_every_satellite(plain):
    plain.mysql("master", "CREATE DATABASE shop; CREATE USER app@'%' IDENTIFIED BY 'app-password'; GRANT ALL ON shop.* TO app@'%'")
    connection = pymysql.connect(host="127.0.0.1", port=plain.gate_port, user="app", password="app-password", database="shop")
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE items (id INT PRIMARY KEY)")
        cursor.execute("INSERT INTO items VALUES (7)")
        connection.commit()
        cursor.execute("SELECT id FROM items")
        assert cursor.fetchall() == ((7,),)
    for satellite in ("satellite-1", "satellite-2"):
        wait_for(lambda s=satellite: plain.mysql(s, "SELECT id FROM shop.items") == "7", 60, f"the row on {satellite}")


def test_each_server_runs_on_the_cores_that_were_dealt_to_it(plain):
    said = dict(line.split() for line in docker("logs", plain.container("cores")).splitlines())
    assert said == dealt_here()
    for service in plain.servers:
        assert set(plain.cores(service).values()) == {said[share_of(service)]}, service


def test_each_server_goes_to_its_share_and_one_with_a_cpuset_stays_there(plain):
    """Made-up shares: on few cores all have the same."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("one core only")
    first, last = str(cores[0]), str(cores[-1])
    shares = {"all": dealt_here()["all"], "master": first, "log": last, "gate": first, "satellite-1": last, "satellite-2": last}
    text = "".join(f"{server} {core}\n" for server, core in shares.items())
    volume, image = f"{plain.project}_cores:/cores", f"multimed/cores:{plain.version}"
    docker("run", "--rm", "-i", "-v", volume, "--entrypoint", "sh", image, "-c", "cat > /cores/shares", input=text)
    docker("update", "--cpuset-cpus", first, plain.container("applier-2"))
    docker("restart", *map(plain.container, plain.servers), timeout=200)
    plain.await_serving()
    for service in plain.servers:
        expected = first if service == "applier-2" else shares[share_of(service)]
        assert set(plain.cores(service).values()) == {expected}, service
