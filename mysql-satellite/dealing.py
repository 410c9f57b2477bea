#!/usr/bin/env python3
"""Deals the cores of a machine to the servers of a stack.

usage: dealing.py SATELLITES < MACHINE

In:  the cores that may be dealt as `lscpu -p=CPU,CORE,SOCKET,NODE,CACHE` prints them, with its line of columns; in the environment
     MASTER_CPUS, LOG_CPUS, GATE_CPUS and SATELLITE_n_CPUS, of which those that are not empty are the operator's own and are left alone; the
     mix, under the names that multimed.schema.json has for it; NODES_DIR, where the system tells which nodes have memory.
Out: a line NAME=cores for each of these that was empty, like SATELLITE_1_CPUS=0-3,64-67. Only such cores are left over as are on nodes
     that have neither satellites nor the master, or none that could have them under the rules.
Must never: put a satellite or the master on two NUMA nodes, or a satellite on two L3 caches if it would fit into one; separate the
two threads of a core as long as there is a core for each server; give a core to two servers unless there are fewer cores than servers;
put the master on a node without memory, or a satellite while there is room for all of them on nodes with memory.

Of the layouts that keep to this it takes the one that gets the most done under the mix: none of the servers is full before the
others are. Log and gate get what they need of it, and a little more; what is left on a node makes its satellites and the master larger.
So satellites are of one size on a node, to a core, and as alike as can be on several.
"""

import math
import os
import pathlib
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

# Log and gate get at most so much of what they need: more than that is of no use to them.
MARGIN = 1.5
SMALL = ("log", "gate")


@dataclass
class Node:
    """One while its cores are counted out. caches: how many of them share each; home: it is the master's; sizes: of its satellites."""

    cores: list
    caches: list
    home: bool
    fits: int
    master: int = 0
    log: int = 0
    gate: int = 0
    sizes: tuple = ()

    def free(self):
        return len(self.cores) - self.master - self.log - self.gate - sum(self.sizes)

    def most(self, size):
        """How many satellites of that size."""
        count = (len(self.cores) - self.master) // size
        return min(count, sum(cache // size for cache in self.caches)) if size <= self.fits else count

    def may_have(self, sizes):
        more = sum(sizes) - sum(self.sizes)
        return more <= self.free() and packed([size for size in sizes if size <= self.fits], self.caches) is not None

    def larger(self):
        """The next sizes at which its satellites are alike; None if there is no room."""
        next_sizes = (max(self.sizes) + 1, max(*self.sizes, self.fits) + 1) if self.sizes else ()
        return next((sizes for size in next_sizes if self.may_have(sizes := (size,) * len(self.sizes))), None)


def packed(sizes, rooms):
    """Of which cache each gets its cores, from the largest size on; None if they do not fit."""
    rooms, found = list(rooms), []
    for size in sorted(sizes, reverse=True):
        roomiest = max(range(len(rooms)), key=rooms.__getitem__)
        if rooms[roomiest] < size:
            return None
        rooms[roomiest] -= size
        found.append(roomiest)
    return found


def best(cores, need, memoryless=frozenset()):
    """{"master": [Core], "log": …, "gate": …, "satellites": [[Core], …]} that gets the most done; None if there are not enough cores."""
    by_node = [(node, [len(cache) for cache in caches(node)]) for node in nodes(cores)]
    with_memory = [each for each in by_node if each[0][0].node not in memoryless]
    # The master's nodes; of those that are alike, one.
    homes = {tuple(lengths): node[0].node for node, lengths in with_memory or by_node}.values()
    # Where there is room for satellites elsewhere, none is on a node without memory.
    for usable in (with_memory, by_node) if len(with_memory) < len(by_node) else (by_node,):
        places = {node[0].node for node, _ in usable}
        found = (place(by_node, places, need, rate, home) for rate in rates(len(cores), need) for home in homes)
        if parts := max((each for each in found if each), key=lambda each: done(each, need), default=None):
            return carved(parts)
    return None


def rates(cores, need):
    """How much may get done: from what all cores together could, where nothing kept them apart, to what a core for each does."""
    servers = (need.master, need.log, need.gate, need.satellite * need.satellites)
    most = cores / (sum(servers) or 1)
    wanted = [most * 0.95**step for step in range(24)] + [1 / (max(servers) or 1)]
    # Of those that ask for the same cores, one.
    return {tuple(share(rate, each) for each in servers[:3]): rate for rate in wanted}.values()


def share(rate, need):
    return max(1, math.ceil(rate * need - 1e-9)) if need else 0


def done(parts, need):
    """How much, by the server that is full first; then, by how evenly. Reads go where there is room, but the smallest satellite is full first."""
    rates = [sum(getattr(part, name) for part in parts) / getattr(need, name) for name in ("master", *SMALL) if getattr(need, name)]
    sizes = [size for part in parts for size in part.sizes]
    if sizes:
        rates.append((sum(sizes) / len(sizes) + min(sizes)) / 2 / need.satellite)
    return min(rates, default=0), -max(rates, default=0)


def place(by_node, places, need, rate, home):
    """[Node] for that rate, with the master on the node `home` and satellites on `places`; None if there is no such layout."""
    fits = max(max(lengths) for _, lengths in by_node)
    parts = [Node(node, lengths, bool(need.master) and node[0].node == home, fits) for node, lengths in by_node]
    for part in parts:
        part.master = min(share(rate, need.master), len(part.cores)) if part.home else 0
    small = {name: share(rate, getattr(need, name)) for name in SMALL}
    left = sum(part.free() for part in parts) - sum(small.values())
    if left < need.satellites or not spread([part for part in parts if part.cores[0].node in places], need.satellites, left):
        return None
    for name in SMALL:
        put_small(parts, name, small[name])
    most = {name: share(rate * MARGIN, getattr(need, name)) for name in SMALL}
    for part in parts:
        grow(part, parts, need, most)
    return parts


def spread(parts, satellites, cores):
    """Puts satellites of one size, as large as can be, where each has the most room to grow; False if there is no room."""
    if not satellites:
        return True
    sizes = range(cores // satellites, 0, -1)
    size = next((size for size in sizes if sum(part.most(size) for part in parts) >= satellites), None)
    for _ in range(satellites if size else 0):
        able = (part for part in parts if len(part.sizes) < part.most(size))
        part = max(able, key=lambda part: ((len(part.cores) - part.master) / (len(part.sizes) + 1), not part.home))
        part.sizes += (size,)
    return bool(size)


def put_small(parts, name, count):
    """On one node if there is one with as many cores left; where nobody else could use them, or the most are left."""
    while count:
        part = min(
            parts, key=lambda part: (part.free() < min(count, max(map(Node.free, parts))), bool(part.sizes), part.home, -part.free())
        )
        taken = min(count, part.free())
        setattr(part, name, getattr(part, name) + taken)
        count -= taken


def grow(part, parts, need, most):
    """What is left of a node goes, core by core, to the server there that is full first. most: what log and gate can use."""
    while part.free():
        able = []
        if sizes := part.larger():
            able.append((max(part.sizes) / need.satellite, "sizes", sizes))
        if part.master:
            able.append((part.master / need.master, "master", part.master + 1))
        for name in SMALL:
            has = sum(getattr(each, name) for each in parts)
            fullness = has / (getattr(need, name) or 1)
            # Before it grows beyond what the satellites can make use of, one of them grows alone.
            if getattr(part, name) and has < most[name] and (not part.sizes or fullness < max(part.sizes) / need.satellite):
                able.append((fullness, name, getattr(part, name) + 1))
        if not able:
            break
        _, name, value = min(able, key=lambda each: each[0])
        setattr(part, name, value)
    # Too little for all satellites of the node: one of them is larger.
    while sizes := next((sizes for sizes in one_larger(part.sizes) if part.may_have(sizes)), None):
        part.sizes = sizes


def one_larger(sizes):
    for place in sorted(range(len(sizes)), key=lambda place: sizes[place]):
        yield (*sizes[:place], sizes[place] + 1, *sizes[place + 1 :])


def carved(parts):
    """The cores themselves: of each node first the satellites, then the master, gate and log."""
    layout = {"master": [], "log": [], "gate": [], "satellites": []}
    for part in parts:
        by_cache, sizes = caches(part.cores), sorted(part.sizes, reverse=True)
        small = [size for size in sizes if size <= part.fits]
        in_cache = []
        for size, cache in zip(small, packed(small, part.caches), strict=True):
            in_cache.append((cache, by_cache[cache][:size]))
            by_cache[cache] = by_cache[cache][size:]
        layout["satellites"] += [cores for _, cores in sorted(in_cache, key=lambda each: (each[0], each[1][0].cpus))]
        rest = [core for cache in by_cache for core in cache]
        for size in sizes[: len(sizes) - len(small)]:
            layout["satellites"].append(rest[:size])
            rest = rest[size:]
        layout["master"] += rest[: part.master]
        layout["gate"] += rest[part.master : part.master + part.gate]
        layout["log"] += rest[len(rest) - part.log :]
    return layout


# --- the servers ------------------------------------------------------------------------------------------------------


def deal(cores, satellites, own, mix, memoryless=frozenset()):
    """{NAME: set of cpus} for the names that are not in own: {NAME: set of cpus}. satellites: how many there are in all; memoryless: nodes."""
    names = [f"SATELLITE_{number}_CPUS" for number in range(1, satellites + 1)]
    names = [name for name in names if name not in own]
    kinds = {kind: f"{kind.upper()}_CPUS" for kind in ("master", "log", "gate") if f"{kind.upper()}_CPUS" not in own}
    if not names and not kinds:
        return {}
    need = mix.needs(len(names), satellites, **{kind: kind in kinds for kind in ("master", "log", "gate")})
    free = without(cores, set().union(*own.values())) or cores
    layout = best(free, need, memoryless) or best(split(free), need, memoryless)
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


def memoryless_nodes(cores):
    """Those of them that have no memory, as the system tells."""
    folder = pathlib.Path(os.environ.get("NODES_DIR", "/sys/devices/system/node"))
    try:
        with_memory = (folder / "has_memory").read_text().strip()
    except OSError:
        return set()
    return {core.node for core in cores} - expanded(with_memory) if with_memory else set()


def main():
    cores, satellites = read_machine(sys.stdin), int(sys.argv[1])
    names = ["MASTER_CPUS", "LOG_CPUS", "GATE_CPUS", *(f"SATELLITE_{number}_CPUS" for number in range(1, satellites + 1))]
    own = {name: expanded(os.environ[name]) for name in names if os.environ.get(name)}
    for name, cpus in deal(cores, satellites, own, Mix.of(os.environ), memoryless_nodes(cores)).items():
        print(f"{name}={joined(cpus)}")


if __name__ == "__main__":
    main()
