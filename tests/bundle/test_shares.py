"""A stack without a layout: the same rule deals the cores, and each server goes to its share by itself, or says why not."""

import os
import shutil
import subprocess

import pytest

from support import compose as containers
from support.shares import FOLDER, share_of, shares

from machines import REAL, machine
from test_dealing import MIX, dealing
from test_layout import services

CORES = sorted(os.sched_getaffinity(0))
ALL = dealing.joined(CORES)
two_cores = pytest.mark.skipif(len(CORES) < 2, reason="one core only")


@pytest.mark.parametrize("title", REAL)
def test_the_shares_are_what_the_layout_would_give_two_satellites(title):
    lines = machine(*REAL[title][0])
    cores = dealing.read_machine(lines)
    every = set(dealing.cpus_of(cores))
    names = {
        "master": "MASTER_CPUS",
        "log": "LOG_CPUS",
        "gate": "GATE_CPUS",
        "satellite-1": "SATELLITE_1_CPUS",
        "satellite-2": "SATELLITE_2_CPUS",
    }
    dealt = dealing.deal(cores, 2, {}, MIX)
    assert shares.deal(lines, every, lambda cores: set()) == {"all": dealing.joined(every)} | {
        server: dealing.joined(dealt[name]) for server, name in names.items()
    }


def test_only_cores_that_a_container_may_use_are_dealt():
    found = shares.deal(machine(2, 1, 16), set(range(8, 24)), lambda cores: set())
    assert found["all"] == "8-23"
    assert set().union(*(dealing.expanded(cores) for cores in found.values())) == set(range(8, 24))


@pytest.fixture
def on_share(tmp_path):
    """on_share(shares, core=where it begins) -> (where the command runs, standard error)."""
    shutil.copy(f"{FOLDER}/on-share", tmp_path)
    (tmp_path / "taskset").symlink_to(shutil.which("taskset"))

    def run(text, core=ALL):
        if text is not None:
            (tmp_path / "shares").write_text(text)
        script = 'grep -o "[0-9,-]*$" <(grep Cpus_allowed_list /proc/self/status); echo "$1"; exit 7'
        command = ("taskset", "-c", core, tmp_path / "on-share", "gate", "bash", "-c", script, "-", "an argument")
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        cores, argument = done.stdout.splitlines()
        assert (argument, done.returncode) == ("an argument", 7)
        return cores, done.stderr

    return run


@two_cores
def test_a_server_goes_to_its_share_and_says_so(on_share):
    assert on_share(f"all {ALL}\nmaster {CORES[0]}\ngate {CORES[1]}\n")[0] == str(CORES[1])
    assert f"event=pinned cores={CORES[1]}" in on_share(f"all {ALL}\ngate {CORES[1]}\n")[1]


@two_cores
def test_one_that_has_cores_of_its_own_is_left_alone(on_share):
    assert on_share(f"all {ALL}\ngate {CORES[1]}\n", core=str(CORES[0])) == (str(CORES[0]), "")


def test_where_all_share_all_cores_nobody_is_pinned(on_share):
    assert on_share(f"all {ALL}\ngate {ALL}\n") == (ALL, "")


@pytest.mark.parametrize("text", [None, "", f"all {ALL}\nmaster {CORES[0]}\n"])
def test_without_a_share_it_runs_where_it_is_and_says_so(on_share, text):
    cores, said = on_share(text)
    assert cores == ALL and 'level=warn component=cores event=not-pinned reason="no share for gate"' in said


def test_what_the_system_refuses_is_a_warning(on_share):
    cores, said = on_share(f"all {ALL}\ngate 4000\n")
    assert cores == ALL and "level=warn component=cores event=not-pinned" in said


def test_compose_runs_each_server_on_its_share_and_with_a_layout_none(tmp_path):
    layout = tmp_path / "layout.yml"
    layout.write_text("services: {}\n")
    plain = services(layout)
    servers = set(plain) - {"cores", "secrets"}
    assert {name: plain[name]["entrypoint"][:2] for name in servers} == {name: ["/cores/on-share", share_of(name)] for name in servers}
    for name in servers:
        assert plain[name]["depends_on"]["cores"] == {"condition": "service_completed_successfully", "required": False}, name
    env = {"LAYOUT_FILE": str(layout), "LAYOUT_DIR": str(tmp_path), "SATELLITES": "3", "SATELLITE_MEMORY": "2g"}
    containers.run("mysql-satellite/layout", env=env)
    laid_out = services(layout)
    assert "satellite-3" in laid_out and "cores" not in laid_out
    for name, service in laid_out.items():
        assert name == "secrets" or (service["entrypoint"] is None and "cores" not in service["depends_on"]), name
