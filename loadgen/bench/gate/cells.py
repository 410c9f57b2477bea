"""One cell measured: sysbench against one contender, CPU and memory meanwhile, and under writes the load and the lag.

In:  the running stack, a Contender, a Cell. Out: figures, in the shape that outcome.py takes.
Must never: count what the warm-up did, or take the figures of a run that failed.
"""

import contextlib
import json
import pathlib
import subprocess
import threading
import time

import figures
import process
from gate import plan
from sysbench import HERE, Probe, await_checkpoint

OLTP, RESULTS = HERE.parent / "oltp.lua", HERE / "results.lua"
SPARE_SECONDS = 60  # a run that takes so much longer than asked has hung
EDGE_SECONDS = 0.3  # CPU is looked at for so much less than the run measures: connecting and leaving are not in it
WRITE_HEAD_SECONDS = 2  # of the load, before anything is measured under it
SEEN_SECONDS = 30  # until a probe has told what its server has
PROBES_PER_SECOND = 50
STOCK = {"point-select": "oltp_point_select", "read-only": "oltp_read_only"}


def script_of(cell, settings):
    """The sysbench script of a cell, and the options that choose its work."""
    if cell.workload == "result":
        return RESULTS, (f"--size={cell.size}", f"--rows={rows_of(cell.size)}")
    return OLTP, (f"--workload={STOCK[cell.workload]}", *settings.tables)


def rows_of(size):
    """As many as fit into 16 MiB, within reason."""
    return max(4, min(256, (16 << 20) // size))


def options_of(cell, contender, seconds):
    """How sysbench runs a cell: counters begin anew when the warm-up is over."""
    level = (f"--session-sql=SET @multimed_consistency = '{contender.name}'",) if contender.name in plan.THROUGH_GATE else ()
    return (
        f"--mysql-port={contender.port}",
        f"--threads={cell.connections}",
        f"--time={plan.WARM_UP_SECONDS + seconds}",
        f"--report-checkpoints={plan.WARM_UP_SECONDS}",
        f"--db-ps-mode={'disable' if cell.mode == 'text' else 'auto'}",
        *level,
    )


def reading(report):
    """{queries, p50, p99} from the JSON of a run."""
    latency = report["latency_ms"]
    return {"queries": report["queries_per_second"], "p50": latency.get("p50"), "p99": latency.get("p99")}


def micros(before, after, queries):
    """CPU microseconds a query. before, after: (time, CPU seconds), None if nobody was looked at; queries: a second."""
    if before is None or after is None:
        return None
    return figures.product(figures.ratio(figures.rate(after[1] - before[1], after[0] - before[0]), queries), 1e6)


class Cells:
    def __init__(self, stack, settings, sysbench, write_sysbench):
        self._stack, self._settings = stack, settings
        self._sysbench, self._write_sysbench = sysbench, write_sysbench
        self._folder = pathlib.Path(settings.state)

    def measure(self, cell, contender):
        seconds = plan.seconds_of(cell, self._settings)
        if not cell.writes:
            return self._read(cell, contender, seconds)
        with self.writing(WRITE_HEAD_SECONDS + plan.WARM_UP_SECONDS + seconds) as load:
            time.sleep(WRITE_HEAD_SECONDS)
            found = self._under_writes(cell, contender, seconds)
            lasted(load)
            return found

    # --- reads --------------------------------------------------------------------------------------------------

    def _read(self, cell, contender, seconds):
        report = self._folder / "report.json"
        report.unlink(missing_ok=True)
        self._stack.await_room("satellite-1", cell.connections)
        script, work = script_of(cell, self._settings)
        running = subprocess.Popen(
            self._sysbench.command(script, contender.host, *work, *options_of(cell, contender, seconds), f"--report={report}", "run"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        watch = threading.Timer(seconds + SPARE_SECONDS, running.kill)
        watch.start()
        try:
            said = await_checkpoint(running.stdout)
            before = self._look(contender)
            time.sleep(max(EDGE_SECONDS, seconds - EDGE_SECONDS))
            memory = process.resident_mib(contender.process) if contender.process else None
            after = self._look(contender)
            said += running.stdout.read()
            running.wait()
        finally:
            watch.cancel()
            running.kill()
            running.wait()
        if running.returncode or not report.exists():
            raise OSError(f"sysbench failed against {contender.name}, {cell.connections} connections:\n{said[-2000:]}")
        found = reading(json.loads(report.read_text()))
        return {
            **found,
            "proxy_us": micros(before["proxy"], after["proxy"], found["queries"]),
            "mysqld_us": micros(before["mysqld"], after["mysqld"], found["queries"]),
            "memory": memory,
        }

    def _look(self, contender):
        """{proxy, mysqld: (time, CPU seconds)}"""
        proxy = (time.monotonic(), process.cpu_seconds(contender.process)) if contender.process else None
        return {"proxy": proxy, "mysqld": (time.monotonic(), self._stack.docker.cpu_seconds(self._stack.ids["satellite-1"]))}

    # --- under writes -------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self, seconds):
        """The master is written to at the wanted rate, for these seconds at least; afterwards the satellite has everything."""
        log = self._folder / "writes.log"
        with open(log, "w") as output:
            load = subprocess.Popen(
                self._write_sysbench.command(
                    OLTP,
                    self._stack.address("master"),
                    f"--workload={self._settings.write_workload}",
                    f"--rate={self._settings.write_rate}",
                    f"--threads={self._settings.write_threads}",
                    f"--time={seconds + SPARE_SECONDS}",
                    *self._settings.tables,
                    "run",
                ),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        load.log = log
        try:
            yield load
        finally:
            load.terminate()
            load.wait()
        self._stack.await_position("satellite-1", self._stack.position())

    def _under_writes(self, cell, contender, seconds):
        """A cell's figures, with those of the writes: lag (p50, ms), written (transactions/s), at_master (share of the reads)."""
        step = max(1, self._settings.write_rate // PROBES_PER_SECOND)
        first = self._stack.position() + self._settings.write_rate // 4 + 1
        with contextlib.ExitStack() as cleanup:
            probes = {}
            for service in ("master", "satellite-1"):
                probes[service] = Probe(self._write_sysbench, self._stack.address(service), self._stack.uuid, first, step)
                cleanup.callback(probes[service].close)
            begin, before, fallbacks = time.monotonic(), self._stack.position(), self._fallbacks()
            found = self._read(cell, contender, seconds)
            end, after = time.monotonic(), self._stack.position()
            # The lag of the first second is the warm-up's.
            lag = self._lag(probes, begin + plan.WARM_UP_SECONDS, end - EDGE_SECONDS)
        reads = found["queries"] * (end - begin)
        at_master = figures.ratio(self._fallbacks() - fallbacks, reads) if contender.name in plan.THROUGH_GATE else None
        return {**found, "lag": lag, "written": figures.rate(after - before, end - begin), "at_master": at_master}

    def _fallbacks(self):
        return self._stack.metric("gate", "gtid_gate_fallbacks_total")

    @staticmethod
    def _lag(probes, begin, end):
        """Milliseconds, p50, of the transactions that the master had within that time."""
        master, satellite = (dict(probes[service].seen) for service in ("master", "satellite-1"))
        last = max((number for number, seen in master.items() if begin <= seen < end), default=None)
        if last is None:
            raise OSError("the master was not written to under the load that should have done so")
        deadline = time.monotonic() + SEEN_SECONDS
        while last not in satellite and time.monotonic() < deadline:
            time.sleep(0.05)
            satellite = dict(probes["satellite-1"].seen)
        return figures.quantiles(figures.lags(master, satellite, begin, end))["p50"]


def lasted(load):
    if load.poll() is not None:
        raise OSError(f"the write load has ended early:\n{load.log.read_text()[-2000:]}")
