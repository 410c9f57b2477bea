"""Runs bench-tpcw on the bench's own Compose project, whose master is up and empty. With `check`: only reads the settings.

In:  the settings of loadgen/bench-tpcw, in the environment. Out: tables on stdout, the last line is one line of JSON; results.json, CSV
files and report.html, written anew after each contender; progress on stderr. Exit status: 0; 1 something failed, or a check did not hold; 64
settings.
Must never: print a line of JSON for a run that did not come to its end.
"""

import contextlib
import os
import signal
import subprocess
import sys

import containers
import process
from sysbench import Sysbench, allow_many_files, say
from tpcw import machine, page, parts, plan, results, settings as tpcw_settings, stage, tables
from tpcw.runner import Runner


def measure_cell(up, runner, cell):
    run = runner.measure(up, cell)
    say(f"{up.contender.name}, {cell.mix}, {cell.clients} clients: {run['wips']:.1f} WIPS, p99 {run['p99'] or 0:.0f} ms")
    return run


def measure_late(up, settings, runner):
    """With the table stream, then without."""
    with_stream, without = plan.cells(settings, up.contender)
    runs = [measure_cell(up, runner, with_stream)]
    up.without_table_stream()
    return [*runs, measure_cell(up, runner, without)]


def measure(contender, settings, here, runner, sysbench):
    """One contender: its runs, its parts, what was checked, what its servers were set to."""
    say(f"{contender.name}: a fresh copy of the database")
    with contextlib.closing(stage.Stage(contender, settings, here)) as up:
        set_to = machine.server_settings(up.stack, contender)
        warm_up = plan.warm_up(settings, contender)
        if warm_up:
            say(f"{contender.name}: warming up for {settings.warm_up_seconds} s")
            runner.warm_up(up, warm_up)
        if contender.kind == "lagging":
            runs = measure_late(up, settings, runner)
        else:
            runs = [measure_cell(up, runner, cell) for cell in plan.cells(settings, contender)]
        beside = parts.measure(up, settings, runner)
        return runs, beside, up.check(sysbench), set_to


def measure_all(settings, here, sysbench):
    """Everything, in the shape of results.py."""
    say(f"loading {settings.items} items, {settings.ebs} emulated browsers; about {plan.estimate(settings) / 60:.0f} minutes in all")
    database = {"items": str(settings.items), "emulated browsers": str(settings.ebs), "size": f"{stage.load(settings, sysbench)} MiB"}
    results.forget(settings.results)
    runner, runs, late, beside, checks, servers = Runner(settings, sysbench), [], {}, {}, {}, {}
    contenders = plan.contenders(settings)
    for contender in contenders:
        found, more, checks[contender.name], servers[contender.name] = measure(contender, settings, here, runner, sysbench)
        beside.update(more)
        if contender.kind == "lagging":
            late = dict(zip(("lagging", "blind"), found))
        else:
            runs += found
        complete = contender == contenders[-1]
        everything = results.results(settings, here, database, servers, checks, runs, complete, late, beside)
        results.write(settings.results, everything, page.page)
    return everything


def main():
    try:
        settings = tpcw_settings.read(os.environ, machine.online())
    except ValueError as mistakes:
        print("\n".join(f"bench: {line}" for line in str(mistakes).splitlines()), file=sys.stderr)
        return 64
    if sys.argv[1:] == ["check"]:
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    allow_many_files()
    cores = settings.cpus or machine.cores()
    here = {"cores": cores, "core_count": len(process.cores_in(cores)), "memory": machine.memory(), "facts": machine.facts(settings)}
    sysbench = Sysbench(settings.config_file, settings.user, settings.database)
    try:
        found = measure_all(settings, here, sysbench)
        say(f"the report: {settings.results}/report.html")
        print(tables.report(found), flush=True)
    except (OSError, containers.SqlFailed, ValueError, KeyError, subprocess.CalledProcessError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
