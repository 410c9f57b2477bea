"""Which cells are measured, by whom, for how long, and in which order. Pure.

A cell is a load under which all contenders are compared: workload, protocol, connections, and whether the master is written to
meanwhile; then whether the tables that are read are those that are written, or quiet ones of the same schema.
"""

from dataclasses import dataclass

HEAD_CONNECTIONS = 8  # the last line is about point selects on so many
WARM_UP_SECONDS = 1
START_SECONDS = 0.7  # of sysbench, and what is asked around it; guessed, for the estimate alone
LOGINS_PER_SECOND = 400  # the same
WRITE_START_SECONDS = 3  # the same: the load under writes is started and followed to its end
PEERS = ("proxysql", "proxysql-socket", "router")
THROUGH_GATE = ("eventual", "session", "strong")
OWN_WRITE = (*THROUGH_GATE, "master")
ONLY_OWN_WRITE = {"session", "master"}
QUIET = {"eventual", "strong"}


@dataclass(frozen=True)
class Cell:
    workload: str
    mode: str
    connections: int
    size: int = 0
    writes: bool = False
    quiet: bool = False

    @property
    def is_head(self):
        return self.workload == "point-select" and self.connections == HEAD_CONNECTIONS


def cells(settings):
    """All cells, in the order in which they are printed. Those without writes come first."""
    found = []
    for mode in settings.modes:
        if "point-select" in settings.workloads:
            found += [Cell("point-select", mode, connections) for connections in settings.connections]
    for mode in settings.modes:
        if "read-only" in settings.workloads:
            found += [Cell("read-only", mode, connections) for connections in settings.side_connections]
    for mode in settings.modes:
        if "result" in settings.workloads:
            found += [Cell("result", mode, connections, size) for size in settings.sizes for connections in settings.side_connections]
    if "long-text" in settings.workloads:
        found += [Cell("long-text", "text", connections, size) for size in settings.texts for connections in settings.side_connections]
    if "own-write" in settings.workloads:
        found.append(Cell("own-write", "text", 1))
    if settings.write_rate and "point-select" in settings.workloads:
        found += [
            Cell("point-select", mode, connections, writes=True) for mode in settings.modes for connections in settings.write_connections
        ]
        found += [
            Cell("point-select", mode, connections, writes=True, quiet=True)
            for mode in settings.modes
            for connections in settings.quiet_connections
        ]
    return found


def contenders_of(cell, present):
    """Who is measured there, of those that are present. What a level costs is the same whatever the size of a text or
    result, so these go through the gate at one level; a write load says nothing about a proxy that promises nothing. Who writes must reach the master."""
    if cell.workload == "own-write":
        return [name for name in present if name in OWN_WRITE]
    if cell.quiet:
        return [name for name in present if name in QUIET]
    left_out = {"strong"} if cell.size else set(PEERS) if cell.writes else set()
    return [name for name in present if name not in left_out | ONLY_OWN_WRITE]


def seconds_of(cell, settings):
    return settings.seconds if cell.is_head else settings.side_seconds


def turn(names, number):
    """The same names, beginning with another one each time."""
    start = number % len(names) if names else 0
    return names[start:] + names[:start]


def schedule(settings, present):
    """(round, cell, contender) in the order of measuring: contenders of a cell one after the other, begun by another one each time."""
    return [
        (number, cell, contender)
        for number in range(settings.rounds)
        for index, cell in enumerate(cells(settings))
        for contender in turn(contenders_of(cell, present), number + index)
    ]


def estimate(settings, present):
    """Seconds that the schedule takes, about."""
    return sum(
        seconds_of(cell, settings)
        + WARM_UP_SECONDS
        + START_SECONDS
        + cell.connections / LOGINS_PER_SECOND
        + (WRITE_START_SECONDS if cell.writes else 0)
        for _, cell, _ in schedule(settings, present)
    ) + settings.rounds * bool(settings.stream_rate) * (settings.stream_seconds + WRITE_START_SECONDS)
