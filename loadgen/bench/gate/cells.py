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
from stack import buckets, total
from sysbench import HERE, Probe, await_checkpoint

OLTP, RESULTS, OWN = HERE.parent / "oltp.lua", HERE / "results.lua", HERE / "own.lua"
QUIET = ("--size=120", "--rows=1000")  # a row of sysbench's own tables is as long
OWN_ROWS = "--rows=10000"
SPARE_SECONDS = 60  # a run that takes so much longer than asked has hung
EDGE_SECONDS = 0.3  # CPU is looked at for so much less than the run measures: connecting and leaving are not in it
WRITE_HEAD_SECONDS = 2  # of the load, before anything is measured under it
SEEN_SECONDS = 30  # until a probe has told what its server has
PROBES_PER_SECOND = 50
COUNTERS = {
    "at_master": "gtid_gate_fallbacks_total",
    "waited": "gtid_gate_waits_total",
    "by_tables": "gtid_gate_table_reads_total",
    "for_stream": "gtid_gate_table_waits_total",
}
KNOWN = "gtid_gate_table_stream_seconds"
STOCK = {"point-select": "oltp_point_select", "read-only": "oltp_read_only"}


def script_of(cell, settings):
    """The sysbench script of a cell, and the options that choose its work."""
    if cell.quiet:
        return RESULTS, QUIET
    if cell.workload == "long-text":
        return RESULTS, (*QUIET, f"--text={cell.size}")
    if cell.workload == "result":
        return RESULTS, (f"--size={cell.size}", f"--rows={rows_of(cell.size)}")
    return OLTP, (f"--workload={STOCK[cell.workload]}", *settings.tables)


def rows_of(size):
    """As many as fit into 16 MiB, within reason."""
    return max(4, min(256, (16 << 20) // size))


def session_of(contender, master_reads="fallback"):
    """What a session through the gate chooses. Satellites are what is measured: the master answers sooner only where that is it."""
    sql = f"SET @multimed_consistency = '{contender.name}', @multimed_master_reads = '{master_reads}'"
    return (f"--session-sql={sql}",) if contender.name in plan.THROUGH_GATE else ()


def options_of(cell, contender, seconds):
    """How sysbench runs a cell: counters begin anew when the warm-up is over."""
    return (
        f"--mysql-port={contender.port}",
        f"--threads={cell.connections}",
        f"--time={plan.WARM_UP_SECONDS + seconds}",
        f"--report-checkpoints={plan.WARM_UP_SECONDS}",
        f"--db-ps-mode={'disable' if cell.mode == 'text' else 'auto'}",
        *session_of(contender),
    )


def own_options(contender, seconds):
    return (
        f"--mysql-port={contender.port}",
        OWN_ROWS,
        f"--warm-up={plan.WARM_UP_SECONDS}",
        f"--seconds={seconds}",
        *session_of(contender, "spare"),
        "measure",
    )


def own_reading(report, seconds):
    """{queries, p50, p99, stale: share of the reads} from the JSON of own.lua."""
    return {
        "queries": figures.rate(report["reads"], seconds),
        "p50": report.get("p50_ms"),
        "p99": report.get("p99_ms"),
        "stale": figures.ratio(report["stale"], report["reads"]),
    }


def known(before, after):
    """Milliseconds from a commit until the gate knows its tables, from its histogram at both ends."""
    quantiles = (("known_p50_ms", 0.5), ("known_p99_ms", 0.99))
    return {name: figures.product(figures.bucket_quantile(before, after, share), 1000) for name, share in quantiles}


def shares(before, after, reads):
    """{name: share of the reads} of what the gate has counted meanwhile."""
    return {name: figures.ratio(after[name] - before[name], reads) for name in before}


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
        if cell.workload == "own-write":
            return self._own_write(contender, seconds)
        if not cell.writes:
            return self._read(cell, contender, seconds)
        with self.writing(self._settings.write_rate, WRITE_HEAD_SECONDS + plan.WARM_UP_SECONDS + seconds) as load:
            time.sleep(WRITE_HEAD_SECONDS)
            found = self._under_writes(cell, contender, seconds)
            lasted(load)
            return found

    def _own_write(self, contender, seconds):
        command = self._write_sysbench.command(OWN, contender.host, *own_options(contender, seconds))
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds + SPARE_SECONDS)
        except subprocess.TimeoutExpired as late:
            raise OSError(f"own.lua did not end against {contender.name}") from late
        if done.returncode:
            raise OSError(f"own.lua failed against {contender.name}:\n{done.stdout[-2000:]}")
        return own_reading(json.loads(done.stdout.splitlines()[-1]), seconds)

    # --- reads --------------------------------------------------------------------------------------------------

    def _read(self, cell, contender, seconds):
        report = self._folder / "report.json"
        report.unlink(missing_ok=True)
        self._stack.await_room("satellite-1", cell.connections)
        script, work = script_of(cell, self._settings)
        sysbench = self._write_sysbench if cell.writes else self._sysbench
        running = subprocess.Popen(
            sysbench.command(script, contender.host, *work, *options_of(cell, contender, seconds), f"--report={report}", "run"),
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
    def writing(self, rate, seconds):
        """The master is written to at the wanted rate, for these seconds at least; afterwards the satellite has everything."""
        log = self._folder / "writes.log"
        with open(log, "w") as output:
            load = subprocess.Popen(
                self._write_sysbench.command(
                    OLTP,
                    self._stack.address("master"),
                    f"--workload={self._settings.write_workload}",
                    f"--rate={rate}",
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
        """A cell's figures, with those of the writes: lag (p50, ms), written (transactions/s), and shares of the reads (COUNTERS)."""
        with self.probes(self._settings.write_rate) as probes:
            begin, before, counted = time.monotonic(), self._stack.position(), self._counted()
            found = self._read(cell, contender, seconds)
            end, after = time.monotonic(), self._stack.position()
            # The lag of the first second is the warm-up's.
            lag = self.lag(probes, begin + plan.WARM_UP_SECONDS, end - EDGE_SECONDS)["p50"]
        # The warm-up's reads are counted by the gate, so they count here.
        reads = found["queries"] * (end - begin)
        gate = shares(counted, self._counted(), reads) if contender.name in plan.THROUGH_GATE else {}
        return {**found, "lag": lag, "written": figures.rate(after - before, end - begin), **gate}

    def stream(self, rate, seconds):
        """{known_…, visible_…: milliseconds from a commit until the gate knows its tables, until a satellite shows it; reached: a second}"""
        with self.writing(rate, WRITE_HEAD_SECONDS + seconds) as load:
            time.sleep(WRITE_HEAD_SECONDS)
            with self.probes(rate) as probes:
                begin, first, before = time.monotonic(), self._stack.position(), self._known()
                time.sleep(seconds)
                end, last, after = time.monotonic(), self._stack.position(), self._known()
                lag = self.lag(probes, begin, end - EDGE_SECONDS)
            lasted(load)
        visible = {f"visible_{name}_ms": lag[name] for name in ("p50", "p99")}
        return {**known(before, after), **visible, "reached": figures.rate(last - first, end - begin)}

    @contextlib.contextmanager
    def probes(self, rate):
        """{service: Probe} of the transactions to come, about so many a second as are looked at."""
        first, step = self._stack.position() + rate // 4 + 1, max(1, rate // PROBES_PER_SECOND)
        with contextlib.ExitStack() as cleanup:
            probes = {}
            for service in ("master", "satellite-1"):
                probes[service] = Probe(self._write_sysbench, self._stack.address(service), self._stack.uuid, first, step)
                cleanup.callback(probes[service].close)
            yield probes

    def _counted(self):
        metrics = self._stack.metrics("gate")
        return {name: total(metrics, metric) for name, metric in COUNTERS.items()}

    def _known(self):
        return buckets(self._stack.metrics("gate"), KNOWN)

    @staticmethod
    def lag(probes, begin, end):
        """Quantiles, in milliseconds, of the transactions that the master had within that time."""
        master, satellite = (dict(probes[service].seen) for service in ("master", "satellite-1"))
        last = max((number for number, seen in master.items() if begin <= seen < end), default=None)
        if last is None:
            raise OSError("the master was not written to under the load that should have done so")
        deadline = time.monotonic() + SEEN_SECONDS
        while last not in satellite and time.monotonic() < deadline:
            time.sleep(0.05)
            satellite = dict(probes["satellite-1"].seen)
        return figures.quantiles(figures.lags(master, satellite, begin, end))


def lasted(load):
    if load.poll() is not None:
        raise OSError(f"the write load has ended early:\n{load.log.read_text()[-2000:]}")
