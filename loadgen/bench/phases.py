"""The phases of bench-replication: idle, steady load, saturating loads. Each returns figures, in the shape that figures.py takes.

In:  a Stack, the settings. Out: dictionaries of numbers; progress on stderr.
Must never: begin a phase before both contenders have everything of the one before.
"""

import contextlib
import itertools
import subprocess
import time

import figures
from stack import CATCH_UP_SECONDS, IDLE, OURS
from sysbench import HERE, Probe, say

WARM_UP_SECONDS = 2
SPARE_SECONDS = 60  # the load must outlast what is measured, however slow that is
SAMPLES_PER_SECOND = 50


# --- idle -----------------------------------------------------------------------------------------------------------


def idle(stack, settings):
    """{service: cores} of our whole stack without load."""
    say(f"idle for {settings.idle_seconds} s")
    begin, before = time.monotonic(), stack.cpu(IDLE)
    time.sleep(settings.idle_seconds)
    after, seconds = stack.cpu(IDLE), time.monotonic() - begin
    return {service: (after[service] - before[service]) / seconds for service in before}


# --- steady load ------------------------------------------------------------------------------------------------------


def steady(stack, sysbench, settings, rate):
    """One run at one rate: {reached, native, ours, cpu}"""
    host, step = stack.address("master"), max(1, rate // SAMPLES_PER_SECOND)
    first = stack.position() + step
    with contextlib.ExitStack() as cleanup:
        probes = {}
        for service in ("master", "replica", "satellite-1"):
            probes[service] = Probe(sysbench, stack.address(service), stack.uuid, first, step)
            cleanup.callback(probes[service].close)
        load = subprocess.Popen(
            sysbench.command(
                HERE.parent / "oltp.lua",
                host,
                f"--workload={settings.lag_workload}",
                f"--rate={rate}",
                f"--threads={settings.threads}",
                f"--time={WARM_UP_SECONDS + settings.lag_seconds + SPARE_SECONDS}",
                *settings.tables,
                "run",
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        cleanup.callback(load.kill)
        time.sleep(WARM_UP_SECONDS)
        before = snapshot(stack)
        time.sleep(settings.lag_seconds)
        after = snapshot(stack)
        lasted = load.poll() is None
        load.terminate()
        output = load.communicate()[0]
        if not lasted:
            say(f"the machine does not sustain {rate} transactions/s: {(output.strip().splitlines() or ['no output'])[-1]}")
        catch_up(stack)
    return steady_figures(probes, before, after)


def snapshot(stack):
    return {"time": time.monotonic(), "position": stack.position(), "cpu": stack.cpu((*OURS, "replica")), "dump": stack.dump_threads_cpu()}


def steady_figures(probes, before, after):
    transactions = after["position"] - before["position"]
    used = {name: figures.per_thousand(after["cpu"][name] - before["cpu"][name], transactions) for name in after["cpu"]}
    dump = {name: figures.per_thousand(after["dump"][name] - before["dump"][name], transactions) for name in after["dump"]}
    measured = {
        name: figures.quantiles(figures.lags(probes["master"].seen, probes[service].seen, before["time"], after["time"]))
        for name, service in (("native", "replica"), ("ours", "satellite-1"))
    }
    return {
        "reached": figures.rate(transactions, after["time"] - before["time"]),
        **measured,
        "cpu": {
            **{name: used[name] for name in OURS},
            "dump ours": dump["ours"],
            "replica": used["replica"],
            "dump native": dump["native"],
            "ours": sum(used[name] for name in OURS) + dump["ours"],
            "native": used["replica"] + dump["native"],
        },
    }


def catch_up(stack, services=("replica", "satellite-1")):
    target = stack.position()
    for service in services:
        stack.await_position(service, target)


# --- saturating loads ---------------------------------------------------------------------------------------------------


class Load:
    """A saturating load. rows: row changes of one transaction."""

    def __init__(self, name, rows, threads, script, *options):
        self.name, self.rows, self.threads, self.script, self.options = name, rows, threads, script, options


def all_loads(settings):
    oltp, rows = HERE.parent / "oltp.lua", HERE / "rows.lua"
    return (
        Load("single-row", 1, settings.threads, oltp, "--workload=oltp_insert", *settings.tables),
        Load("write-only", 4, settings.threads, oltp, "--workload=oltp_write_only", *settings.tables),
        Load("multi-row", settings.multi_rows, 4, rows, f"--rows={settings.multi_rows}"),
        Load("large", settings.large_rows, 1, rows, "--rows=1000", f"--statements={settings.large_rows // 1000}"),
    )


def warm_up(stack, sysbench, settings):
    """What the saturating loads do, following and draining, with nothing measured."""
    for name in ("single-row", "write-only", "multi-row"):
        load = next(load for load in all_loads(settings) if load.name == name)
        for stopped in ((), ("ours",)):
            say(f"warming up: {name} for {settings.warm_up_seconds} s, {'draining' if stopped else 'following'}")
            prepare(stack, sysbench, load)
            for contender in stopped:
                stack.stop(contender)
            fill(stack, sysbench, load, settings.warm_up_seconds)
            for contender in stopped:
                stack.start(contender)
            catch_up(stack)


def saturating(stack, sysbench, settings, load, order):
    """One round of one load: {rows, native: {load, steady, drain}, ours: {load, steady, drain, "drain, log to satellite"}};
    load is the master's own rate while that contender followed.

    Three times the load runs: with one contender following and the other stopped, the other way round, and with only the
    applier stopped. Each time, once it is over and the follower has everything, the one that was stopped drains alone.
    """
    found = {"rows": load.rows, "native": {}, "ours": {}}
    for follower, stopped in (order, order[::-1]):
        found[follower]["load"], found[follower]["steady"], found[stopped]["drain"] = follow_and_drain(
            stack, sysbench, settings, load, follower, stopped
        )
    found["ours"]["drain, log to satellite"] = applier_drain(stack, sysbench, settings, load)
    return found


def fill(stack, sysbench, load, seconds):
    """Runs the load: (transactions, time of the first one's commit, seconds from there to the last one's)."""
    before = stack.position()
    running = subprocess.Popen(
        sysbench.command(load.script, stack.address("master"), f"--threads={load.threads}", f"--time={seconds}", *load.options, "run"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        stack.await_position("master", before + 1)
        begin = time.monotonic()
        output = running.communicate()[0]
    finally:
        running.kill()
    if running.returncode:
        raise OSError(f"sysbench failed under the load {load.name}:\n{output[-2000:]}")
    return stack.position() - before, begin, time.monotonic() - begin


def follow_and_drain(stack, sysbench, settings, load, follower, stopped):
    """Transactions/s of the master, of the follower, and of the one that was stopped."""
    prepare(stack, sysbench, load)
    stack.stop(stopped)
    transactions, begin, seconds = fill(stack, sysbench, load, settings.load_seconds)
    stack.await_position(stack.server_of(follower), stack.position())
    followed = time.monotonic() - begin
    drained = drain(stack, stopped)
    say(
        f"{load.name}: {transactions} transactions in {seconds:.1f} s; {follower} followed in {followed:.1f} s,"
        f" {stopped} drained in {drained:.1f} s"
    )
    return (figures.rate(transactions, each) for each in (seconds, followed, drained))


def applier_drain(stack, sysbench, settings, load):
    """Transactions/s from the log to the satellite, everything else having been done before."""
    prepare(stack, sysbench, load)
    stack.stop("native")
    stack.stop("applier")
    transactions, _, _ = fill(stack, sysbench, load, settings.load_seconds)
    stack.await_captured(stack.position())
    drained = drain(stack, "applier")
    say(f"{load.name}: {transactions} transactions drained from the log in {drained:.1f} s")
    drain(stack, "native")
    return figures.rate(transactions, drained)


def drain(stack, contender):
    """Seconds from its start until it has everything."""
    target, begin = stack.position(), time.monotonic()
    stack.start(contender)
    stack.await_position(stack.server_of(contender), target)
    return time.monotonic() - begin


def prepare(stack, sysbench, load):
    """Nobody has anything left to do, and the table of a load of many rows is empty."""
    if load.script.name == "rows.lua":
        sysbench.run(load.script, stack.address("master"), "prepare")
    catch_up(stack)


# --- Debezium's engine alone --------------------------------------------------------------------------------------------


def engine_alone(stack, sysbench, settings):
    """Rows/s that Debezium's engine decodes of the multi-row load, with nothing behind it and nobody else following.

    The load runs twice, and the second time counts: the engine's process is new, and its code is compiled while it runs.
    """
    load = next(load for load in all_loads(settings) if load.name == "multi-row")
    prepare(stack, sysbench, load)
    stack.stop("native")
    stack.stop("ours")
    try:
        with stack.decoder() as lines:
            await_line(lines, lambda line: line == "ready")
            transactions, busy = 0, []
            for _ in range(2):
                transactions += fill(stack, sysbench, load, settings.load_seconds)[0]
                last = await_line(lines, lambda line: line.startswith(f"rows={transactions * load.rows} "))
                busy.append((transactions, float(last.partition("seconds=")[2])))
    finally:
        drain(stack, "ours")
        drain(stack, "native")
    found = figures.rate((busy[1][0] - busy[0][0]) * load.rows, busy[1][1] - busy[0][1])
    say(f"Debezium's engine alone: {found:.0f} rows/s")
    return found


def await_line(lines, wanted):
    """The first line that is wanted; its process prints one every second, so this ends."""
    for deadline, line in zip(itertools.count(), lines):
        if wanted(line.strip()):
            return line.strip()
        if deadline > CATCH_UP_SECONDS:
            break
    raise OSError("Debezium's engine alone did not get there")
