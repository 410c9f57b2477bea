"""Made-up machines, as lscpu describes them.

In: a machine's shape. Out: lines of `lscpu -p=CPU,CORE,SOCKET,NODE,CACHE`, the first of which names the columns. The second threads of all cores are numbered behind the
first ones, as Linux does on x86.
"""

REAL = {
    "2 cores": ((1, 1, 2), 2),
    "one socket of 8 cores, 2 threads each": ((1, 1, 8, 2), 2),
    "two sockets of 32 cores": ((2, 1, 32), 2),
    "two sockets of 32 cores, 2 threads each": ((2, 1, 32, 2), 8),
    "four sockets of 24 cores, 2 threads each": ((4, 1, 24, 2), 6),
    "EPYC, 64 cores, an L3 for each 8, one node": ((1, 8, 8, 2), 8),
    "EPYC, two sockets of 64 cores, a node each": ((2, 8, 8, 2), 8),
    "EPYC, two sockets of 64 cores, four nodes each": ((8, 2, 8, 2), 8),
    "eight sockets of 16 cores, 2 threads each": ((8, 1, 16, 2), 10),
    "ARM, two sockets of 64 cores": ((2, 1, 64), 4),
    "one satellite on two sockets of 16 cores": ((2, 1, 16), 1),
    "six cores and eight more with one thread": ((1, 1, 6, 2, 8), 3),
    "four sockets of 16 cores, the second without memory": ((4, 1, 16), 3),
    "holes in the numbering: nodes 0, 8 and 16, every fifth core offline": ((3, 1, 20, 2, 0, 8, 5), 4),
    "eight sockets of 128 cores": ((8, 1, 128), 8),
}
# The nodes that have none.
WITHOUT_MEMORY = {"four sockets of 16 cores, the second without memory": {1}}


COLUMNS = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3"


def machine(nodes, caches, cores, threads=1, single=0, step=1, offline=0):
    """nodes of so many caches of so many cores; single: so many cores more, of one thread, on the first node; step: from a node's number to the
    next one's; offline: every so many cores one."""
    count = nodes * caches * cores
    lines = [COLUMNS] + [
        line(thread * count + core, core, core // (caches * cores) * step, core // cores)
        for thread in range(threads)
        for core in range(count)
        if not offline or core % offline != offline - 1
    ]
    return lines + [line(threads * count + extra, count + extra, 0, 0) for extra in range(single)]


def line(cpu, core, node, cache):
    return f"{cpu},{core},{node},{node},,{core},{core},{core},{cache}"


def random_machine(choose):
    """Nodes, caches and cores of any number, cores that are offline, and one or two threads."""
    lines, cpu, core, cache = [], 0, 0, 0
    for node in sorted(choose.sample(range(12), choose.randint(1, 8))):
        for _ in range(choose.randint(1, 4)):
            cache += 1
            for _ in range(choose.randint(1, 16)):
                core += 1
                for _ in range(choose.choice((1, 2, 2))):
                    lines.append(line(cpu, core, node, cache))
                    cpu += 1
    kept = [each for each in lines if choose.random() < 0.9] or lines[:1]
    return [COLUMNS, *choose.choice((lines, kept, [each.rsplit(",", 4)[0] + ",,,," for each in lines]))]
