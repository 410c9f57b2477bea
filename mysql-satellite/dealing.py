#!/usr/bin/env python3
"""Deals the cores of a machine to the servers of a stack.

usage: dealing.py SATELLITES < MACHINE

In:  the cores that may be dealt as `lscpu -p=CPU,CORE,SOCKET,NODE,CACHE` prints them, with its line of columns; in the environment MASTER_CPUS, LOG_CPUS,
     GATE_CPUS and SATELLITE_n_CPUS, of which those that are not empty are the operator's own and are left alone; and the mix, under the
     names that multimed.schema.json has for it.
Out: a line NAME=cores for each of these that was empty, like SATELLITE_1_CPUS=0-3,64-67. All cores are dealt.
Must never: put a satellite or the master on two NUMA nodes, or a satellite on two L3 caches if it would fit into one; separate the
two threads of a core as long as there is a core for each server; give a core to two servers unless there are fewer cores than servers.

Of the layouts that keep to this it takes the one that gets the most done under the mix: none of the servers is full before the
others are. Satellites are all of one size.
"""

import os
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Core:
    """One core, or one thread of it where there are not enough cores. cache: what shares an L3."""

    node: int
    cache: int
    cpus: tuple


@dataclass(frozen=True)
class Needs:
    """In milliseconds of CPU, of each server; 0: it gets nothing from us. satellite: of one of so many."""

    master: float
    log: float
    gate: float
    satellite: float
    satellites: int


@dataclass(frozen=True)
class Mix:
    """Amounts of each, and the CPU that each takes, in milliseconds; multimed.schema.json says more."""

    reads: float
    writes: float
    light: float
    heavy: float
    light_read_ms: float
    heavy_read_ms: float
    write_ms: float
    question_ms: float
    gate_ms: float
    log_ms: float
    apply_ms: float

    @classmethod
    def of(cls, environment):
        return cls(**{field.name: float(environment[f"MIX_{field.name.upper()}"]) for field in fields(cls)})

    def read_ms(self):
        return (self.light * self.light_read_ms + self.heavy * self.heavy_read_ms) / ((self.light + self.heavy) or 1)

    def needs(self, satellites, whole, master=True, log=True, gate=True):
        """Of the satellites out of `whole` that are ours to place, and of the others if they are. None needs nothing at all."""
        least = 1e-6
        return Needs(
            master * (self.writes * self.write_ms + self.reads * self.question_ms + least),
            log * (self.writes * self.log_ms + least),
            gate * ((self.reads + self.writes) * self.gate_ms + least),
            self.reads * self.read_ms() / whole + self.writes * self.apply_ms + least,
            satellites,
        )


# --- the machine ------------------------------------------------------------------------------------------------------


def read_machine(lines):
    """[Core]: node by node, cache by cache. Columns that the machine does not know are empty; which are there, the comment before them says."""
    threads, names = defaultdict(list), []
    for line in lines:
        # Between caches stands a colon, or (util-linux 2.37 and 2.38) a comma.
        cells = re.split("[,:]", line.strip().lstrip("# "))
        if line.startswith("#"):
            names = cells if cells[0] == "CPU" else names
        elif line.strip():
            cpu, core, socket, node, *caches = cells + [""] * (4 - len(cells))
            cache = dict(zip(names[::-1], caches[::-1], strict=False)).get("L3", "")
            key = (int(node or 0), int(cache) if cache.isdigit() else -1, int(socket or 0), int(core or cpu))
            threads[key].append(int(cpu))
    return [Core(node, cache, tuple(sorted(cpus))) for (node, cache, _, _), cpus in sorted(threads.items())]


def split(cores):
    return [Core(core.node, core.cache, (cpu,)) for core in cores for cpu in core.cpus]


def without(cores, taken):
    left = (Core(core.node, core.cache, tuple(cpu for cpu in core.cpus if cpu not in taken)) for core in cores)
    return [core for core in left if core.cpus]


def parts(cores, key):
    found = defaultdict(list)
    for core in cores:
        found[key(core)].append(core)
    return list(found.values())


def nodes(cores):
    return parts(cores, lambda core: core.node)


def caches(cores):
    return parts(cores, lambda core: (core.node, core.cache))


# --- a layout ---------------------------------------------------------------------------------------------------------


def best(cores, need):
    """{"master": [Core], "log": …, "gate": …, "satellites": [[Core], …]} that gets the most done; None if there are not enough cores."""
    by_node, by_cache = nodes(cores), caches(cores)
    # The master's nodes; of those that are alike, one.
    homes = {tuple(map(len, caches(node))): node[0].node for node in by_node}.values()
    most = min(max(map(len, by_node)), len(cores) // need.satellites) if need.satellites else 0
    # A satellite that fits into a cache stays in one.
    fits = max(map(len, by_cache))
    sizes = range(bool(need.satellites), most + 1)
    found = (place(by_cache if size <= fits else by_node, need, size, home) for size in sizes for home in homes)
    return max((layout for layout in found if layout), key=lambda layout: done(layout, need), default=None)


def done(layout, need):
    """How much, by the server that is full first; then, by how evenly."""
    rates = [len(layout[name]) / getattr(need, name) for name in ("master", "log", "gate") if getattr(need, name)]
    rates += [len(satellite) / need.satellite for satellite in layout["satellites"]]
    return min(rates), -max(rates)


def place(parts_of_machine, need, size, home):
    """The layout with satellites of that size, each in one part, and the master on the node `home`; None if there is none."""
    satellites, rest = [], []
    # First where the least is left over, the master's node last.
    for part in sorted(parts_of_machine, key=lambda part: (part[0].node == home, len(part) % max(1, size))):
        count = min(need.satellites - len(satellites), len(part) // size) if size else 0
        satellites += [part[i * size : (i + 1) * size] for i in range(count)]
        rest += part[count * size :]
    if len(satellites) < need.satellites:
        return None
    others = share_out(rest, need, home)
    return others and {"satellites": satellites, **others}


def share_out(rest, need, home):
    """What satellites left: the master gets its share, or all there is on its node; log and gate get all else."""
    beside = [core for core in rest if core.node == home]
    elsewhere = [core for core in rest if core.node != home]
    small = bool(need.log) + bool(need.gate)
    if not small:
        return {"master": beside or elsewhere, "log": [], "gate": []} if rest else None
    share = round(len(rest) * need.master / (need.master + need.log + need.gate))
    share = min(max(share, bool(need.master)), len(beside), len(rest) - small)
    if share < bool(need.master) or len(rest) - share < small:
        return None
    master, free = beside[:share], beside[share:] + elsewhere
    count = max(bool(need.log), min(round(len(free) * need.log / (need.log + need.gate)), len(free) - bool(need.gate)))
    log = together(free, count)
    gone = set(log)
    return {"master": master, "log": log, "gate": [core for core in free if core not in gone]}


def together(free, count):
    """So many of them, on one node if there is one with as many."""
    by_size = sorted(nodes(free), key=len)
    part = next((part for part in by_size if len(part) >= count), None)
    return part[-count:] if part and count else [core for part in by_size[::-1] for core in part][:count]


# --- the servers ------------------------------------------------------------------------------------------------------


def deal(cores, satellites, own, mix):
    """{NAME: set of cpus} for the names that are not in own: {NAME: set of cpus}. satellites: how many there are in all."""
    names = [f"SATELLITE_{number}_CPUS" for number in range(1, satellites + 1)]
    names = [name for name in names if name not in own]
    kinds = {kind: f"{kind.upper()}_CPUS" for kind in ("master", "log", "gate") if f"{kind.upper()}_CPUS" not in own}
    if not names and not kinds:
        return {}
    need = mix.needs(len(names), satellites, **{kind: kind in kinds for kind in ("master", "log", "gate")})
    free = without(cores, set().union(*own.values())) or cores
    layout = best(free, need) or best(split(free), need)
    if layout is None:
        # On one core each, some would idle while others queue (TPC-W browsing on two cores: the master's core idled to two thirds,
        # and half as much was done).
        return {name: set(cpus_of(free)) for name in (*kinds.values(), *names)}
    dealt = {kinds[kind]: layout[kind] for kind in kinds} | dict(zip(names, layout["satellites"], strict=True))
    return {name: set(cpus_of(some)) for name, some in dealt.items()}


def cpus_of(cores):
    return (cpu for core in cores for cpu in core.cpus)


def joined(cpus):
    """{0, 1, 2, 5} -> 0-2,5"""
    runs = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def expanded(text):
    """0-2,5 -> {0, 1, 2, 5}"""
    ends = (part.partition("-") for part in text.split(","))
    return {cpu for first, _, last in ends for cpu in range(int(first), int(last or first) + 1)}


def main():
    cores, satellites = read_machine(sys.stdin), int(sys.argv[1])
    names = ["MASTER_CPUS", "LOG_CPUS", "GATE_CPUS", *(f"SATELLITE_{number}_CPUS" for number in range(1, satellites + 1))]
    own = {name: expanded(os.environ[name]) for name in names if os.environ.get(name)}
    for name, cpus in deal(cores, satellites, own, Mix.of(os.environ)).items():
        print(f"{name}={joined(cpus)}")


if __name__ == "__main__":
    main()
