"""One load measured: sysbench's tpcw.lua against a contender, with CPU, lag and waits meanwhile.

In:  a contender that is up, a Cell. Out: a run, as outcome.py and results.py take it. Must never: count what the warm-up did, or take the
figures of a run that failed.
"""

import contextlib
import json
import pathlib
import subprocess
import threading
import time

import figures
from sysbench import HERE, await_checkpoint
from tpcw import override, plan, samples

TPCW = HERE.parent / "tpcw.lua"
SPARE_SECONDS = 180  # a run that takes so much longer than asked has hung; a thousand clients end late
EDGE_SECONDS = 0.3  # the last look comes so much before what is measured ends
LEAVE_SECONDS = 1  # the load goes on behind what is measured: clients that leave one by one are not in it
TOLERANCE = 0.1  # a measurement that lasted longer or shorter than asked by more was held up by something else
LOOK_SECONDS = 1
UNTIL_KILLED_SECONDS = 100000
LATENCIES = ("avg", "p50", "p90", "p95", "p99")


def options_of(cell, port, settings, warm_up, seconds):
    """Counters begin anew when the warm-up is over, and are told when what is measured ends. The same statements for everybody:
    transactions that only read say so."""
    return (
        f"--mysql-port={port}",
        f"--threads={cell.clients}",
        f"--time={warm_up + seconds + LEAVE_SECONDS}",
        f"--report-checkpoints={warm_up},{warm_up + seconds}",
        "--report-interval=0",
        f"--mix={cell.mix}",
        "--split=auto",
        f"--db-ps-mode={'disable' if settings.protocol == 'text' else 'auto'}",
        *settings.scale,
        *((f"--rate={cell.rate}",) if cell.rate else ()),
        *((f"--session-sql={cell.session_sql}",) if cell.session_sql else ()),
    )


def told(report):
    """What a run keeps of tpcw.lua's report, of all interactions or of one."""
    return {
        **{name: report[name] for name in ("count", "wips", "errors", "retries")},
        **{name: report["latency_ms"].get(name) for name in LATENCIES},
    }


def over_run(looks, wips):
    """What happened between the first look and the last; cpu_ms: {service: milliseconds an interaction}."""
    whole = samples.between(looks[0], looks[-1])
    lags = [lag for look in looks if look["gate"] for lag in look["gate"]["lag_ms"].values() if lag is not None]
    cpu_ms = {service: figures.product(figures.ratio(cores, wips), 1000) for service, cores in whole["cpu"].items()}
    return {
        "cpu_cores": whole["cpu"],
        "cpu_ms": cpu_ms,
        **{name: whole[name] for name in samples.COUNTERS},
        "lag_ms_p50": figures.percentile(lags, 0.5),
        "lag_ms_max": max(lags, default=None),
    }


def run_of(contender, cell, report, looks):
    """Plain data: it becomes JSON."""
    return {
        "contender": contender.name,
        "kind": contender.kind,
        "satellites": contender.satellites,
        "mix": cell.mix,
        "clients": cell.clients,
        "seconds": report["seconds"],
        "queries_per_second": report["queries_per_second"],
        **told(report),
        "commit_p50": report["commits"]["latency_ms"].get("p50"),
        "commit_p99": report["commits"]["latency_ms"].get("p99"),
        "interactions": {name: told(each) for name, each in report["interactions"].items()},
        **over_run(looks, report["wips"]),
        "samples": samples.series(looks),
    }


class Runner:
    def __init__(self, settings, sysbench):
        self._settings, self._sysbench = settings, sysbench
        self._report = pathlib.Path(settings.state) / "report.json"
        self._measured = pathlib.Path(f"{self._report}.2")  # at the second checkpoint

    def warm_up(self, stage, cell):
        """Buffer pools, connections, the JVMs' compilers. Nothing counts."""
        with self._load(stage, cell, 1, self._settings.warm_up_seconds):
            pass

    def measure(self, stage, cell, door=None):
        """door: (host, port) if it is not the contender's own."""
        warm_up, seconds = self._settings.cell_warm_up_seconds, self._settings.seconds
        with self._heavy(stage, cell), self._load(stage, cell, warm_up, seconds, door) as load:
            load.said = await_checkpoint(load.stdout)
            looks = self._watch(stage.watcher, load)
        report = json.loads(self._measured.read_text())
        if abs(report["seconds"] / self._settings.seconds - 1) > TOLERANCE:
            raise OSError(
                f"{stage.contender.name}, {cell.mix}, {cell.clients} clients: measured for {report['seconds']:.1f} s instead of"
                f" {self._settings.seconds}: the machine is too busy for sysbench (BENCH_LOAD_CPUS gives it cores of its own)"
            )
        return run_of(stage.contender, cell, report, looks)

    def _watch(self, watcher, load):
        end = time.monotonic() + self._settings.seconds - EDGE_SECONDS
        looks = [watcher.look()]
        while load.poll() is None and (left := end - time.monotonic()) > 0:
            time.sleep(min(LOOK_SECONDS, left))
            looks.append(watcher.look())
        return looks

    @contextlib.contextmanager
    def _heavy(self, stage, cell):
        """Connections that ask for best sellers as long as the load runs; if they end before it, something is wrong."""
        if not cell.heavy:
            yield
            return
        beside = plan.Cell("best_sellers", cell.heavy, session_sql=cell.session_sql)
        command = self._command(stage.door, beside, 0, UNTIL_KILLED_SECONDS, self._report.with_name("heavy.json"))
        heavy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
            if heavy.poll() is not None:
                raise OSError(f"best sellers beside {stage.contender.name}, {cell.mix} ended: sysbench's status {heavy.returncode}")
        finally:
            heavy.kill()
            heavy.wait()

    @contextlib.contextmanager
    def _load(self, stage, cell, warm_up, seconds, door=None):
        """sysbench, for as long as it runs; afterwards there is its report."""
        self._measured.unlink(missing_ok=True)
        for server in override.servers(stage.contender):
            stage.stack.await_room(server, cell.clients)
        command = self._command(door or stage.door, cell, warm_up, seconds, self._report)
        load = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        load.said = ""
        watch = threading.Timer(warm_up + seconds + SPARE_SECONDS, load.kill)
        watch.start()
        try:
            yield load
            load.said += load.stdout.read()
            load.wait()
        finally:
            watch.cancel()
            load.kill()
            load.wait()
            load.stdout.close()
        if load.returncode or not self._measured.exists():
            raise OSError(f"sysbench failed against {stage.contender.name}, {cell.mix}, {cell.clients} clients:\n{load.said[-2000:]}")

    def _command(self, door, cell, warm_up, seconds, report):
        host, port = door
        pinned = ("taskset", "--cpu-list", self._settings.load_cpus) if self._settings.load_cpus else ()
        options = options_of(cell, port, self._settings, warm_up, seconds)
        return (*pinned, *self._sysbench.command(TPCW, host, *options, f"--report={report}", "run"))
