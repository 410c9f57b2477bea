"""What the tests of bench-tpcw share: settings, made-up runs. No server needed."""

import os
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))
from tpcw import plan, results, runner, settings  # noqa: E402

GOOD = {
    "BENCH_CONTENDERS": "multimed single replicas",
    "BENCH_MIXES": "shopping browsing",
    "BENCH_CLIENTS": "8 1000",
    "BENCH_HEAD_CLIENTS": "32",
    "BENCH_SATELLITES": "2 1",
    "BENCH_SECONDS": "8",
    "BENCH_CELL_WARM_UP_SECONDS": "2",
    "BENCH_WARM_UP_SECONDS": "20",
    "BENCH_PARTS": "commits light index",
    "BENCH_ROUNDS": "3",
    "BENCH_LIGHT_RATE": "100",
    "BENCH_LIGHT_CLIENTS": "16",
    "BENCH_LIGHT_MASTER_READS": "fallback",
    "BENCH_HEAVY_CLIENTS": "2",
    "BENCH_HEAVY_MS": "5",
    "BENCH_OWN_INDEXES": "order_line(ol_i_id,ol_qty)",
    "BENCH_ITEMS": "1000",
    "BENCH_EBS": "10",
    "BENCH_SEED": "1",
    "BENCH_LOAD_THREADS": "4",
    "BENCH_SATELLITE_DATA": "memory",
    "BENCH_PROTOCOL": "prepared",
    "BENCH_MASTER_OPTIONS": "--table-open-cache=9 --innodb-io-capacity=2000",
    "BENCH_SINGLE_OPTIONS": "--loose-x=ON",
    "BENCH_CPUS": "",
    "BENCH_LOAD_CPUS": "",
    "BENCH_PORTS": "28033",
    "BENCH_CONFIG_FILE": "/secret/file",
    "BENCH_USER": "secret-user",
    "GATE_CONSISTENCY": "strong",
}
GIB = 1 << 30
HERE = {"cores": "0-3", "memory": 64 * GIB, "core_count": 4, "facts": {"processor": "a <fast> one"}}
LATE, APART = plan.Contender("lagging", 2), plan.Contender("apart", 2)
SINGLE, NATIVE, ONE, TWO = (plan.Contender(*each) for each in (("single",), ("replicas", 2), ("multimed", 1), ("multimed", 2)))


def defaults_of_the_script(cores):
    """The environment that loadgen/bench-tpcw hands on, on a machine with so many cores."""
    script = (BENCH.parent / "bench-tpcw").read_text()
    body = script[script.index("satellite_counts() {") : script.index("# lay_out:")]
    done = subprocess.run(
        ["bash", "-ec", f"root=/r bench_state=/s\nnproc() {{ echo {cores}; }}\n{body}\ndefaults\nenv -0"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(each.split("=", 1) for each in done.stdout.split("\0") if each)


def good(**changes):
    return settings.read({**GOOD, **changes}, range(48))


def figures(wips, p99):
    return {
        "count": 10 * wips,
        "wips": float(wips),
        "errors": 0,
        "retries": 1,
        "latency_ms": {"avg": 2.0, "p50": 1.0, "p90": 3.0, "p95": 4.0, "p99": p99},
    }


def look(time, **cpu):
    gate = {
        "waits": 10 * time,
        "waited": time / 10,
        "fallbacks": 0,
        "reads": 100 * time,
        "hopeless": 5 * time,
        "table_reads": 80 * time,
        "table_waits": 20 * time,
        "table_gave_up": 2 * time,
        "lag_ms": {"satellite-1": 4 * time},
        "lag_transactions": {"satellite-1": 3},
    }
    return {
        "time": time,
        "cpu": {name.replace("_", "-"): used * time for name, used in cpu.items()},
        "gate": gate if "gate" in cpu else None,
    }


def run_of(contender, mix="browsing", clients=32, wips=100, p99=50.0, **cpu):
    """A run of two seconds; cpu: cores that each service uses."""
    report = {
        **figures(wips, p99),
        "seconds": 8.01,
        "queries_per_second": 5.0 * wips,
        "commits": {"count": wips, "latency_ms": {"p50": 0.5, "p99": p99 / 10}},
        "interactions": {"home": figures(wips, p99), "best_sellers": {**figures(0, None), "latency_ms": {}}},
    }
    return runner.run_of(contender, plan.Cell(mix, clients), report, [look(second, **cpu) for second in (1, 2, 3)])


def head(mix="browsing"):
    return [
        run_of(SINGLE, mix, wips=200, p99=40.0, master=1.0),
        run_of(NATIVE, mix, wips=120, master=0.3, satellite_1=0.4, satellite_2=0.4, gate=0.1),
        run_of(ONE, mix, wips=150, p99=60.0, master=0.15, satellite_1=0.8, gate=0.2, kafka=0.1, capture=0.1, applier_1=0.2),
        run_of(
            TWO,
            mix,
            wips=100,
            p99=80.0,
            master=0.2,
            satellite_1=0.4,
            satellite_2=0.4,
            gate=0.2,
            kafka=0.1,
            capture=0.1,
            applier_1=0.1,
            applier_2=0.1,
        ),
    ]


def late():
    return {name: run_of(LATE, "shopping", wips=80, master=0.2, gate=0.2) for name in ("lagging", "blind")}


def everything(runs=None, complete=True, late=None, parts=None):
    return results.results(
        good(),
        HERE,
        {"size": "90 MiB"},
        {"single": {"master": {"sync_binlog": "1"}}},
        {"single": ["consistent"]},
        head() if runs is None else runs,
        complete,
        late,
        parts,
    )
