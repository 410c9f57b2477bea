"""Rounds of faults under load; and the program behind `make chaos`.

usage (by tests/run chaos): chaos_rounds.py   with MINUTES (10), SEED (random), FAULTS (comma-separated names; all)
In: the test stack. Out: one line per round; exit status 0 if every round held, 1 at the first that did not, with the stack's portrait
in .state/test/chaos.txt. Must never: go on after a broken round, or hide the seed that leads to it again.
"""

import contextlib
import os
import random
import sys
import time

from support.stack import Stack

import chaos_disk
import chaos_faults  # noqa: F401 its faults are in FAULTS
import chaos_people  # noqa: F401 its faults too
from chaos_judge import Broken, Judge
from chaos_load import ChaosLoad
from chaos_registry import FAULTS
from consistency_run import Run, build


def possible_faults(wanted=None):
    """Those named, or all; what this machine cannot do is left out, with a word about it."""
    unknown = set(wanted or ()) - set(FAULTS)
    assert not unknown, f"no such fault: {sorted(unknown)}; there are {sorted(FAULTS)}"
    names = list(wanted or FAULTS)
    if "fill Kafka's disk" in names and not chaos_disk.possible():
        print("left out: fill Kafka's disk (needs root, mkfs.ext4 and a loop device)", flush=True)
        names.remove("fill Kafka's disk")
    return [FAULTS[name] for name in names]


def schedule(faults, choose):
    """Every fault once in random order, then again in another."""
    while True:
        order = list(faults)
        choose.shuffle(order)
        yield from order


# The checker's part of the load: readers of each level, alone and beside another on one connection.
CHECKER = {
    "levels": "strong,session,bounded:100,eventual",
    "writers": 4,
    "readers": 8,
    "rate": 20,
    "checks": 1,
    "duration": "1s",
    "limit": "1h",
}


class Rounds:
    """The load runs for as long as the context lasts; in each round clients read at all levels, and what they saw is judged."""

    def __init__(self, stack, seed, say=print):
        self.stack, self.say = stack, say
        self.choose = random.Random(seed)
        self.load = ChaosLoad(stack)
        self.judge = Judge(stack, self.load)
        self.number = 0

    def __enter__(self):
        self.checker = build(self.stack.state)
        self.stack.await_satellites(90)
        self.load.__enter__()
        return self

    def __exit__(self, *exception):
        self.load.__exit__(*exception)

    def round(self, fault):
        self.number += 1
        self.load.await_commits(10)
        with self._checked() as checker:
            self.judge.begin()
            what = self._disturb(fault)
            seconds = self.judge.settle(fault.bound_s)
            self.judge.reads(checker)
        self.judge.right()
        rebuilds = self.judge.rebuilds(fault.rebuilds)
        self.say(f"round {self.number:<3} {fault.name:<40} {seconds:5.1f} s of {fault.bound_s:>3}  rebuilds {rebuilds}  {what}")
        return seconds

    @contextlib.contextmanager
    def _checked(self):
        with Run(self.stack, self.checker, "chaos", seed=self.choose.randrange(1, 1 << 31), **CHECKER) as checker:
            self.load.checker = checker
            try:
                yield checker
            finally:
                self.load.checker = None

    def _disturb(self, fault):
        try:
            return fault.do(self.stack, self.load, self.choose)
        except AssertionError as error:
            raise Broken("stuck", f"during {fault.name}: {error}") from error
        finally:
            self.stack.resume_all()

    def run(self, faults, seconds, at_least=1):
        """Rounds until the time is up; returns how many."""
        end = time.monotonic() + seconds
        for fault in schedule(faults, self.choose):
            if time.monotonic() > end and self.number >= at_least:
                return self.number
            try:
                self.round(fault)
            except Broken as broken:
                self.say(f"round {self.number:<3} {fault.name:<40} BROKEN {broken}")
                raise


def main():
    minutes, seed = float(os.environ.get("MINUTES") or 10), int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 31))
    wanted = [name.strip() for name in os.environ.get("FAULTS", "").split(",") if name.strip()]
    print(f"chaos: {minutes:g} minutes, SEED={seed}", flush=True)
    stack = Stack()
    stack.up()
    try:
        with Rounds(stack, seed, lambda line: print(line, flush=True)) as rounds:
            count = rounds.run(possible_faults(wanted), 60 * minutes)
    except Broken:
        (stack.state / "chaos.txt").write_text(stack.portrait())
        print(f"chaos: broken; again with SEED={seed}; the stack at that moment: .state/test/chaos.txt", flush=True)
        return 1
    print(f"chaos: {count} rounds held, SEED={seed}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
