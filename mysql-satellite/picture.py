#!/usr/bin/env python3
"""Draws the machine: node by node, who runs on which core, with what memory, and what is free.

usage: picture.py SATELLITES < MACHINE          a line for each server: its cores, and who shares some of them; then the picture
       picture.py --nodes SATELLITES < MACHINE  lines SERVER=node: whose memory is to come from one node alone
       picture.py --json SATELLITES < MACHINE   the same picture for the status page

In:  every core of the machine as `lscpu -p=CPU,CORE,SOCKET,NODE,CACHE` prints them; in the environment MASTER_CPUS, LOG_CPUS, GATE_CPUS,
     SATELLITE_n_CPUS, and with _MEMORY the limits of these in bytes; DEALT, the cores that could be dealt; NODES_DIR, where the system
     tells of its nodes.
Out: on stdout, for people; or for the layout.
Must never: bind memory to a node that has less of it than all its servers may take, or a server whose cores are on several nodes.
"""

import json
import os
import pathlib
import re
import sys

import dealing

SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyz"
OTHERS = "+"


def main():
    lines, satellites = list(sys.stdin), int(sys.argv[-1])
    cores, servers = dealing.read_machine(lines), read_servers(satellites)
    memory = {node: node_memory(node) for node in {core.node for core in cores}}
    if sys.argv[1] == "--nodes":
        for name, node in bound(servers, cores, memory).items():
            print(f"{name}={node}")
        return
    dealt = dealing.expanded(os.environ["DEALT"])
    if sys.argv[1] == "--json":
        print(json.dumps(told(cores, servers, memory, dealt), separators=(",", ":")))
        return
    print(table(servers, cores), end="")
    print(drawn(cores, servers, memory, dealt), end="")


def read_servers(satellites):
    """{name: (symbol, set of cpus, bytes)}"""
    names = {"master": ("MASTER", "M"), "log and capture": ("LOG", "L"), "gate": ("GATE", "G")}
    for number in range(1, satellites + 1):
        names[f"satellite-{number}"] = (f"SATELLITE_{number}", SYMBOLS[number - 1] if number <= len(SYMBOLS) else OTHERS)
    return {
        name: (symbol, dealing.expanded(os.environ[f"{setting}_CPUS"]), int(os.environ[f"{setting}_MEMORY"]))
        for name, (setting, symbol) in names.items()
    }


def node_memory(node):
    """In bytes; 0: it has none, or nobody knows."""
    folder = pathlib.Path(os.environ.get("NODES_DIR", "/sys/devices/system/node"))
    try:
        found = re.search(r"MemTotal:\s+(\d+) kB", (folder / f"node{node}" / "meminfo").read_text())
        return int(found[1]) << 10
    except (OSError, TypeError):
        return 0


def homes(servers, cores):
    """{name: set of nodes}"""
    node_of = {cpu: core.node for core in cores for cpu in core.cpus}
    return {name: {node_of[cpu] for cpu in cpus if cpu in node_of} for name, (_, cpus, _) in servers.items()}


def bound(servers, cores, memory):
    """{service: node}. Master and satellites: the others need little, and may be on several nodes."""
    # With one node that has memory, all comes from there anyway; a container bound to it looks like one that is not.
    if sum(map(bool, memory.values())) < 2:
        return {}
    at = homes(servers, cores)
    taken = taken_of(servers, at, memory)
    fits = {node for node, size in memory.items() if size and taken[node] <= size}
    return {
        name: min(nodes)
        for name, nodes in at.items()
        if len(nodes) == 1 and nodes <= fits and (name == "master" or name.startswith("satellite-"))
    }


def taken_of(servers, at, memory):
    """{node: bytes}: what the servers on it may take; of one on several nodes each has a part."""
    return {node: sum(size // len(at[name]) for name, (_, _, size) in servers.items() if node in at[name]) for node in memory}


def told(cores, servers, memory, dealt):
    """Sizes in bytes, 0: not known; cache -1: not known; who: places in the list of servers."""
    at = homes(servers, cores)
    taken = taken_of(servers, at, memory)
    who = {cpu: [] for core in cores for cpu in core.cpus}
    for place, (_, cpus, _) in enumerate(servers.values()):
        for cpu in cpus & who.keys():
            who[cpu].append(place)

    def of_core(core):
        ours = {"who": sorted({place for cpu in core.cpus for place in who[cpu]})}
        return {"cpus": dealing.joined(core.cpus)} | ours | ({} if dealt & set(core.cpus) else {"left_out": True})

    return {
        "servers": [{"name": name, "cpus": dealing.joined(cpus), "memory": size} for name, (_, cpus, size) in servers.items()],
        "nodes": [
            {
                "node": node[0].node,
                "memory": memory[node[0].node],
                "taken": taken[node[0].node],
                "caches": [{"cache": cache[0].cache, "cores": [of_core(core) for core in cache]} for cache in dealing.caches(node)],
            }
            for node in dealing.nodes(cores)
        ],
    }


def table(servers, cores):
    """Who has which cores, on a machine with several nodes of which node, and with whom."""
    at, several = homes(servers, cores), len(dealing.nodes(cores)) > 1
    lines = []
    for name, (_, cpus, _) in servers.items():
        others = ", ".join(other for other, (_, theirs, _) in servers.items() if other != name and cpus & theirs)
        node = f"node {dealing.joined(at[name])} " if several else ""
        lines.append(f"  {name:<16} cores {dealing.joined(cpus):<12} {node}{f'shared with {others}' if others else ''}".rstrip())
    return "\n".join(lines) + "\n"


def drawn(cores, servers, memory, dealt):
    at = homes(servers, cores)
    taken = taken_of(servers, at, memory)
    who = {cpu: "" for core in cores for cpu in core.cpus}
    for symbol, cpus, _ in servers.values():
        for cpu in cpus & who.keys():
            who[cpu] += symbol
    lines = [f"who runs where ({legend(servers)}):"]
    for node in dealing.nodes(cores):
        number = node[0].node
        lines.append(f"  node {number}: {len(node)} cores, {gib(memory[number]) if memory[number] else 'memory unknown, or none'}")
        for cache in dealing.caches(node):
            cpus = dealing.joined(dealing.cpus_of(cache))
            label = f"L3 {cache[0].cache}, cores {cpus}" if cache[0].cache >= 0 else f"cores {cpus}"
            lines.append(f"    {label}: {row(cache, who)}")
        names = [name for name in servers if number in at[name]]
        each = ", ".join(f"{name} {gib(servers[name][2])}{' (in part)' if len(at[name]) > 1 else ''}" for name in names)
        if each:
            lines.append(f"    memory: {each}; {rest(memory[number], taken[number])}")
    idle = {cpu for cpu, symbols in who.items() if not symbols}
    for cpus, why in (
        (idle - dealt, "left out by machine.cpus, or not for us"),
        (idle & dealt, "no server on their node can use them; one more satellite could"),
    ):
        if cpus:
            lines.append(f"  free: cores {dealing.joined(cpus)} ({why})")
    return "\n".join(lines) + "\n"


def legend(servers):
    satellites = len(servers) - 3
    numbers = "1: satellite-1" if satellites == 1 else f"1 to {SYMBOLS[min(satellites, len(SYMBOLS)) - 1]}: satellites"
    more = f", {OTHERS}: more of them" if satellites > len(SYMBOLS) else ""
    return f"M: master, L: log and capture, G: gate, {numbers} with their appliers{more}, .: nobody"


def row(cores, who):
    """A letter for each core; a word where one of them has several servers."""
    cells = ["".join(dict.fromkeys("".join(who[cpu] for cpu in core.cpus))) or "." for core in cores]
    return (" " if max(map(len, cells)) > 1 else "").join(cells)


def rest(size, taken):
    if not size:
        return f"together {gib(taken)}"
    if taken > size:
        return f"together {gib(taken)}, MORE THAN THE NODE HAS: what does not fit comes from other nodes"
    return f"{gib(size - taken)} free for the page cache and all else"


def gib(size):
    return f"{size / (1 << 30):.3g} GiB"


if __name__ == "__main__":
    main()
