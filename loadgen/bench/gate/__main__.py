"""Runs the measurements of bench-gate on the stack that is up, and prints them. With `check`: only reads the settings.

In:  the settings of loadgen/bench-gate, in the environment. Out: tables on stdout, the last line is one line of JSON; progress
on stderr. Exit status: 0; 1 something failed, no figures then; 64 settings.
Must never: print a line of JSON for a run that did not come to its end.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

import containers
import figures
from gate import outcome, plan, settings as gate_settings, tables
from gate.cells import OLTP, OWN, OWN_ROWS, QUIET, RESULTS, Cells, rows_of
from gate.loads import Loads
from gate.peers import Contender, NotHere, Peers
from stack import Stack
from sysbench import Sysbench, allow_many_files, say

GATE_PORT, MYSQL_PORT = 6034, 3306


def contenders(stack, peers, wanted):
    """{name: Contender} of those that are here, and a line for each that is not."""
    process = stack.docker.inspect(stack.ids["gate"])["State"]["Pid"]
    ours = {
        "direct": lambda: Contender("direct", stack.address("satellite-1"), MYSQL_PORT),
        "master": lambda: Contender("master", stack.address("master"), MYSQL_PORT),
        **{level: lambda level=level: Contender(level, stack.address("gate"), GATE_PORT, process) for level in plan.THROUGH_GATE},
    }
    present, notes = {}, []
    for name in wanted:
        try:
            present[name] = ours[name]() if name in ours else peers.start(name)
        except NotHere as reason:
            notes.append(f"NOT HERE, and null below: {tables.TITLES[name]}: {reason}")
            say(notes[-1])
    return present, notes


def load_tables(stack, sysbench, write_sysbench, settings):
    say("loading the tables")
    master = stack.address("master")
    for each in (sysbench, write_sysbench):
        each.run(OLTP, master, *settings.tables, "prepare")
    write_sysbench.run(RESULTS, master, *QUIET, "prepare")
    if "long-text" in settings.workloads:
        sysbench.run(RESULTS, master, *QUIET, "prepare")
    write_sysbench.run(OWN, master, OWN_ROWS, "prepare")
    for size in settings.sizes if "result" in settings.workloads else ():
        sysbench.run(RESULTS, master, f"--size={size}", f"--rows={rows_of(size)}", "prepare")
    stack.await_position("satellite-1", stack.position())


def warm_up(cells, present, settings):
    """The satellite's buffer pool and everybody's connections; and under the write load the JVMs' compilers. Nothing counts.

    A peer that does not get through this is taken out of those that are present; a line for each."""
    notes = []
    for name, contender in list(present.items()):
        try:
            cells.measure(plan.Cell("point-select", "prepared", 4), contender)
        except OSError as failure:
            if name not in plan.PEERS:
                raise
            del present[name]
            notes.append(f"FAILED, and null below: {tables.TITLES[name]}")
            say(f"{notes[-1]}: {failure}")
    if settings.write_rate and settings.write_warm_up_seconds:
        say(f"warming up: {settings.write_rate} transactions/s for {settings.write_warm_up_seconds} s")
        with cells.writing(settings.write_rate, settings.write_warm_up_seconds):
            time.sleep(settings.write_warm_up_seconds)
    return notes


def measure_all(cells, present, settings):
    """{(cell, contender): [figures of each round]}. A peer that fails is shown without figures; one of ours ends the run."""
    samples = {}
    schedule = plan.schedule(settings, list(present))
    say(f"{len(schedule)} measurements, about {plan.estimate(settings, list(present)) / 60:.0f} minutes")
    for position, (number, cell, name) in enumerate(schedule, 1):
        try:
            found = cells.measure(cell, present[name])
        except OSError as failure:
            if name not in plan.PEERS:
                raise
            say(str(failure))
            found = {}
        samples.setdefault((cell, name), []).append(found)
        say(
            f"{position}/{len(schedule)} round {number + 1}, {tables.title(cell)}, {cell.connections} connections, {tables.TITLES[name]}:"
            f" {found.get('queries') or 0:.0f} queries/s"
        )
    return in_order(samples, settings)


def in_order(samples, settings):
    """As the plan has them, whoever was measured first."""
    return {key: samples[key] for cell in plan.cells(settings) for key in ((cell, name) for name in tables.TITLES) if key in samples}


def measure_stream(cells, settings):
    """The medians of the rounds; nothing if it is not asked for."""
    if not settings.stream_rate:
        return None
    say(f"from a commit until the gate knows its tables: {settings.stream_rate} transactions/s")
    return figures.over_runs([cells.stream(settings.stream_rate, settings.stream_seconds) for _ in range(settings.rounds)])


def measure_loads(loads, estimates):
    """With how far the gate's expectations were off since they were looked at last."""
    found = loads.measure()
    return {**found, "estimate_error": figures.bucket_quantile(estimates, loads.estimates(), 0.5)}


def measure(stack, settings):
    """What tables.report takes."""
    sysbench, write_sysbench = (
        Sysbench(settings.config_file, settings.user, database) for database in (settings.database, settings.write_database)
    )
    load_tables(stack, sysbench, write_sysbench, settings)
    with contextlib.closing(Peers(stack, settings)) as peers:
        # The front door is no contender: its rules lead to the gate.
        if "proxysql" in stack.services:
            containers.compose("stop", "proxysql")
        present, notes = contenders(stack, peers, settings.contenders)
        cells = Cells(stack, settings, sysbench, write_sysbench)
        notes += warm_up(cells, present, settings)
        loads = Loads(stack, settings, cells, sysbench, write_sysbench)
        before = loads.estimates()
        measured = outcome.medians(measure_all(cells, present, settings))
        return measured, notes, measure_stream(cells, settings), measure_loads(loads, before)


def main():
    try:
        settings = gate_settings.read(os.environ)
    except ValueError as mistakes:
        print("\n".join(f"bench: {line}" for line in str(mistakes).splitlines()), file=sys.stderr)
        return 64
    if sys.argv[1:] == ["check"]:
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    allow_many_files()
    try:
        with contextlib.closing(Stack(("master", "satellite-1"))) as stack:
            print(tables.report(*measure(stack, settings)))
    except (OSError, containers.SqlFailed, ValueError, subprocess.CalledProcessError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
