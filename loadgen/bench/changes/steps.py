"""The changes that are measured, one after the other. Pure.

In:  the settings, the machine's cores. Out: commands and what is wanted of them; a multimed.yml that asks for new satellites.
Must never: change what only a new container can have, but in `renew`.
"""

import re
from dataclasses import dataclass

from changes.settings import MASTER_MEMORY, MORE, POOL

SERVED_S_PER_GIB = 30
GONE_S = 5
P99_RATIO = 1.3
WORST_SECOND = 0.7


@dataclass(frozen=True)
class Step:
    """commands: arguments of make. wanted: {figure: (most or least, how much)}. joins: the satellite whose first read is waited for."""

    name: str
    commands: tuple
    wanted: tuple = ()
    joins: str = ""
    edits: bool = False


def steps(settings, cores):
    """Those that are asked for, in order. cores: numbers of the machine's cores."""
    every = ",".join(map(str, sorted(cores)))
    steady = (("worst_second", "least", WORST_SECOND),)
    sizes = settings.satellite_memory, POOL
    found = {
        "scale-3": (
            Step(
                "scale-3",
                (("scale", "SATELLITES=3"),),
                (("served_s_per_gib", "most", SERVED_S_PER_GIB), ("read_p99_ratio", "most", P99_RATIO)),
                joins="satellite-3",
            ),
        ),
        "scale-2": (Step("scale-2", (("scale", "SATELLITES=2"),), (("seconds", "most", GONE_S),)),),
        "cores": (
            Step("cores-one", (("resize", "SERVER=satellite-2", f"CPUS={max(cores)}"),), steady),
            Step("cores-all", (("resize", "SERVER=satellite-2", f"CPUS={every}"),), steady),
        ),
        "satellite-memory": (
            Step("satellite-memory-up", (resize("satellite-2", *sizes, MORE, settings.tmpfs),), steady),
            Step("satellite-memory-down", (resize("satellite-2", *sizes, 0, settings.tmpfs),), steady),
        ),
        "master-memory": (
            Step("master-memory-up", (resize("master", MASTER_MEMORY, POOL, MORE),), steady),
            Step("master-memory-down", (resize("master", MASTER_MEMORY, POOL, 0),), steady),
        ),
        "renew": (Step("renew", (("plan",), ("up",)), edits=True),),
        "rotate": (Step("rotate", (("rotate",),)),),
    }
    return [step for name in settings.steps for step in found[name]]


def resize(server, memory, pool, more, tmpfs=None):
    """tmpfs: said, so that it stays as it is; a smaller one would be another container."""
    kept = () if tmpfs is None else (f"TMPFS={tmpfs}m",)
    return ("resize", f"SERVER={server}", f"MEMORY={memory + more}m", f"BUFFER_POOL={pool + more}m", *kept)


def renewing(text):
    """The multimed.yml with less tmpfs for each satellite: a running one cannot give it back, so each is made anew."""
    changed, count = re.subn(r"\btmpfs: (\d+)m", lambda found: f"tmpfs: {int(found[1]) - 64}m", text)
    if not count:
        raise ValueError("multimed.yml: it says no tmpfs in MiB")
    return changed
