"""The phases of bench-replication: cold, idle, steady load, saturating loads, further satellites. Each returns figures, in the shape that figures.py takes.

In:  a Stack, the settings. Out: dictionaries of numbers; progress on stderr.
Must never: begin a phase before both contenders have everything of the one before.
"""

import contextlib
import itertools
import subprocess
import time

import figures
from stack import CATCH_UP_SECONDS, IDLE, OURS, followers
from sysbench import HERE, Probe, say

WARM_UP_SECONDS = 2
COLD_RATE = 100  # transactions/s
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


def steady(stack, sysbench, settings, rate, satellites=1):
    """One run at one rate: {reached, native, ours, raw, cpu}; ours is what so many satellites and everything before them take."""
    ours = (*OURS[:2], *followers(range(1, satellites + 1)))
    options = (f"--workload={settings.lag_workload}", f"--threads={settings.threads}", *settings.tables)
    probes = ("master", "replica", "satellite-1")
    seen, before, after = beside_load(
        stack, sysbench, rate, options, probes, WARM_UP_SECONDS, settings.lag_seconds, lambda: snapshot(stack, ours)
    )
    catch_up(stack)
    return steady_figures(seen, before, after, ours)


def beside_load(stack, sysbench, rate, options, servers, warm_up_seconds, seconds, snapshot):
    """What the probes of the servers have seen, with a snapshot of when the measured time began and of when it ended."""
    step = max(1, rate // SAMPLES_PER_SECOND)
    first = stack.position() + step
    with contextlib.ExitStack() as cleanup:
        probes = {}
        for service in servers:
            probes[service] = Probe(sysbench, stack.address(service), stack.uuid, first, step)
            cleanup.callback(probes[service].close)
        load = subprocess.Popen(
            sysbench.command(
                HERE.parent / "oltp.lua",
                stack.address("master"),
                f"--rate={rate}",
                f"--time={warm_up_seconds + seconds + SPARE_SECONDS}",
                *options,
                "run",
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        cleanup.callback(load.kill)
        time.sleep(warm_up_seconds)
        before = snapshot()
        time.sleep(seconds)
        after = snapshot()
        lasted = load.poll() is None
        load.terminate()
        output = load.communicate()[0]
        if not lasted:
            say(f"the machine does not sustain {rate} transactions/s: {(output.strip().splitlines() or ['no output'])[-1]}")
        # The probes must see the last of it, too.
        for service in servers:
            stack.await_position(service, stack.position())
    return {service: probe.seen for service, probe in probes.items()}, before, after


def snapshot(stack, ours):
    return {
        "time": time.monotonic(),
        "position": stack.position(),
        "cpu": stack.cpu((*ours, "replica")),
        "dump": stack.dump_threads_cpu(),
        "records": stack.records(),
    }


def steady_figures(seen, before, after, ours):
    transactions = after["position"] - before["position"]
    used = {name: figures.per_thousand(after["cpu"][name] - before["cpu"][name], transactions) for name in after["cpu"]}
    dump = {name: figures.per_thousand(after["dump"][name] - before["dump"][name], transactions) for name in after["dump"]}
    measured = {
        name: figures.quantiles(figures.lags(seen["master"], seen[service], before["time"], after["time"]))
        for name, service in (("native", "replica"), ("ours", "satellite-1"))
    }
    return {
        "reached": figures.rate(transactions, after["time"] - before["time"]),
        **measured,
        "raw": figures.raw_share(before["records"], after["records"]),
        "cpu": {
            **{name: used[name] for name in ours},
            "dump ours": dump["ours"],
            "replica": used["replica"],
            "dump native": dump["native"],
            "ours": sum(used[name] for name in ours) + dump["ours"],
            "native": used["replica"] + dump["native"],
        },
    }


# --- the first seconds, and further satellites ---------------------------------------------------------------------------


def cold(stack, sysbench, settings):
    """Quantiles of commit to visible in the first seconds of the stack: nothing warms anything up before, and nobody else follows."""
    say(f"cold: {COLD_RATE} transactions/s in the first {settings.cold_seconds} s")
    table = ("--tables=1", "--table-size=1")
    sysbench.run(HERE.parent / "oltp.lua", stack.address("master"), *table, "prepare")
    options = ("--workload=oltp_insert", f"--threads={settings.threads}", *table)
    seen, begin, end = beside_load(stack, sysbench, COLD_RATE, options, ("master", "satellite-1"), 0, settings.cold_seconds, time.monotonic)
    sysbench.run(HERE.parent / "oltp.lua", stack.address("master"), *table, "cleanup")
    return figures.quantiles(figures.lags(seen["master"], seen["satellite-1"], begin, end))


def further(stack, sysbench, settings):
    """{number of satellites: {ours, native}}: CPU seconds per 1 000 transactions at the rate of the last line, medians over the runs."""
    numbers = (1, *sorted(settings.satellites))
    stack.start_satellites(max(numbers))
    catch_up(stack, [f"satellite-{i}" for i in range(1, max(numbers) + 1)])
    runs = {number: [] for number in numbers}
    for run in range(settings.runs):
        for number in numbers:
            say(f"{number} satellites, run {run + 1} of {settings.runs}")
            stack.let_follow(number, max(numbers))
            catch_up(stack, [f"satellite-{i}" for i in range(1, number + 1)])
            cpu = steady(stack, sysbench, settings, figures.LAG_RATE, number)["cpu"]
            runs[number].append({"ours": cpu["ours"], "native": cpu["native"]})
    return {number: figures.over_runs(measured) for number, measured in runs.items()}


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
    found = {"rows": load.rows, "native": {}, "ours": {}, "raw": {}}
    for follower, stopped in (order, order[::-1]):
        before = stack.records()
        found[follower]["load"], found[follower]["steady"], found[stopped]["drain"] = follow_and_drain(
            stack, sysbench, settings, load, follower, stopped
        )
        found["raw"]["steady" if follower == "ours" else "drain"] = figures.raw_share(before, stack.records())
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
