"""A long run without faults, with a definition changed every minute; the program behind `make soak`.

usage (by tests/run soak): chaos_soak.py   with MINUTES (60), RATE (300 transactions per second)
In: the test stack. Out: one line a minute with the memory of every process, then what each grew by since the run's second sixth;
exit status 1, with the reason, if a transaction failed, a satellite was cloned again, a container restarted, a Java heap after a full
collection or the private memory of a process grew by more than 5 %, or the satellites differ. Must never: go on after the load ended.
"""

import contextlib
import itertools
import os
import re
import statistics
import subprocess
import sys
import time

from support import compose as containers
from support.stack import USER, Stack
from support.wait import wait_for

from chaos_judge import SERVICES, Broken, Judge

MOST_GROWTH = 0.05
# A process of 10 MiB may well vary by one.
SMALLEST_GROWTH_MIB = 4
TABLES = ("--tables=4", "--table-size=5000")
COMMANDS = {"master": "mysqld", "satellite-1": "mysqld", "satellite-2": "mysqld", "gate": "gtid-gate"}
DEFINITIONS = (
    "CREATE TABLE app.soak (id INT PRIMARY KEY, v INT)",
    "ALTER TABLE app.sbtest1 ADD COLUMN soaked INT DEFAULT 7",
    "CREATE VIEW app.soak_view AS SELECT id, k FROM app.sbtest2",
    "ALTER TABLE app.sbtest3 ADD INDEX soak_k (k, id), ALGORITHM=INPLACE, LOCK=NONE",
    "ALTER TABLE app.soak MODIFY v BIGINT",
    "RENAME TABLE app.soak TO app.soaked",
    "ALTER TABLE app.sbtest1 DROP COLUMN soaked",
    "DROP VIEW app.soak_view",
    "ALTER TABLE app.sbtest3 DROP INDEX soak_k",
    "DROP TABLE app.soaked",
)


def sysbench(stack, settings, command, *options):
    return [
        "sysbench",
        "loadgen/oltp.lua",
        "--workload=oltp_write_only",
        f"--config-file={settings}",
        f"--mysql-host={stack.host}",
        f"--mysql-port={stack.gate_port}",
        f"--mysql-user={USER}",
        f"--mysql-db={USER}",
        *TABLES,
        *options,
        command,
    ]


@contextlib.contextmanager
def load(stack, rate, seconds):
    """The running process; it is ended with the context."""
    settings = stack.state / "soak.cnf"
    with open(os.open(settings, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"mysql-password='{stack.password(USER)}'\n")
    try:
        containers.run(*sysbench(stack, settings, "cleanup"))
        containers.run(*sysbench(stack, settings, "prepare"), timeout=300)
        running = sysbench(stack, settings, "run", "--threads=8", f"--rate={rate}", f"--time={seconds}", "--report-interval=0")
        with (
            open(stack.state / "soak.log", "w") as said,
            subprocess.Popen(running, cwd=containers.ROOT, stdout=said, stderr=said) as process,
        ):
            try:
                yield process
            finally:
                process.terminate()
    finally:
        settings.unlink()


def memory(service):
    """MiB: of a Java process its heap after a full collection, and the private memory of every process."""
    command = COMMANDS.get(service, "java")
    pid = containers.processes(service, command)[0]
    figures = {}
    if command == "java":
        subprocess.run(["jcmd", str(pid), "GC.run"], check=True, capture_output=True, timeout=60)
        shown = subprocess.run(["jcmd", str(pid), "GC.heap_info"], check=True, capture_output=True, text=True, timeout=60).stdout
        figures["heap"] = sum(int(kib) for kib in re.findall(r" total .* used (\d+)K", shown)) / 1024
    with open(f"/proc/{pid}/status") as file:
        figures["private"] = next(int(line.split()[1]) / 1024 for line in file if line.startswith("RssAnon:"))
    return figures


def sample():
    return {(service, kind): mib for service in SERVICES for kind, mib in memory(service).items()}


def line_of(minute, figures, commits):
    each = [
        f"{service} " + "/".join(f"{figures[service, kind]:.1f}" for kind in ("heap", "private") if (service, kind) in figures)
        for service in SERVICES
    ]
    return f"minute {minute:<3} {commits} commits; MiB heap/private: {', '.join(each)}"


def growth(samples):
    """What each figure grew by: the median of the last sixth against that of the run's second sixth."""
    sixth = max(1, len(samples) // 6)
    early, late = samples[sixth : 2 * sixth], samples[-sixth:]
    return {key: tuple(statistics.median(each[key] for each in some) for some in (early, late)) for key in samples[-1]}


class Soak:
    def __init__(self, stack, minutes, rate, say):
        self.stack, self.minutes, self.rate, self.say = stack, minutes, rate, say
        self.samples = []

    def run(self):
        for statement in ("DROP VIEW IF EXISTS app.soak_view", "DROP TABLE IF EXISTS app.soak, app.soaked"):
            self.stack.sql("master", statement)
        # It is ended with the last minute; looking at a busy machine's processes takes its time.
        with load(self.stack, self.rate, 120 * self.minutes + 600) as process:
            self.stack.await_satellites(120)
            judge, started, began = Judge(self.stack, None), self.started(), time.monotonic()
            for minute, definition in zip(range(1, self.minutes + 1), itertools.cycle(DEFINITIONS), strict=False):
                self.minute(minute, definition, process, began + 60 * minute)
            lag = self.catch_up()
        judge.rebuilds("none")
        assert self.started() == started, "a container restarted"
        judge.gtids()
        self.stack.compare()
        self.say(f"caught up {lag:.1f} s after the last minute; nothing was cloned again, no process restarted, all satellites are equal")
        self.judge_growth()

    def started(self):
        return {service: containers.inspect(service)["State"]["StartedAt"] for service in SERVICES}

    def minute(self, minute, definition, process, end):
        self.stack.sql("master", definition)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0, end - time.monotonic()))
            raise Broken("stuck", f"the load ended: {(self.stack.state / 'soak.log').read_text()[-2000:]}")
        self.samples.append(sample())
        commits = self.stack.sql("master", "SHOW GLOBAL STATUS LIKE 'Com_commit'")[0][1]
        self.say(line_of(minute, self.samples[-1], commits))

    def catch_up(self):
        """Seconds until satellites have what the master has now; the load goes on."""
        began, target = time.monotonic(), self.stack.gtid("master")
        for service in self.stack.satellites:
            wait_for(lambda s=service: self.stack.contains(s, target), 30, f"{service} to contain {target}")
        return time.monotonic() - began

    def judge_growth(self):
        grown = []
        for (service, kind), (early, late) in growth(self.samples).items():
            share = late / early - 1
            self.say(f"{service:<12} {kind:<8} {early:8.1f} -> {late:8.1f} MiB  {100 * share:+.1f} %")
            if share > MOST_GROWTH and late - early > SMALLEST_GROWTH_MIB:
                grown.append(f"{service} {kind}")
        if grown:
            raise Broken("unexplained", f"memory grew by more than {100 * MOST_GROWTH:.0f} %: {', '.join(grown)}")


def main():
    minutes, rate = int(os.environ.get("MINUTES") or 60), int(os.environ.get("RATE") or 300)

    def say(line):
        print(line, flush=True)

    say(f"soak: {minutes} minutes, {rate} transactions/s, a definition each minute")
    stack = Stack()
    stack.up()
    try:
        Soak(stack, minutes, rate, say).run()
    except (Broken, AssertionError) as broken:
        (stack.state / "soak.txt").write_text(stack.portrait())
        say(f"soak: BROKEN {broken}; the stack at that moment: .state/test/soak.txt")
        return 1
    say("soak: held")
    return 0


if __name__ == "__main__":
    sys.exit(main())
