"""The cores that satellite-1 may use, and how many statements the gate lets run there at once, changed for a measurement.

In:  the running stack. Out: both as they were, however the measurement ends.
Must never: leave a quota or a limit behind.
"""

import contextlib
import json
import math
import os
import subprocess
import urllib.request

import process
from stack import HTTP_SECONDS

SATELLITE = "satellite-1"
PERIOD_US = 100_000
HUNDREDTHS = 100  # cores are given in hundredths


def core_list(own, machine, hundredths):
    """As many whole cores as are needed: its own, then others of the machine; None: there are not so many."""
    cores = own + [core for core in machine if core not in own]
    needed = math.ceil(hundredths / HUNDREDTHS)
    return ",".join(map(str, sorted(cores[:needed]))) if needed <= len(cores) else None


def quota(hundredths):
    """Microseconds of CPU a period; -1: no quota, where whole cores are meant."""
    return hundredths * PERIOD_US // HUNDREDTHS if hundredths % HUNDREDTHS else -1


class Satellite:
    def __init__(self, stack):
        self._stack = stack
        self._container = stack.ids[SATELLITE]
        self._own = stack.docker.inspect(self._container)["HostConfig"]["CpusetCpus"]
        self._machine = sorted(os.sched_getaffinity(0))

    def has_cores(self, hundredths):
        return self._cores(hundredths) is not None

    def set_cores(self, hundredths):
        self._update(self._cores(hundredths), quota(hundredths))

    @contextlib.contextmanager
    def changed(self):
        """Within this, cores and limit may be set at will."""
        before = self._limits()
        try:
            yield self
        finally:
            try:
                self.limit(None if before["auto"] else before["running"])
            finally:
                self._update(self._own or ",".join(map(str, self._machine)), -1)

    def limit(self, number):
        """Statements at once; None: the gate finds the number."""
        wanted = f"running={'auto' if number is None else number}"
        command = ("docker", "exec", self._stack.ids["gate"], "gtid-gate", "limit", SATELLITE, wanted)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def _limits(self):
        with urllib.request.urlopen(f"http://{self._stack.address('gate')}:8080/servers", timeout=HTTP_SECONDS) as answer:
            return next(server["limits"] for server in json.load(answer) if server["name"] == SATELLITE)

    def _cores(self, hundredths):
        own = sorted(process.cores_in(self._own))
        return core_list(own, self._machine, hundredths)

    def _update(self, cores, quota_us):
        options = ("--cpuset-cpus", cores, "--cpu-period", str(PERIOD_US), "--cpu-quota", str(quota_us))
        subprocess.run(("docker", "update", *options, self._container), check=True, stdout=subprocess.DEVNULL)
