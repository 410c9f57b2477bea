"""What a fault is, and all that there are.

In: functions that are faults (chaos_faults.py, chaos_people.py). Out: FAULTS by name. Must never: have two of one name.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from support.wait import wait_for

COMMITS = 20


@dataclass(frozen=True)
class Fault:
    """do(stack, load, choose) -> what exactly it did. bound_s: from its end until all serve and have everything.
    rebuilds: none (continues where it was), some (can only clone again), any."""

    name: str
    bound_s: int
    rebuilds: str
    do: Callable


FAULTS = {}


def fault(name, bound_s, rebuilds="none"):
    assert name not in FAULTS, name

    def keep(do):
        FAULTS[name] = Fault(name, bound_s, rebuilds, do)
        return do

    return keep


def hold(seconds):
    """The length of a fault; nothing is waited for."""
    threading.Event().wait(seconds)


def caught_up(stack, deadline_s):
    target = stack.gtid("master")
    for service in stack.satellites:
        wait_for(lambda s=service: stack.contains(s, target), deadline_s, f"{service} to contain {target}")
