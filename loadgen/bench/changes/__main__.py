"""Runs the steps of bench-changes on the stack that is up, and prints them.

`check`: only reads the settings. `declare`: prints the bench's multimed.yml. `load`: fills the master, before satellites follow it.

In:  the settings of loadgen/bench-changes, in the environment. Out: tables on stdout, the last line is one line of JSON; progress
on stderr. Exit status: 0; 1 something failed, no figures then; 64 settings.
Must never: print a line of JSON for a run that did not come to its end.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import containers
from changes import load, outcome, settings as changes_settings, steps as plan
from stack import total
from sysbench import HERE, Sysbench, say

OLTP = HERE.parent / "oltp.lua"
POLL_SECONDS = 0.1
HTTP_SECONDS = 5
# What the outer make has told its children would be taken for the inner one's.
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "BENCH_PORTS")


def fill(sysbench, settings):
    """Capture finds nothing of it to read: its binlogs are gone."""
    say(f"loading {settings.data_mib} MiB")
    container = containers.container_of("master")
    networks = containers.DockerApi().inspect(container)["NetworkSettings"]["Networks"]
    sysbench.run(
        OLTP,
        next(iter(networks.values()))["IPAddress"],
        "--workload=oltp_read_write",
        f"--tables={settings.tables}",
        f"--table-size={settings.rows}",
        f"--threads={min(settings.tables, 4)}",
        "prepare",
    )
    with contextlib.closing(containers.Session(container)) as master:
        master.ask("FLUSH BINARY LOGS")
        last = master.ask("SHOW BINARY LOGS")[-1][0]
        master.ask(f"PURGE BINARY LOGS TO '{last}'")


def data_gib(settings):
    with contextlib.closing(containers.Session(containers.container_of("master"))) as master:
        pattern = f"{settings.database}/%"
        return int(master.value(f"SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE '{pattern}'")) / 2**30


def make(step, settings):
    """Its commands, one after the other; what they say is kept in a file."""
    log = pathlib.Path(settings.state) / f"{step.name}.log"
    environment = {name: value for name, value in os.environ.items() if name not in OF_MAKE} | {"UP_IMAGES": "keep"}
    with log.open("w") as said:
        for arguments in step.commands:
            done = subprocess.run(
                ("make", "--no-print-directory", *arguments), stdout=said, stderr=subprocess.STDOUT, env=environment, check=False
            )
            if done.returncode:
                raise OSError(f"make {' '.join(arguments)} failed:\n{log.read_text()[-2000:]}")


class FirstRead:
    """When a satellite has answered its first read, by the gate's counter; as a context it looks meanwhile."""

    def __init__(self, satellite, port):
        self.time = None
        self._metric = f'gtid_gate_reads_total{{server="{satellite}"}}'
        self._url = f"http://127.0.0.1:{port}/metrics"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while self.time is None and not self._over.wait(POLL_SECONDS):
            with contextlib.suppress(OSError), urllib.request.urlopen(self._url, timeout=HTTP_SECONDS) as answer:
                if total(answer.read().decode(), self._metric) > 0:
                    self.time = time.monotonic()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def carry_out(step, settings, gib):
    """When it began and ended, and what it alone has for figures."""
    if step.edits:
        file = pathlib.Path(os.environ["MULTIMED_FILE"])
        file.write_text(plan.renewing(file.read_text()))
    begin = time.monotonic()
    with contextlib.ExitStack() as meanwhile:
        first = meanwhile.enter_context(FirstRead(step.joins, settings.status_port)) if step.joins else None
        make(step, settings)
        end = time.monotonic()
        while first and first.time is None and time.monotonic() < end + settings.after_seconds + HTTP_SECONDS:
            time.sleep(POLL_SECONDS)
    found = {"seconds": end - begin}
    if first:
        served = first.time and first.time - begin
        found |= {"served_s": served, "served_s_per_gib": served and served / gib}
    return begin, max(end, first.time or end) if first else end, found


def measure(loads, step, settings, gib):
    """(the step's figures, when its calm began)"""
    calm = time.monotonic()
    time.sleep(settings.calm_seconds)
    say(f"{step.name}: {'; '.join('make ' + ' '.join(each) for each in step.commands)}")
    begin, end, found = carry_out(step, settings, gib)
    end += settings.after_seconds
    time.sleep(max(end - time.monotonic(), 0))
    for each in loads.values():
        each.await_told(end)
    statements = {kind: list(each.statements) for kind, each in loads.items()}
    errors = [error for each in loads.values() for error in list(each.errors)]
    found |= outcome.step(statements, errors, (calm, begin), (begin, end))
    say(f"{step.name}: {found['seconds']:.1f} s, {found['errors']} errors, p99 of reads x {found['read_p99_ratio'] or 0:.2f}")
    time.sleep(settings.after_seconds)
    return found, calm


def run(sysbench, settings):
    gib, measured, lines, begin = data_gib(settings), {}, [], None
    with contextlib.ExitStack() as running:
        loads = {kind: running.enter_context(load.start(sysbench, settings, kind)) for kind in outcome.KINDS}
        started = time.monotonic()
        say(f"warming up for {settings.warm_up_seconds} s")
        time.sleep(settings.warm_up_seconds)
        for each in loads.values():
            each.await_told(started + settings.warm_up_seconds)
        for step in plan.steps(settings, os.sched_getaffinity(0)):
            measured[step.name], calm = measure(loads, step, settings, gib)
            begin = begin or calm
            lines += outcome.missed(step.name, measured[step.name], step.wanted)
        errors = sorted(error for each in loads.values() for error in each.errors if error[0] >= begin)
    return outcome.report(gib, measured, errors, lines)


def main():
    try:
        settings = changes_settings.read(os.environ)
    except ValueError as mistakes:
        print("\n".join(f"bench: {line}" for line in str(mistakes).splitlines()), file=sys.stderr)
        return 64
    if sys.argv[1:] == ["check"]:
        return 0
    if sys.argv[1:] == ["declare"]:
        print(changes_settings.declaration(settings), end="")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sysbench = Sysbench(settings.config_file, settings.user, settings.database)
    try:
        if sys.argv[1:] == ["load"]:
            fill(sysbench, settings)
        else:
            print(run(sysbench, settings))
    except (OSError, containers.SqlFailed, ValueError, subprocess.CalledProcessError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
