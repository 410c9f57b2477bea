"""Who gets which cores: on real shapes of machines as a text that a person can read (layouts.txt), and on random ones as a property."""

import importlib.util
import itertools
import json
import os
import pathlib
import random

import pytest

from support import compose as containers

from machines import REAL, machine, random_machine

HERE = pathlib.Path(__file__).parent
SCHEMA = json.loads(pathlib.Path(containers.ROOT, "mysql-satellite/multimed.schema.json").read_text())
spec = importlib.util.spec_from_file_location("dealing", os.path.join(containers.ROOT, "mysql-satellite/dealing.py"))
dealing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dealing)


def defaults(schema):
    for each in schema["properties"].values():
        yield from defaults(each) if "properties" in each else [(each["x-setting"], each.get("default"))]


MIX = dealing.Mix.of(dict(defaults(SCHEMA["properties"]["mix"])))


def described(title, shape, satellites):
    cores = dealing.read_machine(machine(*shape))
    of = {cpu: core for core in cores for cpu in core.cpus}
    lines = [f"{title}: {len(cores)} cores, {len(of)} threads"]
    for name, cpus in sorted(dealing.deal(cores, satellites, {}, MIX).items(), key=order):
        used = {of[cpu] for cpu in cpus}
        where = f"{len({core.node for core in used})} nodes, {len({(core.node, core.cache) for core in used})} caches"
        lines.append(f"  {name:<17} {len(used):>3} cores {dealing.joined(cpus):<24} {where}")
    return "\n".join(lines) + "\n"


def order(dealt):
    kind, _, number = dealt[0].removesuffix("_CPUS").partition("_")
    return (["MASTER", "LOG", "GATE", "SATELLITE"].index(kind), int(number or 0))


def test_real_machines_are_dealt_as_the_file_shows():
    """With UPDATE_LAYOUTS=1 the file is written anew: read the difference."""
    found = "\n".join(described(title, shape, satellites) for title, (shape, satellites) in REAL.items())
    if os.environ.get("UPDATE_LAYOUTS"):
        (HERE / "layouts.txt").write_text(found)
    assert found == (HERE / "layouts.txt").read_text()


@pytest.mark.parametrize("seed", range(10))
def test_whatever_the_machine_no_rule_is_broken(seed):
    choose = random.Random(seed)
    for _ in range(100):
        lines, satellites = random_machine(choose), choose.randint(1, 12)
        check(dealing.read_machine(lines), satellites, "\n".join(lines))


def check(cores, satellites, told):
    dealt = dealing.deal(cores, satellites, {}, MIX)
    every = {cpu for core in cores for cpu in core.cpus}
    assert set(dealt) == {"MASTER_CPUS", "LOG_CPUS", "GATE_CPUS"} | {f"SATELLITE_{n}_CPUS" for n in range(1, satellites + 1)}
    if len(every) < len(dealt):
        assert all(cpus == every for cpus in dealt.values()), told
        return
    assert set().union(*dealt.values()) == every, told
    assert not any(one & other for one, other in itertools.combinations(dealt.values(), 2)), told
    of = {cpu: core for core in cores for cpu in core.cpus}
    if len(cores) >= len(dealt):
        assert all(cpus >= set(of[cpu].cpus) for cpus in dealt.values() for cpu in cpus), f"threads of a core are separated\n{told}"
    fixed = [cpus for name, cpus in dealt.items() if name == "MASTER_CPUS" or name.startswith("SATELLITE")]
    assert all(len({of[cpu].node for cpu in cpus}) == 1 for cpus in fixed), told
    sizes = {len({of[cpu] for cpu in cpus}) for name, cpus in dealt.items() if name.startswith("SATELLITE")}
    if len(cores) >= len(dealt):
        assert len(sizes) == 1, told
        if max(sizes) <= max(map(len, dealing.caches(cores))):
            kept = [cpus for name, cpus in dealt.items() if name.startswith("SATELLITE")]
            assert all(len({of[cpu].cache for cpu in cpus}) == 1 for cpus in kept), told


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
