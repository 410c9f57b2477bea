#!/usr/bin/env python3
"""Runs the measurements of bench-replication on the stack that is up, and prints them. With `check`: only reads the settings.

In:  the settings of loadgen/bench-replication, in the environment. Out: tables on stdout, the last line is one line of JSON;
progress on stderr. Exit status: 0; 1 something failed, no figures then; 64 settings.
Must never: print a line of JSON for a run that did not come to its end.
"""

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import figures
import phases
from containers import SqlFailed
from stack import Stack
from sysbench import HERE, Sysbench, say

LOADS = (*figures.TRANSACTION_LOADS, *figures.ROW_LOADS)


@dataclass(frozen=True)
class Settings:
    rates: tuple
    runs: int
    lag_seconds: int
    lag_workload: str
    loads: tuple
    rounds: int
    load_seconds: int
    warm_up_seconds: int
    multi_rows: int
    large_rows: int
    threads: int
    idle_seconds: int
    engine_runs: int
    cold_seconds: int
    satellites: tuple
    tables: tuple
    config_file: str
    user: str
    database: str
    replica_password: str


def read_settings(environment):
    """The settings; ValueError with all mistakes."""
    mistakes = []

    def number(name, least=1):
        value = environment.get(name, "")
        if value.isascii() and value.isdigit() and int(value) >= least:
            return int(value)
        mistakes.append(f"{name}={value}: a whole number from {least} on is needed")
        return least

    def words(name, known=None):
        values = environment.get(name, "").split()
        bad = [value for value in values if known and value not in known or not known and not value.isdigit()]
        mistakes.extend(f"{name}: {value} is not known; known: {' '.join(known or ['whole numbers'])}" for value in bad)
        return () if bad else tuple(values)

    settings = Settings(
        rates=tuple(map(int, words("BENCH_RATES"))),
        runs=number("BENCH_RUNS"),
        lag_seconds=number("BENCH_LAG_SECONDS"),
        lag_workload=environment.get("BENCH_LAG_WORKLOAD", ""),
        loads=words("BENCH_LOADS", LOADS),
        rounds=number("BENCH_ROUNDS"),
        load_seconds=number("BENCH_LOAD_SECONDS"),
        warm_up_seconds=number("BENCH_WARM_UP_SECONDS", 0),
        multi_rows=number("BENCH_MULTI_ROWS"),
        large_rows=number("BENCH_LARGE_ROWS", 1000),
        threads=number("BENCH_THREADS"),
        idle_seconds=number("BENCH_IDLE_SECONDS", 0),
        engine_runs=number("BENCH_ENGINE_RUNS", 0),
        cold_seconds=number("BENCH_COLD_SECONDS", 0),
        satellites=tuple(map(int, words("BENCH_SATELLITES", [str(count) for count in range(2, 9)]))),
        tables=(f"--tables={number('BENCH_TABLES')}", f"--table-size={number('BENCH_TABLE_ROWS')}"),
        config_file=environment.get("BENCH_CONFIG_FILE", ""),
        user=environment.get("BENCH_USER", ""),
        database=environment.get("BENCH_DATABASE", ""),
        replica_password=environment.get("BENCH_REPLICA_PASSWORD", ""),
    )
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return settings


def lag_phase(stack, sysbench, settings):
    """{rate: figures}, each the median over the runs; the runs of one rate are spread over the whole phase.

    One more run of each goes ahead and does not count: at a small load the JVMs take their time to compile their code."""
    for rate in settings.rates if settings.warm_up_seconds else ():
        say(f"warming up: steady load of {rate} transactions/s")
        phases.steady(stack, sysbench, settings, rate)
    runs = {rate: [] for rate in settings.rates}
    for run in range(settings.runs):
        for rate in settings.rates:
            say(f"steady load of {rate} transactions/s, run {run + 1} of {settings.runs}")
            runs[rate].append(phases.steady(stack, sysbench, settings, rate))
    return {rate: figures.over_runs(measured) for rate, measured in runs.items()}


def load_phase(stack, sysbench, settings):
    """{load: figures}, each the median over the rounds. Who goes first changes with every round and load."""
    order, found = ("native", "ours"), {}
    for load in phases.all_loads(settings):
        if load.name not in settings.loads:
            continue
        rounds = []
        for _ in range(settings.rounds):
            rounds.append(phases.saturating(stack, sysbench, settings, load, order))
            order = order[::-1]
        found[load.name] = figures.over_runs(rounds)
    return found


def measure(stack, settings):
    sysbench = Sysbench(settings.config_file, settings.user, settings.database)
    stack.leave_two_satellites()
    cold = phases.cold(stack, sysbench, settings) if settings.cold_seconds else {}
    idle = phases.idle(stack, settings) if settings.idle_seconds else {}
    stack.leave_only_satellite_1()
    stack.start_replication(settings.replica_password)
    say("loading the tables")
    sysbench.run(HERE.parent / "oltp.lua", stack.address("master"), *settings.tables, "prepare")
    phases.catch_up(stack)
    # The JVMs compile their code under load; at a small one that takes them minutes. Hence the saturating loads first, too.
    if settings.warm_up_seconds:
        phases.warm_up(stack, sysbench, settings)
    loads = load_phase(stack, sysbench, settings)
    engine = [phases.engine_alone(stack, sysbench, settings) for _ in range(settings.engine_runs)]
    lag = lag_phase(stack, sysbench, settings)
    further = phases.further(stack, sysbench, settings) if settings.satellites else {}
    return idle, lag, loads, figures.median(engine), cold, further


def report(idle, lag, loads, engine, cold=None, further=None):
    parts = [figures.cold_table(cold)] if cold else []
    parts += [figures.idle_table(idle)] if idle else []
    parts += [figures.lag_table(lag), figures.cpu_table(lag)] if lag else []
    parts += [figures.further_table(further)] if further else []
    parts += [figures.loads_table(loads)] if loads else []
    parts += [figures.engine_table(engine, loads)] if engine else []
    lines = ["\n".join(part) for part in parts]
    result = figures.result(lag, loads, sum(idle.values()) if idle else None, cold, further)
    return "\n\n".join([*lines, figures.last_line(result)])


def main():
    try:
        settings = read_settings(os.environ)
    except ValueError as mistakes:
        print("\n".join(f"bench: {line}" for line in str(mistakes).splitlines()), file=sys.stderr)
        return 64
    if sys.argv[1:] == ["check"]:
        return 0
    # So that what is paused is woken when the bench is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with contextlib.closing(Stack()) as stack:
            print(report(*measure(stack, settings)))
    except (OSError, SqlFailed, ValueError, subprocess.CalledProcessError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
