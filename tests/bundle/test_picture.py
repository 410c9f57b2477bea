"""What the layout says of the machine: a picture that a person can read, and whose memory comes from which node."""

import json
import os

import pytest

from support import compose as containers

from machines import REAL, machine

GIB = 1 << 30


@pytest.fixture
def picture(tmp_path):
    """picture(machine's lines, {SETTING: cores}, *arguments, gib={node: GiB}, each=GiB of a server) -> stdout"""

    def draw(lines, dealt, *arguments, gib, each=1, may=None):
        for node, size in gib.items():
            (tmp_path / f"node{node}").mkdir(exist_ok=True)
            (tmp_path / f"node{node}/meminfo").write_text(f"Node {node} MemTotal:       {int(size * GIB) >> 10} kB\n")
        satellites = sum(name.startswith("SATELLITE") for name in dealt)
        settings = {f"{name}_CPUS": cores for name, cores in dealt.items()} | {f"{name}_MEMORY": str(each * GIB) for name in dealt}
        told = {"PATH": os.environ["PATH"], "NODES_DIR": str(tmp_path), "DEALT": may or f"0-{len(lines) - 2}"} | settings
        command = ["python3", "mysql-satellite/picture.py", *arguments, str(satellites)]
        return containers.run("env", "-i", *(f"{name}={value}" for name, value in told.items()), *command, input="\n".join(lines)).stdout

    return draw


TWO_NODES = {"MASTER": "12-15", "LOG": "10-11", "GATE": "4-5", "SATELLITE_1": "0-3", "SATELLITE_2": "8-9"}


def test_the_picture_says_node_by_node_who_runs_where_with_what_memory_and_what_is_free(picture):
    drawn = picture(machine(2, 2, 4), TWO_NODES, gib={0: 8, 1: 2.5}, may="0-5,7-15")
    assert (
        drawn
        == """\
  master           cores 12-15        node 1
  log and capture  cores 10-11        node 1
  gate             cores 4-5          node 0
  satellite-1      cores 0-3          node 0
  satellite-2      cores 8-9          node 1
who runs where (M: master, L: log and capture, G: gate, 1 to 2: satellites with their appliers, .: nobody):
  node 0: 8 cores, 8 GiB
    L3 0, cores 0-3: 1111
    L3 1, cores 4-7: GG..
    memory: gate 1 GiB, satellite-1 1 GiB; 6 GiB free for the page cache and all else
  node 1: 8 cores, 2.5 GiB
    L3 2, cores 8-11: 22LL
    L3 3, cores 12-15: MMMM
    memory: master 1 GiB, log and capture 1 GiB, satellite-2 1 GiB; together 3 GiB, MORE THAN THE NODE HAS: what does not fit comes from other nodes
  free: cores 6 (left out by machine.cpus, or not for us)
  free: cores 7 (no server on their node can use them; one more satellite could)
"""
    )


def test_the_status_page_is_told_the_same(picture):
    told = json.loads(picture(machine(2, 2, 4), TWO_NODES, "--json", gib={0: 8, 1: 2.5}, may="0-5,7-15"))
    names = [server["name"] for server in told["servers"]]
    assert told["servers"][0] == {"name": "master", "cpus": "12-15", "memory": GIB}
    assert [(node["node"], node["memory"], node["taken"]) for node in told["nodes"]] == [(0, 8 * GIB, 2 * GIB), (1, 5 * GIB // 2, 3 * GIB)]
    drawn = [[["+".join(names[at] for at in core["who"]) for core in cache["cores"]] for cache in node["caches"]] for node in told["nodes"]]
    assert drawn[0] == [["satellite-1"] * 4, ["gate", "gate", "", ""]]
    assert drawn[1] == [["satellite-2"] * 2 + ["log and capture"] * 2, ["master"] * 4]
    free = told["nodes"][0]["caches"][1]["cores"][2:]
    assert free == [{"cpus": "6", "who": [], "left_out": True}, {"cpus": "7", "who": []}]


def test_few_cores_are_drawn_with_all_who_share_them(picture):
    drawn = picture(machine(1, 1, 2), dict.fromkeys(("MASTER", "LOG", "GATE", "SATELLITE_1"), "0-1"), gib={})
    assert "cores 0-1: MLG1 MLG1\n" in drawn and "memory unknown" in drawn and "1: satellite-1 with" in drawn


def test_many_satellites_have_signs_of_their_own(picture):
    dealt = {"MASTER": "0", "LOG": "1", "GATE": "2"} | {f"SATELLITE_{n}": str(n + 2) for n in range(1, 38)}
    drawn = picture(machine(1, 1, 40), dealt, gib={0: 64})
    assert "MLG123456789abcdefghijklmnopqrstuvwxyz++" in drawn and "+: more of them" in drawn


def test_memory_is_bound_to_a_node_that_has_enough_of_it(picture):
    assert picture(machine(2, 2, 4), TWO_NODES, "--nodes", gib={0: 8, 1: 8}) == "master=1\nsatellite-1=0\nsatellite-2=1\n"
    assert picture(machine(2, 2, 4), TWO_NODES, "--nodes", gib={0: 8, 1: 2.5}) == "satellite-1=0\n", "node 1 has too little"
    assert picture(machine(2, 2, 4), TWO_NODES, "--nodes", gib={0: 8, 1: 0}) == "", "node 1 has none: all comes from node 0 anyway"
    across = TWO_NODES | {"SATELLITE_1": "7-8"}
    assert picture(machine(2, 2, 4), across, "--nodes", gib={0: 8, 1: 8}) == "master=1\nsatellite-2=1\n", "one on two nodes"
    assert picture(machine(1, 1, 4), dict.fromkeys(TWO_NODES, "0-3"), "--nodes", gib={0: 64}) == "", "there is one node only"


@pytest.mark.parametrize("shape", [shape for shape, _ in REAL.values()])
def test_every_real_machine_can_be_drawn(picture, shape):
    lines = machine(*shape)
    drawn = picture(lines, dict.fromkeys(TWO_NODES, "0"), gib={})
    assert sum("cores" in line and ": " in line for line in drawn.splitlines()) > 1
