"""CPU time and memory of one process, as the host's kernel counts them: a server itself, without its container's health checks.

In:  a process number of the host. Out: seconds, MiB, the process of a container that does its work.
"""

import contextlib
import os
import pathlib
import re

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds_of(stat):
    """User and system time from the text of /proc/…/stat; the command in it may hold spaces and parentheses."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mib_of(status):
    """From the text of /proc/…/status."""
    return int(re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)[1]) / 1024


def cpu_seconds(process):
    return cpu_seconds_of(pathlib.Path(f"/proc/{process}/stat").read_text())


def resident_mib(process):
    return resident_mib_of(pathlib.Path(f"/proc/{process}/status").read_text())


def tree(process):
    """A process and all that it started, as they are now; who ends meanwhile is left out."""
    found = [process]
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                found += tree(int(child))
        except FileNotFoundError:
            continue
    return found


def busiest(process):
    """Of a process and all that it started, the one that has worked most: a container's server, whoever supervises it."""
    worked = {}
    for each in tree(process):
        with contextlib.suppress(FileNotFoundError):
            worked[each] = cpu_seconds(each)
    return max(worked, key=worked.get)


def cores_in(cpuset):
    """The numbers of the cores that a list like 0-2,5 names."""
    found = set()
    for part in filter(None, cpuset.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
