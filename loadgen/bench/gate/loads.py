"""Loads during which something changes: a burst of writes, the cores of the satellite, its limit, the mix of reads.

In:  the running stack, the settings, cells.Cells for writes and lag. Out: figures in the shape that load_outcome.py takes.
Must never: leave the satellite with other cores or another limit than it had.
"""

import contextlib
import time

import figures
from gate import timeline
from gate.cells import OLTP, QUIET, RESULTS, SPARE_SECONDS, WRITE_HEAD_SECONDS, lasted, session_of
from gate.peers import Contender
from gate.satellite import Satellite
from gate.steady import Steady, sample, samples
from stack import buckets
from sysbench import HERE, say

MIX = HERE / "mix.lua"
GATE_PORT = 6034
USUAL_MIX, HEAVY_MIX = ("--ranges=20", "--range-size=100"), ("--ranges=20", "--range-size=1000")
RUN_ON = "--time=3600"
BURST_WRITERS, BURST_READERS, BURST_READS = 8, 4, 400
AGAIN_SECONDS = 1  # until what runs is of the new limit
BEFORE_SECONDS, BACK_SECONDS = 6, 20
SETTLED_SECONDS, HALVED_SECONDS = 8, 25
ESTIMATES = "gtid_gate_estimate_error"


class Loads:
    def __init__(self, stack, settings, cells, sysbench, write_sysbench):
        self._stack, self._settings, self._cells = stack, settings, cells
        self._sysbench, self._write_sysbench = sysbench, write_sysbench
        self._satellite = Satellite(stack)

    def measure(self):
        """{burst, limits, saturated}, each only if it is asked for."""
        found = {}
        if self._settings.burst_seconds:
            found["burst"] = self._burst(self._settings.burst_seconds)
        if self._settings.limits and self._settings.limit_cores:
            found["limits"] = self._limits()
        if self._settings.saturated_seconds:
            found["saturated"] = self._saturated(self._settings.saturated_seconds)
        return found

    def estimates(self):
        """Buckets of what the gate's expectations were off by."""
        return buckets(self._stack.metrics("gate"), ESTIMATES)

    # --- what runs ----------------------------------------------------------------------------------------------

    def _reading(self, mix):
        contender = Contender("eventual", self._stack.address("gate"), GATE_PORT)
        options = (f"--threads={self._settings.load_connections}", RUN_ON, "--report-interval=1", "--percentile=99")
        where = (f"--mysql-port={GATE_PORT}", *session_of(contender))
        return Steady(self._sysbench.command(MIX, contender.host, *where, *self._settings.tables, *mix, *options, "run"))

    def _steady_strong_reads(self):
        contender = Contender("strong", self._stack.address("gate"), GATE_PORT)
        options = (f"--threads={BURST_READERS}", f"--rate={BURST_READS}", RUN_ON)
        where = (f"--mysql-port={GATE_PORT}", *session_of(contender, "spare"))
        return Steady(self._write_sysbench.command(RESULTS, contender.host, *where, *QUIET, *options, "run"))

    def _writes_at_will(self, service, port):
        options = ("--workload=oltp_write_only", f"--threads={BURST_WRITERS}", RUN_ON, *self._settings.tables)
        where = (f"--mysql-port={port}", "--mysql-ignore-errors=1213,1020,1205")
        return Steady(self._write_sysbench.command(OLTP, self._stack.address(service), *where, *options, "run"))

    # --- a burst of writes --------------------------------------------------------------------------------------

    def _burst(self, seconds):
        say(f"a burst of writes: {BEFORE_SECONDS} s before, {seconds} s, {BACK_SECONDS} s after")
        with self._steady_strong_reads() as reads:
            time.sleep(1)
            found = samples(self._stack, BEFORE_SECONDS)
            begin = time.monotonic()
            with self._writes_at_will("master", 3306) as direct, self._writes_at_will("gate", GATE_PORT) as through:
                found += samples(self._stack, seconds)
                for load in (reads, direct, through):
                    load.lasts()
            end = time.monotonic()
            found += samples(self._stack, BACK_SECONDS)
            reads.lasts()
        self._stack.await_position("satellite-1", self._stack.position())
        return timeline.burst(found, begin, end)

    # --- limits that find themselves ----------------------------------------------------------------------------

    def _limits(self):
        possible = [cores for cores in self._settings.limit_cores if self._satellite.has_cores(cores)]
        with self._satellite.changed():
            found = {"cores": {cores: self._sweep(cores) for cores in possible}}
            if possible:
                found["recovered_s"] = self._halved(max(possible))
                found["moved"] = self._other_mix(max(possible))
        return found

    @contextlib.contextmanager
    def _found(self, cores, mix=USUAL_MIX):
        """Reads while the gate has had its time to find the limit."""
        self._satellite.set_cores(cores)
        self._satellite.limit(None)
        with self._reading(mix) as reads:
            reads.await_first()
            time.sleep(self._settings.limit_find_seconds)
            yield reads

    def _sweep(self, cores):
        """{limit, None being auto: {queries, p99, limit}}, medians of what was measured in turns."""
        measured = {}
        with self._found(cores) as reads:
            for number in self._settings.limits:
                for limit in (None, number):
                    self._satellite.limit(limit)
                    time.sleep(AGAIN_SECONDS)
                    measured.setdefault(limit, []).append(self._at_limit(reads))
        for limit, each in measured.items():
            shown = figures.over_runs(each)
            say(f"{cores / 100} cores, {limit or 'auto'}: {shown['queries']:.0f} queries/s, p99 {shown['p99']} ms, limit {shown['limit']}")
        return {limit: figures.over_runs(each) for limit, each in measured.items()}

    def _at_limit(self, reads):
        found = reads.measure(self._settings.limit_seconds)
        return {**found, "limit": sample(self._stack)[1]["limit"]}

    def _halved(self, cores):
        say(f"half of {cores / 100} cores")
        with self._found(cores) as reads:
            self._satellite.set_cores(cores // 2)
            changed = time.monotonic()
            found = samples(self._stack, HALVED_SECONDS)
            reads.lasts()
        return timeline.recovered(found, changed, found[-1][0] - SETTLED_SECONDS)

    def _other_mix(self, cores):
        say("another mix of reads")
        settled = []
        for mix in (USUAL_MIX, HEAVY_MIX):
            self._satellite.set_cores(cores)
            with self._reading(mix) as reads:
                reads.await_first()
                time.sleep(self._settings.limit_find_seconds)
                seen = samples(self._stack, SETTLED_SECONDS)
                reads.lasts()
            settled.append(figures.median(values["limit"] for _, values in seen))
        return {"before": settled[0], "after": settled[1], "moved": timeline.moved(*settled)}

    # --- saturated by reads, under writes -----------------------------------------------------------------------

    def _saturated(self, seconds):
        with self._satellite.changed():
            self._satellite.set_cores(100)
            return {name: self._saturated_at(limit, seconds) for name, limit in (("auto", None), ("fixed", 64))}

    def _saturated_at(self, limit, seconds):
        """{reads: a second, lag_p50_ms, lag_p99_ms, written: transactions/s, limit}"""
        say(f"saturated by eventual reads, limit {limit or 'auto'}")
        rate, find = self._settings.saturated_rate, self._settings.limit_find_seconds
        self._satellite.limit(limit)
        with contextlib.ExitStack() as probing:
            with self._cells.writing(rate, WRITE_HEAD_SECONDS + find + seconds + SPARE_SECONDS) as load, self._reading(USUAL_MIX) as reads:
                reads.await_first()
                time.sleep(find)
                probes = probing.enter_context(self._cells.probes(rate))
                begin, first = time.monotonic(), self._stack.position()
                found = {**reads.measure(seconds), "limit": sample(self._stack)[1]["limit"]}
                end, last = time.monotonic(), self._stack.position()
                lasted(load)
            # A satellite that has fallen behind shows what it lacks once reads and writes have ended.
            lag = self._cells.lag(probes, begin, end)
        written = figures.rate(last - first, end - begin)
        return {"reads": found["queries"], "limit": found["limit"], "lag_p50_ms": lag["p50"], "lag_p99_ms": lag["p99"], "written": written}
