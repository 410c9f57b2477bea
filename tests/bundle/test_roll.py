"""What `make up` and `make plan` decide about a running stack: who is left alone, who changes while it runs, who is made anew."""

import importlib.machinery
import importlib.util
import os
import sys

import pytest

from support import compose as containers

# The script imports what lies beside it.
sys.path.insert(0, os.path.join(containers.ROOT, "bin"))
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


def test_memory_follows_the_cores_to_another_node_while_a_server_runs(tmp_path, monkeypatch):
    wants = {"satellite-1": wanted(cpuset="2-3", labels={roll.NODE: "1"})}
    made = {("satellite-1", "old"): SATELLITE | {"labels": {roll.NODE: "0"}}}
    on = {node: roll.Container("c", "old", "id", "0-1" if node == "0" else "2-3", node=node) for node in ("", "0", "1")}
    assert decided({"satellite-1": on["0"]}, wants, made) == [("cores", "satellite-1", "cores 0-1 -> 2-3, memory of node 0 -> 1")]
    assert decided({"satellite-1": on[""]}, wants, made) == [("cores", "satellite-1", "memory of node all -> 1")]
    assert decided({"satellite-1": on["1"]}, wants, made) == []
    anywhere = {"satellite-1": wanted(cpuset="2-3")}
    assert decided({"satellite-1": on["1"]}, anywhere, made) == [("cores", "satellite-1", "memory of node 1 -> all")]
    (tmp_path / "has_memory").write_text("1\n")
    monkeypatch.setattr(roll, "NODES", tmp_path)
    assert decided({"satellite-1": on[""]}, wants, made) == [], "no other node has memory"
    assert decided({"satellite-1": on["0"]}, wants, made) == [("cores", "satellite-1", "cores 0-1 -> 2-3, memory of node 0 -> 1")]
    other = {"satellite-1": wanted(cpuset="2-3", labels={roll.NODE: "1", "theirs": "x"})}
    assert decided({"satellite-1": on["1"]}, other, made) == [("renew", "satellite-1", "labels")]


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


G, M = 1 << 30, 1 << 20


def sized(memory="2147483648", pool="256m", tmpfs="1g", **more):
    """The configuration of a satellite with these sizes."""
    environment = {"SATELLITE_BUFFER_POOL": pool, "NAME": "x"}
    return SATELLITE | {"mem_limit": memory, "environment": environment, "tmpfs": [f"/var/lib/mysql:size={tmpfs},mode=0750", "/run"]} | more


def with_sizes(*sizes, hash="old"):
    return roll.Container("c", hash, "id", "0-1", True, "", sizes[0] if sizes else 0, roll.sizes.Sizes(*sizes) if sizes else None)


MADE = {("satellite-1", "old"): sized()}


def resized(have, hash="new", made=MADE, config=None, **sizes):
    want = roll.Wanted(frozenset({hash}), "id", config or sized(**sizes))
    return decided({"satellite-1": have}, {"satellite-1": want}, made)


def test_sizes_change_while_a_server_runs_once():
    want = {"memory": str(8 * G), "pool": "1g", "tmpfs": "4g"}
    changed = [("size", "satellite-1", "memory 2g -> 8g, buffer pool 256m -> 1g, tmpfs 1g -> 4g")]
    assert resized(with_sizes(2 * G, 256 * M, G), **want) == changed
    assert resized(with_sizes(), **want) == changed, "a server that does not answer has what it was made with"
    assert resized(with_sizes(8 * G, G, 4 * G), **want) == []
    assert resized(with_sizes(8 * G, G + 128 * M, 4 * G, 256 * M), **want) == [], "MySQL rounds up"
    assert resized(with_sizes(8 * G, G, G), **want) == [("size", "satellite-1", "tmpfs 1g -> 4g")], "its container has restarted"
    assert resized(with_sizes(8 * G, G, G), "old") == [("size", "satellite-1", "memory 8g -> 2g, buffer pool 1g -> 256m")], "taken back"


def test_a_tmpfs_does_not_shrink():
    smaller = resized(with_sizes(2 * G, 256 * M, G), tmpfs="512m")
    assert smaller == [("renew", "satellite-1", "tmpfs 1g -> 512m")]
    assert resized(with_sizes(2 * G, 256 * M, 4 * G), "old") == [("renew", "satellite-1", "tmpfs 4g -> 1g")]


def test_other_sizes_do_not_hide_what_else_is_different():
    assert resized(with_sizes(), pool="1g", restart="no") == [("renew", "satellite-1", "restart")]
    on_disk = sized() | {"tmpfs": ["/run"]}
    assert resized(with_sizes(), config=on_disk) == [("renew", "satellite-1", "tmpfs")]


def test_a_tmpfs_that_is_given_in_another_way_is_not_ours_to_judge():
    theirs = sized() | {"tmpfs": ["/run"]}
    assert resized(with_sizes(2 * G, 256 * M, 7 * G), "old", {("satellite-1", "old"): theirs}, theirs) == []


@pytest.mark.parametrize(
    "now,want,expected",
    [
        ((2 * G, 256 * M, G), (8 * G, G, 4 * G), ["memory 8g", "tmpfs 4g", "pool 768m", "pool 1g"]),
        ((8 * G, G, G), (2 * G, 256 * M, G), ["pool 512m", "pool 256m", "memory 2g"]),
        ((4 * G, 2 * G, G), (4 * G, G, 2 * G), ["pool 1536m", "pool 1g", "tmpfs 2g"]),
        ((2 * G, G, 0), (4 * G, 2 * G, 0), ["memory 4g", "pool 1536m", "pool 2g"]),
        ((2 * G, G, 0, G), (4 * G, 3 * G, 0), ["memory 4g", "pool 2g", "pool 3g"]),
    ],
)
def test_what_shrinks_comes_before_the_limit_and_what_grows_after_it(now, want, expected):
    found = [f"{part} {roll.sizes.in_units(size)}" for part, size in roll.sizes.steps(roll.sizes.Sizes(*now), roll.sizes.Sizes(*want))]
    assert found == expected


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


def test_what_is_stopped_is_started_and_made_anew_where_it_differs():
    def stopped(hash):
        return roll.Container("c", hash, "id", "0-1", running=False)

    made = {("satellite-1", "old"): SATELLITE}
    assert decided({"satellite-1": stopped("same")}, {"satellite-1": wanted("same")}, made) == [("start", "satellite-1", "")]
    assert roll.printed([roll.Change("start", "satellite-1")]) == "  satellite-1   started\n"
    assert decided({"satellite-1": stopped("old")}, {"satellite-1": wanted(cpuset="2-3")}, made) == [("renew", "satellite-1", "cpuset")]
    larger = {"satellite-1": roll.Wanted(frozenset({"new"}), "id", sized(pool="1g")), "master": wanted("same")}
    beside = {"satellite-1": stopped("old"), "master": container("same")}
    assert decided(beside, larger, MADE) == [("renew", "satellite-1", "SATELLITE_BUFFER_POOL")]
    others = {"satellite-1": wanted(cpuset="2-3"), "master": wanted("same")}
    assert [each[0] for each in decided(beside, others, made)] == ["cores", "start"], "while others run"
    moved = [("cores", "satellite-1", "cores 0-1 -> 2-3"), ("start", "satellite-1", "")]
    assert decided({"satellite-1": stopped("same")}, {"satellite-1": wanted("same", cpuset="2-3")}, made) == moved
    assert decided({"secrets": stopped("same")}, {"secrets": wanted("same")}, {}) == [], "it has done what it is there for"


def test_what_somebody_has_started_of_another_profile_stays():
    assert roll.plan({"grafana": container()}, {}, {}, known=["grafana"]) == []


def test_a_plan_without_changes_says_so():
    assert roll.printed([]) == "nothing changes\n"


@pytest.fixture
def compose(tmp_path, monkeypatch):
    """compose(text): what Compose reads from now on."""
    file = tmp_path / "compose.yml"
    monkeypatch.setenv("COMPOSE_FILE", str(file))
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "multimed-test-roll")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(roll, "ROOT", tmp_path)
    return file.write_text


def test_a_service_of_the_operators_that_is_only_built_is_one_like_others(compose):
    compose("services: {theirs: {build: .}, job: {image: no-such-image-anywhere}}")
    project, found = roll.read_wanted()
    assert project == "multimed-test-roll" and {name: want.image for name, want in found.items()} == {"theirs": "", "job": ""}


def test_what_compose_says_of_an_invalid_file_reaches_the_operator(compose, tmp_path):
    compose("services: {theirs: {image: x, no_such_key: 1}}")
    done = containers.run(os.path.join(containers.ROOT, "bin/roll"), "--plan", check=False)
    assert done.returncode == 1 and "no_such_key" in done.stderr and "Traceback" not in done.stderr
