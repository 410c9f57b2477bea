"""What an operator with another machine gets from `make layout`: cores without overlap where there are enough, their own
wishes kept, and every mistake at once. The machine is made up: lscpu and taskset are replaced on PATH."""

import itertools
import os
import re

import pytest

from support import compose as containers

from machines import machine

LINE = re.compile(r"^  (\S.*?) +cores (\S+) *(.*)$")


@pytest.fixture
def layout(tmp_path):
    """layout(cores, NAME=value...) -> (exit status, {who: set of cores}, stdout, stderr, override file)."""
    tools = tmp_path / "bin"
    tools.mkdir()

    def tool(name, body):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)

    def run(cores, **settings):
        rows = cores if isinstance(cores, list) else machine(1, 1, cores)
        tool("lscpu", "cat <<'END'\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n" + "\n".join(rows) + "\nEND")
        tool("taskset", f'echo "pid 1\'s current affinity list: 0-{len(rows) - 1}"')
        override = tmp_path / "override.yml"
        done = containers.run(
            "mysql-satellite/layout", check=False, env={"PATH": f"{tools}:{os.environ['PATH']}", "OVERRIDE_FILE": str(override), **settings}
        )
        found = {match[1]: cores_of(match[2]) for match in map(LINE.match, done.stdout.splitlines()) if match}
        return done.returncode, found, done.stdout, done.stderr, override

    return run


def cores_of(text):
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def overlap(groups):
    return [(a, b) for (a, x), (b, y) in itertools.combinations(groups.items(), 2) if x & y]


@pytest.mark.parametrize("cores", [5, 8, 16, 48])
def test_with_enough_cores_nobody_shares_and_none_is_idle(layout, cores):
    status, groups, out, err, _ = layout(cores)
    assert status == 0, err
    assert set(groups) == {"master", "log and capture", "gate", "satellite-1", "satellite-2"}
    assert overlap(groups) == []
    assert set().union(*groups.values()) == set(range(cores))
    assert len(groups["satellite-1"]) == len(groups["satellite-2"])
    assert "shared" not in out


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_with_few_cores_it_says_who_shares(layout, cores):
    status, groups, out, err, _ = layout(cores)
    assert status == 0, err
    assert len(groups) == 5
    assert set().union(*groups.values()) == set(range(cores)), "every core is used"
    for one, other in overlap(groups):
        line = next(line for line in out.splitlines() if line.startswith(f"  {one} "))
        assert other in line.split("shared with")[1], line


def test_cores_that_are_not_to_be_dealt_out_stay_free(layout):
    _, groups, _, _, _ = layout(16, LAYOUT_CPUS="0-2,8-12")
    assert set().union(*groups.values()) == {0, 1, 2, 8, 9, 10, 11, 12}
    _, groups, _, _, _ = layout(16, LAYOUT_CPUS="0-2,8-12", MASTER_CPUS="15", GATE_CPUS="0")
    assert groups["master"] == {15} and groups["gate"] == {0}
    assert set().union(*groups.values()) == {0, 1, 2, 8, 9, 10, 11, 12, 15}
    status, _, _, err, _ = layout(4, LAYOUT_CPUS="2-9")
    assert status == 64 and "LAYOUT_CPUS=2-9: there is no core 4 here" in err
    status, _, _, err, _ = layout(4, LAYOUT_CPUS="3-2")
    assert status == 64 and "LAYOUT_CPUS=3-2 is not a list of cores" in err


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_with_fewer_cores_than_servers_none_idles_while_another_is_full(layout, cores):
    _, groups, _, _, _ = layout(cores)
    assert all(group == set(range(cores)) for group in groups.values()), groups


def test_the_operators_own_layout_wins(layout):
    status, groups, _, err, override = layout(8, MASTER_CPUS="4-6", SATELLITE_2_CPUS="0")
    assert status == 0, err
    assert groups["master"] == {4, 5, 6}
    assert groups["satellite-2"] == {0}
    assert overlap(groups) == [], "what is left open is dealt from the other cores"
    assert 'cpuset: "4-6"' in override.read_text()


@pytest.mark.parametrize("satellites", [1, 3, 6])
def test_the_override_file_is_valid_compose(layout, satellites, monkeypatch):
    status, groups, _, err, override = layout(16, SATELLITES=str(satellites), SATELLITE_MEMORY="1g", SATELLITE_TMPFS="256m")
    assert status == 0, err
    assert len([name for name in groups if name.startswith("satellite-")]) == satellites
    done = containers.run(
        "docker", "compose", "-f", "docker-compose.yml", "-f", str(override), "config", "--services", env={"COMPOSE_FILE": ""}
    )
    services = set(done.stdout.split())
    for number in range(1, satellites + 1):
        assert {f"satellite-{number}", f"applier-{number}"} <= services
    assert f"satellite-{satellites + 1}" not in services
    addresses = ",".join(f"satellite-{number}:3306" for number in range(1, satellites + 1))
    assert f'GATE_SATELLITES: "{addresses}"' in override.read_text()


def test_every_mistake_is_reported_at_once(layout):
    status, _, _, err, override = layout(
        4,
        SATELLITES="0",
        SATELLITE_TMPFS="4g",
        MASTER_MEMORY="lots",
        GATE_PORT="99999x",
        STATUS_PORT=os.environ["FRONT_PORT"],
        MASTER_CPUS="7",
        GATE_CPUS="1..2",
        GATE_WAIT_MS="soon",
        BIND_ADDRESS="everywhere",
        SOCKET_DIR="here",
        GATE_CONSISTENCY="stong",
        GATE_AFTER_WAIT="retry",
    )
    assert status == 64
    for name in (
        "SATELLITES",
        "SATELLITE_MEMORY",
        "MASTER_MEMORY",
        "GATE_PORT",
        "STATUS_PORT",
        "MASTER_CPUS",
        "GATE_CPUS",
        "GATE_WAIT_MS",
        "GATE_CONSISTENCY",
        "GATE_AFTER_WAIT",
        "BIND_ADDRESS",
        "SOCKET_DIR",
    ):
        assert f"setting: {name}=" in err, f"{name} is not among the mistakes:\n{err}"
    assert not override.exists(), "nothing is written when something is wrong"


def test_more_memory_than_the_machine_has_is_refused(layout):
    status, _, _, err, _ = layout(4, SATELLITES="99")
    assert status == 64
    assert "MiB" in err and "SATELLITES" in err
