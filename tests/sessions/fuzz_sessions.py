"""make fuzz-sessions: random sessions on MySQL alone and through the gate of the test stack; ends with 1 if any two differ.

In:  MINUTES (default 5) or SEQUENCES; SEED: runs that one only and prints both sides; WORKERS. FIRST_SEED: where to begin (random).
     FUZZ_REFERENCE, FUZZ_GATE, FUZZ_MASTER (host:port each) and FUZZ_ACCOUNT (user:password, all privileges): servers that run already.
Out: differences as short scripts on stdout, and how many sequences ran.
"""

import multiprocessing
import os
import random
import sys
import time
import traceback

import duel
import fixtures
import servers
from grammar import generate
from play import Side

WORKERS = int(os.environ.get("WORKERS", "3"))
# A kind of difference is shown once.
MOST_SHOWN = int(os.environ.get("MOST_SHOWN", "40"))


def sides(places, worker):
    names = fixtures.Names(f"fz{worker}")
    reference = Side("MySQL", places.reference, places.reference, names, places.reference_account)
    gate = Side("gate", places.gate, places.master, names, places.master_account)
    for side in (reference, gate):
        side.build()
    return names, reference, gate


def work(places, worker, seeds, findings, counter, deadline):
    """Takes seeds until the time is up; puts (signature, text) into findings."""
    names, reference, gate = sides(places, worker)
    while time.time() < deadline:
        with seeds.get_lock():
            seed, seeds.value = seeds.value, seeds.value + 1
        try:
            found = duel.duel(reference, gate, generate(seed, names))
            if found:
                found = duel.shortest(reference, gate, found)
                findings.put((f"{found.field}: {found.command}", duel.script(found)))
        except Exception:  # a fault of the harness, or of a server, is a finding too
            findings.put((f"seed {seed}", f"seed {seed}: {traceback.format_exc()}"))
            names, reference, gate = sides(places, worker)
        with counter.get_lock():
            counter.value += 1


def one(places, seed):
    names, reference, gate = sides(places, 0)
    found = duel.duel(reference, gate, generate(seed, names))
    if not found:
        print(f"seed {seed}: no difference")
        return 0
    print(duel.script(found), duel.side_by_side(found), "shortest:", duel.script(duel.shortest(reference, gate, found)), sep="\n\n")
    return 1


def many(places, minutes, first):
    findings, counter, seeds = multiprocessing.Queue(), multiprocessing.Value("l", 0), multiprocessing.Value("l", first)
    began = time.time()
    processes = [
        multiprocessing.Process(target=work, args=(places, worker, seeds, findings, counter, began + minutes * 60), daemon=True)
        for worker in range(WORKERS)
    ]
    for process in processes:
        process.start()
    shown, differences = set(), 0
    while any(process.is_alive() for process in processes) or not findings.empty():
        try:
            signature, text = findings.get(timeout=1)
        except Exception:  # none within the second
            continue
        differences += 1
        if signature not in shown and len(shown) < MOST_SHOWN:
            shown.add(signature)
            print(text, "", sep="\n", flush=True)
    took = time.time() - began
    print(f"{counter.value} sequences from seed {first} on in {took:.0f} s ({counter.value / took:.1f} a second): {differences} differences")
    return 1 if differences else 0


def main():
    with servers.running() as places:
        servers.prepare(places)
        if os.environ.get("SEED"):
            return one(places, int(os.environ["SEED"]))
        first = int(os.environ.get("FIRST_SEED") or random.randrange(1 << 40))
        return many(places, float(os.environ.get("MINUTES", "5")), first)


if __name__ == "__main__":
    sys.exit(main())
