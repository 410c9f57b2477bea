"""The loads, which run all the time, and what they tell.

In:  lines of changes.lua. Out: statements, errors. Must never: hand out a window that is not complete.
"""

import subprocess
import threading
import time

from sysbench import HERE

STALL_SECONDS = 120


class Load:
    """One sysbench at a fixed rate; as a context it ends with it."""

    def __init__(self, command, threads):
        self.statements, self.errors = [], []
        self._said, self._told = [], dict.fromkeys(map(str, range(threads)), 0.0)
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.take(line)

    def take(self, line):
        what, *words = line.rstrip("\n").split(" ", 2)
        if what == "s" and len(words) == 2:
            self.statements.append((float(words[0]), float(words[1])))
        elif what == "e" and len(words) == 2:
            self.errors.append((float(words[0]), words[1]))
        elif what == "t" and len(words) == 2:
            self._told[words[0]] = float(words[1])
        else:
            self._said = [*self._said[-20:], line]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def await_told(self, until):
        """Returns when all that was due before has been answered, and told."""
        end = time.monotonic() + STALL_SECONDS
        while min(self._told.values()) < until:
            if self._process.poll() is not None:
                raise OSError(f"a load has ended early:\n{''.join(self._said)}")
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
