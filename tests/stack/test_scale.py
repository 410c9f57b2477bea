"""More and fewer satellites, other cores and other sizes on a running stack: who is not concerned goes on, and no client gets an error."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import compose as containers
from support import engine
from support.gate import operate as gate


@pytest.fixture
def up(stack):
    """up(NAME=value…): `make up` with these settings beside the stack's own; at the end with none of them, if they were not the last."""
    given = {}

    def run(*command, **settings):
        if not command:
            given.clear()
            given.update(settings)
        return containers.run(*(command or ("bin/up",)), env={"UP_IMAGES": "keep", **settings}, timeout=600).stdout

    yield run
    if given:
        run()
    for name in stack.satellites:
        gate("undrain", name)
    stack.await_satellites()


def identities(*services):
    return {service: (each["Id"], each["State"]["StartedAt"]) for service in services for each in [containers.inspect(service)]}


@contextlib.contextmanager
def clients(stack):
    """Four clients that read through the gate, and one that writes, all the time; an error of any of them fails the test."""
    over, errors, reads = threading.Event(), [], [0] * 5

    def run(number, statement):
        try:
            with contextlib.closing(stack.gate_connect(autocommit=True)) as connection, connection.cursor() as cursor:
                while not over.is_set():
                    cursor.execute(statement)
                    cursor.fetchall()
                    reads[number] += 1
        except Exception as error:  # a thread's error must reach the test
            errors.append(error)

    statements = [*["SELECT COUNT(*) FROM items WHERE n = 3"] * 4, "UPDATE items SET d = d + 1 WHERE id = 7"]
    threads = [threading.Thread(target=run, args=each) for each in enumerate(statements)]
    for thread in threads:
        thread.start()
    try:
        yield reads
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not errors
    assert all(reads)


EVERYBODY = ("master", "kafka", "capture", "gate", "gate-port", "satellite-1", "satellite-2", "applier-1", "applier-2")


def test_a_satellite_comes_and_goes_and_nobody_else_notices(stack, table, up):
    before = identities(*EVERYBODY)
    with clients(stack):
        said = up(SATELLITES="3")
        assert [line.split()[:2] for line in said.split("plan:\n")[1].splitlines()[:2]] == [["satellite-3", "new"], ["applier-3", "new"]]
        assert stack.server("satellite-3")["state"] == "up"
        # Where little runs at a time, a session stays where it has been.
        for name in stack.satellites:
            gate("drain", name)
        stack.wait_for(lambda: stack.server("satellite-3")["reads"] > 100, 30, "the new one gets reads")
        for name in stack.satellites:
            gate("undrain", name)
        assert identities(*EVERYBODY) == before
        up()
        assert {server["name"] for server in stack.servers()} == {"master", *stack.satellites}
    assert identities(*EVERYBODY) == before
    project = os.environ["COMPOSE_PROJECT_NAME"]
    assert not [each for each in engine.ask("/containers/json", all="1") if f"/{project}-satellite-3-1" in each["Names"]]


def test_cores_change_while_a_server_runs(stack, table, up):
    before = identities(*EVERYBODY)
    with clients(stack):
        said = up(SATELLITE_2_CPUS="0", MASTER_CPUS="1")
    assert "satellite-2   cores" in said and "while it runs" in said
    assert identities(*EVERYBODY) == before
    for service, cores in (("satellite-2", "0"), ("master", "1")):
        status = containers.execute(service, "cat", "/proc/1/status").stdout
        assert f"Cpus_allowed_list:\t{cores}\n" in status
    assert up().count("while it runs") >= 3, "satellite, applier and master get them back"
    assert "nothing changes" in up("bin/plan")


def sizes(service):
    """In MiB, as the server sees them."""
    pool = containers.execute(service, *CLIENT, input="SELECT @@innodb_buffer_pool_size DIV 1048576").stdout
    tmpfs = containers.execute(service, "df", "-BM", "--output=size", "/var/lib/mysql").stdout.split()[-1].rstrip("M")
    limit = containers.inspect(service)["HostConfig"]["Memory"] >> 20
    return {"pool": int(pool), "tmpfs": int(tmpfs), "memory": limit}


CLIENT = ("mysql", "--defaults-file=/run/multimed/client.cnf", "--batch", "--skip-column-names")
LARGER = {
    "SATELLITE_2_MEMORY": "5g",
    "SATELLITE_2_TMPFS": "2g",
    "SATELLITE_2_BUFFER_POOL": "1g",
    "MASTER_MEMORY": "3g",
    "MASTER_BUFFER_POOL": "1g",
}


def test_sizes_grow_while_a_server_runs_and_its_next_mysqld_has_them_too(stack, table, up):
    before = identities(*EVERYBODY)
    with clients(stack):
        said = up(**LARGER)
        assert "buffer pool 256m -> 1g, while it runs" in said and "tmpfs 1g -> 2g, while it runs" in said
        assert sizes("satellite-2") == {"pool": 1024, "tmpfs": 2048, "memory": 5120}
        assert {name: size for name, size in sizes("master").items() if name != "tmpfs"} == {"pool": 1024, "memory": 3072}
        assert "nothing changes" in up("bin/plan", **LARGER)
    assert identities(*EVERYBODY) == before
    incarnation = stack.incarnation("satellite-2")
    containers.execute("satellite-2", *CLIENT, input="SHUTDOWN")
    stack.wait_for(lambda: stack.incarnation("satellite-2") not in (None, incarnation), 60, "satellite-2 serves again")
    assert sizes("satellite-2") == {"pool": 1024, "tmpfs": 2048, "memory": 5120}


@pytest.mark.nightly
def test_a_container_that_restarts_gets_its_sizes_back_with_make_up(stack, table, up):
    up(**LARGER)
    incarnation = stack.incarnation("satellite-2")
    containers.run("docker", "restart", containers.inspect("satellite-2")["Id"])
    stack.wait_for(lambda: stack.incarnation("satellite-2") not in (None, incarnation), 60, "satellite-2 serves again")
    assert sizes("satellite-2") == {"pool": 1024, "tmpfs": 1024, "memory": 5120}, "Docker has mounted its tmpfs anew"
    assert up("bin/plan", **LARGER).split("plan:\n")[1].strip() == "satellite-2   tmpfs 1g -> 2g, while it runs"
    with clients(stack):
        up(**LARGER)
    assert sizes("satellite-2")["tmpfs"] == 2048


@pytest.mark.nightly
def test_sizes_shrink_but_no_tmpfs(stack, table, up):
    before = identities(*EVERYBODY)
    up(**LARGER)
    with clients(stack):
        said = up()
    assert "master        memory 3g -> 2g, buffer pool 1g -> 256m, while it runs" in said
    assert "satellite-2   made anew (tmpfs 2g -> 1g)" in said
    after = identities(*EVERYBODY)
    assert {service for service in EVERYBODY if after[service] != before[service]} == {"satellite-2"}
    assert sizes("satellite-2") == {"pool": 128, "tmpfs": 1024, "memory": 4096}
    assert {name: size for name, size in sizes("master").items() if name != "tmpfs"} == {"pool": 256, "memory": 2048}


def test_what_needs_another_container_is_renewed_one_satellite_at_a_time(stack, table, up):
    before = identities(*EVERYBODY)
    least = []
    with clients(stack):
        over = threading.Event()

        def look():
            while not over.wait(0.1):
                least.append(sum(server["role"] == "satellite" and server["incarnation"] is not None for server in stack.servers()))

        watcher = threading.Thread(target=look)
        watcher.start()
        said = up(SATELLITE_TMPFS="900m")
        over.set()
        watcher.join()
    assert "made anew (tmpfs 1g -> 900m): clones again, the others serve meanwhile" in said
    assert min(least) == 1, "one was away at a time"
    after = identities(*EVERYBODY)
    assert {service for service in EVERYBODY if after[service] != before[service]} == set(stack.satellites)
    assert "nothing changes" in up("bin/plan", SATELLITE_TMPFS="900m"), "what was made anew is what it should be"
    assert sizes("satellite-1")["tmpfs"] == 900
    assert {server["state"] for server in stack.servers()} == {"up"}, "nobody stays drained"


@pytest.mark.nightly
def test_a_satellite_that_was_drained_by_hand_stays_so(stack, table, up):
    gate("drain", "satellite-2")
    up(SATELLITE_TMPFS="900m")
    assert stack.server("satellite-2")["state"] == "draining"


@contextlib.contextmanager
def held(stack, name):
    """An open read-only transaction on that satellite; gives what reads in it."""
    others = [each["name"] for each in stack.servers() if each["role"] == "satellite" and each["name"] != name]
    for other in others:
        gate("drain", other)
    with contextlib.closing(stack.gate_connect(autocommit=True)) as connection, connection.cursor() as cursor:

        def read():
            cursor.execute("SELECT COUNT(*) FROM items")
            return cursor.fetchone()

        def is_there():
            cursor.execute("START TRANSACTION READ ONLY")
            read()
            return stack.server(name)["open"] == 1

        stack.wait_for(is_there, 30, f"a transaction on {name}")
        for other in others:
            gate("undrain", other)
        yield read
        cursor.execute("COMMIT")


@contextlib.contextmanager
def up_that_drains(stack, name, settings):
    """`make up`, in a process group of its own, as soon as it has drained that satellite."""
    process = subprocess.Popen(
        ["bin/up"],
        cwd=containers.ROOT,
        env={**os.environ, "UP_IMAGES": "keep", **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        stack.wait_for(lambda: stack.server(name)["state"] == "draining", 60, f"{name} to be drained")
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_renewal_that_is_ended_leaves_nobody_drained(stack, table, up, number):
    with held(stack, "satellite-1"), up_that_drains(stack, "satellite-1", {"SATELLITE_TMPFS": "900m"}) as process:
        os.killpg(process.pid, number)
        stack.wait_for(lambda: stack.server("satellite-1")["state"] == "up", 20, "satellite-1 to be given back")
    assert "nothing changes" in up()


@pytest.mark.nightly
def test_a_renewal_that_was_killed_leaves_nobody_drained_after_the_next_make_up(stack, table, up):
    with held(stack, "satellite-1"), up_that_drains(stack, "satellite-1", {"SATELLITE_TMPFS": "900m"}):
        gate("drain", "satellite-2")
    assert stack.server("satellite-1")["state"] == "draining", "killed"
    up()
    assert {name: stack.server(name)["state"] for name in stack.satellites} == {"satellite-1": "up", "satellite-2": "draining"}


def test_a_transaction_on_a_satellite_that_goes_ends_when_its_client_ends_it(stack, table, up):
    """It lasts longer than the gate waits for those that are no longer in its list (GATE_DRAIN_MS)."""
    up(SATELLITES="3")
    with ThreadPoolExecutor(1) as threads:
        with held(stack, "satellite-3") as read:
            first, gone = read(), threads.submit(up)
            stack.wait_for(lambda: stack.server("satellite-3")["state"] == "draining", 60, "satellite-3 to be drained")
            drained_at = time.monotonic()
            while time.monotonic() < drained_at + 8:
                assert read() == first and not gone.done()
        gone.result()
    assert {server["name"] for server in stack.servers()} == {"master", *stack.satellites}


@pytest.mark.nightly
def test_a_service_of_the_operators_that_never_ends_is_made_anew_and_not_waited_for(stack, table, up, tmp_path):
    def declare(number):
        image = containers.inspect("gate")["Config"]["Image"]
        (tmp_path / "theirs.yml").write_text(
            f"services: {{theirs: {{image: '{image}', entrypoint: [sleep, infinity], environment: {{N: '{number}'}}, network_mode: none}}}}"
        )
        return {"COMPOSE_FILE": f"{os.environ['COMPOSE_FILE']}:{tmp_path}/theirs.yml"}

    assert "theirs        new" in up(**declare(1))
    assert "theirs        made anew (N)" in up(**declare(2))
    assert "theirs        removed" in up()


def test_the_gate_is_started_again_and_nobody_else_is_made_anew(stack, table, up):
    before = identities("master", "satellite-1")
    containers.compose("stop", "gate")
    said = up(MASTER_CPUS="1")
    assert "master        cores" in said and "gate          started" in said
    assert identities("master", "satellite-1") == before
