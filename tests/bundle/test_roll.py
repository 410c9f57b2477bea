"""What `make up` and `make plan` decide about a running stack: who is left alone, who changes while it runs, who is made anew."""

import importlib.machinery
import importlib.util
import os

import pytest

from support import compose as containers

loader = importlib.machinery.SourceFileLoader("roll", os.path.join(containers.ROOT, "bin/roll"))
roll = importlib.util.module_from_spec(importlib.util.spec_from_loader("roll", loader))
loader.exec_module(roll)

SATELLITE = {"image": "s", "cpuset": "0-1", "mem_limit": "1", "environment": {"POOL": "1m", "NAME": "x"}, "restart": "always"}


def wanted(hash="new", image="id", **changes):
    return roll.Wanted(frozenset({hash, hash + "-alone"}), image, SATELLITE | changes)


def container(hash="old", image="id", cpuset="0-1"):
    return roll.Container("c", hash, image, cpuset)


def decided(containers, wants, made):
    return [(change.do, change.service, change.why) for change in roll.plan(containers, wants, made)]


def test_what_is_as_it_should_be_is_left_alone():
    assert decided({"satellite-1": container("same")}, {"satellite-1": wanted("same")}, {}) == []
    assert decided({"satellite-1": container("same-alone")}, {"satellite-1": wanted("same")}, {}) == [], "made by up --no-deps"


def test_other_cores_are_given_to_a_running_server_once():
    wants = {"satellite-1": wanted(cpuset="2-3")}
    made = {("satellite-1", "old"): SATELLITE}
    assert decided({"satellite-1": container()}, wants, made) == [("cores", "satellite-1", "cores 0-1 -> 2-3")]
    assert decided({"satellite-1": container(cpuset="2-3")}, wants, made) == []
    back = {"satellite-1": wanted("old")}
    assert decided({"satellite-1": container(cpuset="2-3")}, back, made) == [("cores", "satellite-1", "cores 2-3 -> 0-1")]


@pytest.mark.parametrize(
    "changes,why",
    [
        ({"mem_limit": "2"}, "mem_limit"),
        ({"environment": {"POOL": "2m", "NAME": "x", "MORE": "1"}}, "MORE, POOL"),
        ({"cpuset": "2-3", "mem_limit": "2"}, "mem_limit"),
        ({"tmpfs": ["/run"]}, "tmpfs"),
    ],
)
def test_what_cannot_change_while_it_runs_is_made_anew_and_said(changes, why):
    made = {("satellite-1", "old"): SATELLITE}
    assert decided({"satellite-1": container()}, {"satellite-1": wanted(**changes)}, made) == [("renew", "satellite-1", why)]


def test_another_image_and_what_nobody_has_written_down_is_made_anew():
    assert decided({"master": container("same", "other")}, {"master": wanted("same")}, {}) == [("renew", "master", "image")]
    assert decided({"master": container()}, {"master": wanted()}, {}) == [("renew", "master", "configuration")]
    made = {("master", "old"): SATELLITE}
    assert decided({"master": container()}, {"master": wanted(cpuset="")}, made) == [("renew", "master", "cores 0-1 -> all")]


def test_the_order_is_that_of_the_path_and_satellites_come_last_each_with_its_applier():
    services = ["satellite-10", "applier-2", "satellite-2", "applier-10", "proxysql", "gate", "master", "kafka", "capture", "secrets"]
    found = [change.service for change in roll.plan({s: container() for s in services}, {s: wanted() for s in services}, {})]
    assert found[0] == "secrets"
    assert found[1:] == ["kafka", "capture", "master", "gate", "proxysql", "satellite-2", "applier-2", "satellite-10", "applier-10"]


def test_cores_and_removals_come_before_what_restarts():
    have = {"satellite-1": container(), "satellite-2": container("same"), "satellite-3": container()}
    wants = {"satellite-1": wanted(mem_limit="2"), "satellite-2": wanted("same", cpuset="4"), "satellite-4": wanted()}
    found = decided(have, wants, {("satellite-1", "old"): SATELLITE})
    assert [each[:2] for each in found] == [
        ("cores", "satellite-2"),
        ("remove", "satellite-3"),
        ("renew", "satellite-1"),
        ("make", "satellite-4"),
    ]
    assert roll.printed(roll.plan(have, wants, {})).splitlines()[1].strip() == "satellite-3   removed, once nobody reads from it"


def test_what_somebody_has_started_of_another_profile_stays():
    assert roll.plan({"grafana": container()}, {}, {}, known=["grafana"]) == []


def test_a_plan_without_changes_says_so():
    assert roll.printed([]) == "nothing changes\n"


@pytest.mark.parametrize(
    "before,after",
    [
        ("", "satellites:\n  count: 3\n"),
        ("master:\n  memory: 3g", "master:\n  memory: 3g\nsatellites:\n  count: 3\n"),
        ("satellites: # mine\n    memory: 2g\nlog: {}\n", "satellites: # mine\n    count: 3\n    memory: 2g\nlog: {}\n"),
        ("satellites:\n  memory: 2g\n  count: 17 # many\n", "satellites:\n  memory: 2g\n  count: 3 # many\n"),
        ("satellites:\n  list:\n    - {}\n", None),
        ("satellites: {count: 2}\n", None),
    ],
)
def test_scale_declares_the_number_and_touches_nothing_else(tmp_path, before, after):
    """What it does not understand it leaves alone, with status 64."""
    file = tmp_path / "multimed.yml"
    file.write_text(before)
    done = scale(tmp_path, "3")
    assert file.read_text() == (before if after is None else after)
    assert done.returncode == (64 if after is None else 0), done.stderr
    assert not (tmp_path / "multimed.yml.new").exists()


@pytest.mark.parametrize("number", ["", "0", "many", "100"])
def test_scale_wants_a_number(tmp_path, number):
    done = scale(tmp_path, number)
    assert done.returncode == 64 and f"SATELLITES={number} is not a number from 1 to 99" in done.stderr
    assert not (tmp_path / "multimed.yml").exists()


def scale(folder, number):
    """In a copy whose `up` does nothing."""
    for name in ("bin/lib.sh", "bin/scale", ".env.example", "mysql-satellite/declared.py", "mysql-satellite/multimed.schema.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(open(os.path.join(containers.ROOT, name), "rb").read())
    (folder / "bin/up").write_text("#!/bin/sh\nexit 0\n")
    for name in ("bin/up", "bin/scale", "mysql-satellite/declared.py"):
        (folder / name).chmod(0o755)
    command = ("env", "-i", f"PATH={os.environ['PATH']}", f"SATELLITES={number}", str(folder / "bin/scale"))
    return containers.run(*command, check=False)
