"""No account has the master's mysqld killed for want of memory: the image of the master alone, with little memory."""

import functools
import os
import subprocess
import sys

import pymysql
import pytest

from support import compose as containers
from support import greedy
from support.wait import wait_for

sys.path.insert(0, os.path.join(containers.ROOT, "bin"))
import checks  # noqa: E402

NAME = f"{os.environ['COMPOSE_PROJECT_NAME']}-memory"
IMAGE = f"multimed/mysql-master:{containers.setting('MULTIMED_VERSION')}"
LIBRARY = "/usr/local/lib/multimed/lib.sh"
# As it was before the bounds.
UNBOUNDED = """
memory_bounds() { echo max_connections=2000; }
bound_memory() { :; }
controlled_sql() { echo 'DO 0;'; }
"""
# Lost connections: MySQL ends a login, or reads no further, without an error.
REFUSED = {4081, 4082, 1041, 1037, 5, 1040, 1135, 2006, 2013}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory") / "secrets"
    containers.run("mysql-master/generate-secrets.sh", str(folder))
    return folder


@pytest.fixture
def start(secrets):
    """start(option, ...): a master of 1 GiB; how an account without privileges connects there."""

    def started(*options):
        remove()
        size = ("--memory", "1g", "--memory-swap", "1g", "-e", "MASTER_BUFFER_POOL=256m")
        containers.run(
            "docker",
            "run",
            "-d",
            "--name",
            NAME,
            *size,
            "-v",
            f"{secrets}/master:/run/secrets:ro",
            "--tmpfs",
            "/run:mode=0755",
            *options,
            IMAGE,
        )
        make = "CREATE USER greedy@'%' IDENTIFIED BY 'greedy'"
        wait_for(lambda: sql(make, check=False).returncode == 0, 60, "the master to serve")
        address = inspect("{{.NetworkSettings.IPAddress}}")
        return functools.partial(
            pymysql.connect,
            host=address,
            user="greedy",
            password="greedy",
            database="information_schema",
            ssl_disabled=True,
            connect_timeout=5,
            read_timeout=30,
            max_allowed_packet=1 << 30,
        )

    yield started
    remove()


def remove():
    subprocess.run(("docker", "rm", "-f", "-v", NAME), capture_output=True, check=False)


def inspect(format):
    return containers.run("docker", "inspect", "--format", format, NAME).stdout.strip()


def sql(text, check=True):
    command = (
        "docker",
        "exec",
        "-i",
        NAME,
        "mysql",
        "--defaults-file=/run/multimed/client.cnf",
        "--batch",
        "--skip-column-names",
        "-e",
        text,
    )
    return containers.run(*command, check=check)


BOUNDS = """
    . mysql-master/lib.sh
    tmpfs_size() { echo "$data"; }
    for size in 1 2 4 8 64 512; do
      for part in 8 4 2; do
        memory=$((size << 30)) pool=$((memory / part)) data=$((part == 2 ? 0 : memory / 4))
        memory_limit() { echo "$memory"; }
        heap="heap=$(heap_limit "$pool" /) private=$(data_limit "$pool" /)"
        echo "limit=$((memory - data)) pool=$pool $heap" $(memory_bounds "$pool" /)
      done
    done
    echo "base=$mysqld_base kernel=$kernel_base session=$session_base session_kernel=$session_kernel stack=$thread_stack"
"""


def test_whatever_the_sizes_all_that_sessions_may_take_fits():
    *servers, counted = [
        {name: int(value) for name, value in (each.split("=") for each in line.split())}
        for line in containers.run("bash", "-euc", BOUNDS).stdout.splitlines()
    ]
    as_doctor_counts = {"base": checks.BASE, "kernel": checks.KERNEL, "session": checks.SESSION, "session_kernel": checks.SESSION_KERNEL}
    assert as_doctor_counts | {"stack": counted["stack"]} == counted
    for each in servers:
        sessions, pool = each["max_connections"], each["pool"] * 17 // 16
        beside = pool + each["temptable_max_ram"] + counted["kernel"] + sessions * (counted["stack"] + counted["session_kernel"])
        heap = counted["base"] + sessions * counted["session"] + each["global_connection_memory_limit"]
        # Else there are no smaller ones, and doctor warns.
        if each["limit"] - pool - counted["kernel"] - counted["base"] > 200 << 20:
            assert heap <= each["heap"] and beside + each["heap"] <= each["limit"] and each["private"] <= each["limit"], each
        assert 100 <= sessions <= 2000 and each["connection_memory_limit"] < each["global_connection_memory_limit"]


def test_eight_sessions_that_ask_for_too_much_are_refused_and_the_master_lives(start):
    connect = start()
    answers = greedy.attack(connect, seconds=12, asks=greedy.LARGE_VALUES)
    print(f"with bounds: {dict(answers)}")
    assert inspect("{{.State.Running}} {{.State.OOMKilled}}") == "true false"
    assert answers.keys() - REFUSED <= {0} and answers.keys() & {4081, 4082}, answers
    answers = greedy.attack(connect, seconds=3, asks=greedy.VARIABLES)
    assert answers.keys() <= {5, 4081, 4082, 2006, 2013}, answers
    with greedy.unfinished(connect, sessions=40):
        assert inspect("{{.State.Running}} {{.State.OOMKilled}}") == "true false"
    assert sql("SELECT 1").stdout == "1\n"


def test_without_the_bounds_the_same_kills_it(start, secrets):
    library = secrets.parent / "lib.sh"
    library.write_text(containers.run("docker", "run", "--rm", "--entrypoint", "cat", IMAGE, LIBRARY).stdout + UNBOUNDED)
    connect = start("-v", f"{library}:{LIBRARY}:ro")
    answers = greedy.attack(connect, seconds=6, asks=(greedy.STRINGS,))
    print(f"without bounds: {dict(answers)}")
    wait_for(lambda: inspect("{{.State.Running}} {{.State.OOMKilled}}") == "false true", 10, "the master to be killed")
