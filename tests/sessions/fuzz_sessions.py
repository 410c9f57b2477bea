"""make fuzz-sessions: random sessions on MySQL alone and through the gate of the test stack; ends with 1 if any two differ.

usage (by tests/run fuzz-sessions): fuzz_sessions.py   with MINUTES (5), FIRST_SEED (random), WORKERS (2); or SEED: that one only, both sides
In:  the test stack; or servers that run already (`servers.environment`). Out: differences as short scripts, one of each kind; how many
sequences ran. Must never: stop at a difference, or count a sequence that did not run.
"""

import dataclasses
import multiprocessing
import os
import queue
import random
import signal
import sys
import time
import traceback

from support.stack import Stack

import duel
import fixtures
import servers
from grammar import generate
from play import Side

WORKERS = int(os.environ.get("WORKERS") or 2)


def sides(places, worker):
    names = fixtures.Names(f"fz{worker}")
    reference = Side("MySQL", places.reference, places.reference, names, places.reference_administrator)
    gate = Side("gate", places.gate, places.master, names, places.master_administrator)
    for side in (reference, gate):
        side.build()
    return reference, gate


@dataclasses.dataclass
class Round:
    """What the workers share: seeds from `first` on, until `last` or the deadline."""

    places: servers.Places
    last: int
    deadline: float
    next: object
    played: object
    findings: multiprocessing.Queue

    def seeds(self):
        while time.time() < self.deadline:
            with self.next.get_lock():
                seed, self.next.value = self.next.value, self.next.value + 1
            if seed > self.last:
                return
            yield seed
            with self.played.get_lock():
                self.played.value += 1


def work(shared, worker):
    """Plays what it gets; puts (kind of difference, text) into the findings."""
    both, seen = sides(shared.places, worker), set()
    for seed in shared.seeds():
        try:
            found = duel.duel(*both, generate(seed, both[0].names))
            if found:
                shared.findings.put(described(both, found, seen))
        except Exception:  # a fault of the harness, or of a server, is a finding too
            shared.findings.put((f"seed {seed}", f"seed {seed}: {traceback.format_exc()}"))
            both = sides(shared.places, worker)
    for side in both:
        side.remove()


def described(both, found, seen):
    """A kind that this worker has seen is not worth the time to make it short."""
    if found.kind not in seen:
        seen.add(found.kind)
        found = duel.shortest(*both, found)
    return f"{found.field}: {found.command}", duel.script(found)


def one(places, seed):
    both = sides(places, "s")
    found = duel.duel(*both, generate(seed, both[0].names))
    if not found:
        print(f"seed {seed}: no difference")
        return 0
    print(duel.script(found), duel.side_by_side(found), "shortest:", duel.script(duel.shortest(*both, found)), sep="\n\n")
    return 1


def many(places, first, last, minutes):
    """(sequences played, texts of differences): seeds from first to last, or until the time is up. Each kind is printed once, as it comes."""
    numbers = multiprocessing.Value("q", first), multiprocessing.Value("q", 0)
    shared = Round(places, last, time.time() + minutes * 60, *numbers, multiprocessing.Queue())
    processes = [multiprocessing.Process(target=work, args=(shared, worker), daemon=True) for worker in range(WORKERS)]
    for process in processes:
        process.start()
    shown, texts = set(), []
    while any(process.is_alive() for process in processes) or not shared.findings.empty():
        try:
            kind, text = shared.findings.get(timeout=1)
        except queue.Empty:
            continue
        texts.append(text)
        if kind not in shown:
            shown.add(kind)
            print(text, "", sep="\n", flush=True)
    return shared.played.value, texts


def run(places):
    if os.environ.get("SEED"):
        return one(places, int(os.environ["SEED"]))
    first, began = int(os.environ.get("FIRST_SEED") or random.randrange(1 << 32)), time.time()
    played, differences = many(places, first, first + (1 << 32), float(os.environ.get("MINUTES") or 5))
    took = time.time() - began
    print(f"{played} sequences from seed {first} on in {took:.0f} s ({played / took:.1f} a second): {len(differences)} differences")
    return 1 if differences or not played else 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if os.environ.get("FUZZ_REFERENCE"):
        places = servers.environment()
        servers.prepare(places)
        return run(places)
    stack = Stack()
    stack.up()
    with servers.running(stack) as places:
        return run(places)


if __name__ == "__main__":
    sys.exit(main())
