"""The loads, which run all the time, and what they tell.

In:  lines of changes.lua. Out: statements, errors. Must never: hand out a window that is not complete.
"""

import time

from sysbench import HERE, Background

STALL_SECONDS = 120


class Load(Background):
    """One sysbench at a fixed rate: statements (when due, how many ms after that answered), errors (when, message)."""

    def __init__(self, command, threads):
        self.statements, self.errors = [], []
        self._told = dict.fromkeys(map(str, range(threads)), 0.0)
        super().__init__(command)

    def take(self, line):
        what, *words = line.rstrip("\n").split(" ", 2)
        if what not in ("s", "e", "t") or len(words) != 2:
            return False
        if what == "s":
            self.statements.append((float(words[0]), float(words[1])))
        elif what == "e":
            self.errors.append((float(words[0]), words[1]))
        else:
            self._told[words[0]] = float(words[1])
        return True

    def await_told(self, until):
        """Returns when all that was due before has been answered, and told."""
        end = time.monotonic() + STALL_SECONDS
        while min(self._told.values()) < until:
            self.lasts()
            if time.monotonic() > end:
                raise OSError(f"a load has stalled for {STALL_SECONDS} s")
            time.sleep(0.05)


def start(sysbench, settings, kind):
    """kind: read or write."""
    rate, connections = {
        "read": (settings.read_rate, settings.read_connections),
        "write": (settings.write_rate, settings.write_connections),
    }[kind]
    session = f"SET @multimed_consistency = '{settings.level}'" if kind == "read" else ""
    options = (
        f"--mysql-port={settings.gate_port}",
        f"--tables={settings.tables}",
        f"--table-size={settings.rows}",
        f"--ranges={settings.ranges}",
        f"--kind={kind}",
        f"--rate-of-all={rate}",
        f"--threads={connections}",
        f"--session-sql={session}",
        "--db-ps-mode=disable",
        "--mysql-ignore-errors=",
        "--events=0",
        "--time=0",
        "run",
    )
    return Load(sysbench.command(HERE / "changes.lua", "127.0.0.1", *options), connections)
