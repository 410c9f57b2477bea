"""Who gets which cores: on real shapes of machines as a text that a person can read (layouts.txt), and on random ones as a property."""

import importlib.util
import itertools
import json
import os
import pathlib
import random
import sys

import pytest

from support import compose as containers

from machines import REAL, WITHOUT_MEMORY, machine, random_machine

HERE = pathlib.Path(__file__).parent
SCHEMA = json.loads(pathlib.Path(containers.ROOT, "mysql-satellite/multimed.schema.json").read_text())
spec = importlib.util.spec_from_file_location("dealing", os.path.join(containers.ROOT, "mysql-satellite/dealing.py"))
dealing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dealing)
# picture.py imports what lies beside it.
sys.path.insert(0, os.path.join(containers.ROOT, "mysql-satellite"))
import picture  # noqa: E402


def defaults(schema):
    for each in schema["properties"].values():
        yield from defaults(each) if "properties" in each else [(each["x-setting"], each.get("default"))]


MIX = dealing.Mix.of(dict(defaults(SCHEMA["properties"]["mix"])))


def described(title, shape, satellites):
    cores = dealing.read_machine(machine(*shape))
    of = {cpu: core for core in cores for cpu in core.cpus}
    lines = [f"{title}: {len(cores)} cores, {len(of)} threads"]
    dealt = dealing.deal(cores, satellites, {}, MIX, WITHOUT_MEMORY.get(title, set()))
    for name, cpus in sorted(dealt.items(), key=order):
        used = {of[cpu] for cpu in cpus}
        where = f"{len({core.node for core in used})} nodes, {len({(core.node, core.cache) for core in used})} caches"
        lines.append(f"  {name:<17} {len(used):>3} cores {dealing.joined(cpus):<24} {where}")
    free = of.keys() - set().union(*dealt.values())
    return "\n".join(lines + [f"  free: cores {dealing.joined(free)}"] * bool(free)) + "\n"


def order(dealt):
    kind, _, number = dealt[0].removesuffix("_CPUS").partition("_")
    return (["MASTER", "LOG", "GATE", "SATELLITE"].index(kind), int(number or 0))


def test_real_machines_are_dealt_as_the_file_shows():
    """With UPDATE_LAYOUTS=1 the file is written anew: read the difference."""
    found = "\n".join(described(title, shape, satellites) for title, (shape, satellites) in REAL.items())
    if os.environ.get("UPDATE_LAYOUTS"):
        (HERE / "layouts.txt").write_text(found)
    assert found == (HERE / "layouts.txt").read_text()


@pytest.mark.nightly(keep=3)
@pytest.mark.parametrize("seed", range(10))
def test_whatever_the_machine_no_rule_is_broken(seed):
    choose = random.Random(seed)
    for _ in range(100):
        lines, satellites = random_machine(choose), choose.randint(1, 12)
        cores = dealing.read_machine(lines)
        memoryless = {node[0].node for node in dealing.nodes(cores) if choose.random() < 0.2}
        check(cores, satellites, memoryless, "\n".join([f"{satellites} satellites, no memory on {memoryless}", *lines]))


def check(cores, satellites, memoryless, told):
    dealt = dealing.deal(cores, satellites, {}, MIX, memoryless)
    every = {cpu for core in cores for cpu in core.cpus}
    assert set(dealt) == {"MASTER_CPUS", "LOG_CPUS", "GATE_CPUS"} | {f"SATELLITE_{n}_CPUS" for n in range(1, satellites + 1)}
    if len(every) < len(dealt) or all(cpus == every for cpus in dealt.values()):
        assert all(cpus == every for cpus in dealt.values()), told
        assert len(every) < len(dealt) or len(dealing.nodes(cores)) > 1, told
        return
    assert not any(one & other for one, other in itertools.combinations(dealt.values(), 2)), told
    of = {cpu: core for core in cores for cpu in core.cpus}
    if len(cores) >= len(dealt):
        assert all(cpus >= set(of[cpu].cpus) for cpus in dealt.values() for cpu in cpus), f"threads of a core are separated\n{told}"
    fixed = [cpus for name, cpus in dealt.items() if name == "MASTER_CPUS" or name.startswith("SATELLITE")]
    assert all(len({of[cpu].node for cpu in cpus}) == 1 for cpus in fixed), told
    at = {name: {of[cpu].node for cpu in cpus} for name, cpus in dealt.items()}
    with_memory = {core.node for core in cores} - memoryless
    if with_memory:
        assert at["MASTER_CPUS"] <= with_memory, f"the master is on a node without memory\n{told}"
    if len(cores) >= len(dealt):
        check_sizes(cores, dealt, of, at, with_memory, told)


def check_sizes(cores, dealt, of, at, with_memory, told):
    satellites = [name for name in dealt if name.startswith("SATELLITE")]
    used = {name: {of[cpu] for cpu in cpus} for name, cpus in dealt.items()}
    fits = max(map(len, dealing.caches(cores)))
    for name in satellites:
        assert len(used[name]) > fits or len({core.cache for core in used[name]}) == 1, told
        if len(at[name] | with_memory) > len(with_memory):
            assert len([core for core in cores if core.node in with_memory]) < len(satellites) + 1, f"{name} need not be there\n{told}"
    # Where a satellite or the master could have them, and no cache is in the way, no core is left over.
    taken = set().union(*used.values())
    for node in dealing.nodes(cores):
        here = [name for name in (*satellites, "MASTER_CPUS") if node[0].node in at[name]]
        if "MASTER_CPUS" in here or (here and len(dealing.caches(node)) == 1 and fits == len(node)):
            assert taken >= set(node), f"cores of node {node[0].node} are left over\n{told}"
    # Log and gate get no more than the mix needs and a half, but for what is left over anyway.
    need = MIX.needs(len(satellites), len(satellites))
    rate = len(cores) / (need.master + need.log + need.gate + need.satellite * len(satellites))
    for name, each in (("LOG_CPUS", need.log), ("GATE_CPUS", need.gate)):
        assert len(used[name]) <= dealing.share(rate * dealing.MARGIN, each), f"{name}: {len(used[name])}\n{told}"


@pytest.mark.nightly(keep=3)
@pytest.mark.parametrize("seed", range(10))
def test_servers_that_get_memory_of_their_node_alone_fit_there(seed):
    choose = random.Random(seed)
    for _ in range(100):
        cores, satellites = dealing.read_machine(random_machine(choose)), choose.randint(1, 12)
        memory = {node[0].node: choose.choice((0, choose.randint(1, 64) << 30)) for node in dealing.nodes(cores)}
        dealt = dealing.deal(cores, satellites, {}, MIX, {node for node, size in memory.items() if not size})
        names = {"master": "MASTER", "log and capture": "LOG", "gate": "GATE"} | {
            f"satellite-{n}": f"SATELLITE_{n}" for n in range(1, satellites + 1)
        }
        servers = {name: ("", dealt[f"{setting}_CPUS"], choose.randint(1, 8) << 30) for name, setting in names.items()}
        for node in set((bound := picture.bound(servers, cores, memory)).values()):
            assert sum(servers[name][2] for name in bound if bound[name] == node) <= memory[node]


@pytest.mark.parametrize("cores,sizes", [(4, "ALL"), (5, "11111"), (6, "21111"), (7, "11122"), (8, "21122")])
def test_few_cores_are_dealt_as_ever(cores, sizes):
    found = sorted(dealing.deal(dealing.read_machine(machine(1, 1, cores)), 2, {}, MIX).items(), key=order)
    assert "".join(str(len(cpus)) for _, cpus in found) == (sizes if sizes != "ALL" else str(cores) * 5)


def test_the_operators_cores_are_left_alone():
    cores = dealing.read_machine(machine(2, 1, 8))
    own = {"MASTER_CPUS": {8, 9, 10, 11}, "SATELLITE_2_CPUS": {15}}
    dealt = dealing.deal(cores, 2, own, MIX)
    assert set(dealt) == {"LOG_CPUS", "GATE_CPUS", "SATELLITE_1_CPUS"}
    assert set().union(*dealt.values()) == set(range(16)) - {8, 9, 10, 11, 15}
    assert dealing.deal(cores, 1, {name: {0} for name in ("MASTER_CPUS", "LOG_CPUS", "GATE_CPUS", "SATELLITE_1_CPUS")}, MIX) == {}


def test_a_machine_that_says_nothing_of_itself():
    assert dealing.read_machine(["# comment", "", "3,,,"]) == [dealing.Core(0, -1, (3,))]
    assert dealing.read_machine(["# CPU,Core,Socket,Node,,L1d,L1i,L2", "0,0,0,0,,0,0,0", "1,0,0,0,,0,0,0"]) == [dealing.Core(0, -1, (0, 1))]
    assert dealing.read_machine(["# CPU,Core,Socket,Node", "0,0,0,1"]) == [dealing.Core(1, -1, (0,))]


@pytest.mark.parametrize(
    "columns,row",
    [
        ("# CPU,Core,Socket,Node,,L1d,L1i,L2,L3", "{cpu},{cpu},0,0,,{cpu},{cpu},{cpu},{cache}"),
        ("# CPU,Core,Socket,Node,L1d:L1i:L2:L3", "{cpu},{cpu},0,0,{cpu}:{cpu}:{cpu}:{cache}"),
        ("# CPU,Core,Socket,Node,L1d:L2:L3", "{cpu},{cpu},0,0,{cpu}:{cpu}:{cache}"),
        ("# CPU,Core,Socket,Node,,L1d,L1i,L2,L3,L4", "{cpu},{cpu},0,0,,{cpu},{cpu},{cpu},{cache},0"),
    ],
)
def test_the_l3_is_found_whatever_lscpu_puts_between_caches_and_however_many_there_are(columns, row):
    lines = ["# The following is the parsable format", columns, *(row.format(cpu=cpu, cache=cpu // 8) for cpu in range(16))]
    assert [core.cache for core in dealing.read_machine(lines)] == [0] * 8 + [1] * 8
