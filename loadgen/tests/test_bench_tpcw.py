"""What bench-tpcw plans, tells Compose, and makes of its measurements. No server needed."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))
import process  # noqa: E402
import stack  # noqa: E402
from tpcw import __main__ as main  # noqa: E402
from tpcw import machine, memory, outcome, override, plan, results, runner, samples, settings, tables  # noqa: E402

GOOD = {
    "BENCH_CONTENDERS": "multimed single replicas",
    "BENCH_MIXES": "shopping browsing",
    "BENCH_CLIENTS": "8 1000",
    "BENCH_HEAD_CLIENTS": "32",
    "BENCH_SATELLITES": "2 1",
    "BENCH_SECONDS": "8",
    "BENCH_CELL_WARM_UP_SECONDS": "2",
    "BENCH_WARM_UP_SECONDS": "20",
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
LATE = plan.Contender("lagging", 2)
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
        "latency_ms": {"avg": 2.0, "p50": 1.0, "p90": 3.0, "p99": p99},
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


def everything(runs=None, complete=True, late=None):
    return results.results(
        good(),
        HERE,
        {"size": "90 MiB"},
        {"single": {"master": {"sync_binlog": "1"}}},
        {"single": ["consistent"]},
        head() if runs is None else runs,
        complete,
        late,
    )


class Settings(unittest.TestCase):
    def test_good_ones(self):
        found = good()
        self.assertEqual((found.contenders, found.mixes), (("single", "replicas", "multimed"), ("browsing", "shopping")))
        self.assertEqual((found.clients, found.satellites, found.most_satellites, found.carts), ((8, 32, 1000), (1, 2), 2, 1000))
        self.assertEqual(found.sizes.satellite_memory, 2 * GIB)

    def test_all_mistakes_at_once(self):
        with self.assertRaises(ValueError) as caught:
            good(
                BENCH_CONTENDERS="router",
                BENCH_MIXES="",
                BENCH_CLIENTS="0",
                BENCH_SATELLITES="",
                BENCH_ITEMS="5",
                BENCH_SATELLITE_DATA="tape",
                BENCH_MASTER_OPTIONS="innodb-x",
                BENCH_CPUS="0-",
                BENCH_PORTS="1",
                MASTER_MEMORY="much",
                BENCH_PROTOCOL="binary",
            )
        text = str(caught.exception)
        for name in (
            "CONTENDERS",
            "MIXES",
            "CLIENTS",
            "SATELLITES",
            "ITEMS",
            "SATELLITE_DATA",
            "MASTER_OPTIONS",
            "CPUS",
            "PORTS",
            "PROTOCOL",
        ):
            self.assertRegex(text, rf"(?m)^BENCH_{name}")
        self.assertIn("MASTER_MEMORY=much", text)

    def test_durability_is_not_for_sale(self):
        for option in ("--sync-binlog=0", "--loose-innodb_flush_log_at_trx_commit=2", "--skip-log-bin"):
            with self.assertRaisesRegex(ValueError, "durable"):
                good(BENCH_MASTER_OPTIONS=option)

    def test_cores_of_load_and_servers_come_together(self):
        self.assertEqual(good(BENCH_CPUS="0-3,6", BENCH_LOAD_CPUS="7").load_cpus, "7")
        for bad in ("3-0", "0-99999", "48", "0-7"):
            with self.assertRaisesRegex(ValueError, "BENCH_CPUS"):
                good(BENCH_CPUS=bad, BENCH_LOAD_CPUS="7")
        with self.assertRaisesRegex(ValueError, "both, or none"):
            good(BENCH_LOAD_CPUS="7")

    def test_the_process_ends_with_64_and_names_each(self):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "tpcw", "check"],
            capture_output=True,
            text=True,
            env={**os.environ, **GOOD, "BENCH_EBS": "x", "BENCH_SECONDS": "0", "PYTHONPATH": str(BENCH)},
        )
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr, r"(?s)bench: BENCH_SECONDS=0.*bench: BENCH_EBS=x")

    def test_nothing_to_say_about_the_scripts_own(self):
        for cores, satellites in ((1, (1, 2)), (2, (1, 2)), (16, (1, 2, 3)), (48, (1, 2, 4, 8, 11))):
            self.assertEqual(settings.read(defaults_of_the_script(cores), range(cores)).satellites, satellites)


class Plan(unittest.TestCase):
    def test_one_mysql_first_and_as_many_replicas_as_the_most_satellites(self):
        self.assertEqual([each.name for each in plan.contenders(good())], ["single", "replicas-2", "multimed-1", "multimed-2"])

    def test_clients_are_swept_with_the_most_satellites_only(self):
        self.assertEqual([cell.clients for cell in plan.cells(good(), ONE)], [32, 32])
        self.assertEqual(
            [(cell.mix, cell.clients) for cell in plan.cells(good(), TWO)],
            [("browsing", 32), ("shopping", 32), ("browsing", 8), ("browsing", 1000), ("shopping", 8), ("shopping", 1000)],
        )
        for contender in (SINGLE, NATIVE, TWO):
            self.assertEqual(len(plan.cells(good(), contender)), 2 * 3)

    def test_every_contender_has_the_head_of_every_mix(self):
        for contender in plan.contenders(good()):
            self.assertEqual({cell.mix for cell in plan.cells(good(), contender) if cell.clients == 32}, {"browsing", "shopping"})

    def test_late_satellites_have_one_load_twice(self):
        self.assertEqual(plan.contenders(good(BENCH_CONTENDERS="lagging single")), [SINGLE, LATE])
        self.assertEqual(plan.cells(good(), LATE), 2 * [plan.Cell("shopping", 32)])

    def test_warming_up_writes_and_can_be_left_out(self):
        self.assertEqual(plan.warm_up(good()), plan.Cell("shopping", 32))
        self.assertIsNone(plan.warm_up(good(BENCH_WARM_UP_SECONDS="0")))

    def test_the_defaults_end_in_twenty_minutes(self):
        """On two cores."""
        self.assertLess(plan.estimate(settings.read(defaults_of_the_script(2), range(2))), 1150)


class Memory(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual([memory.bytes_of(text) for text in ("512m", "2G", "4096")], [512 << 20, 2 * GIB, 4096])
        for text in ("", "m", "2t", "-1g", "1.5g", "²"):
            with self.assertRaises(ValueError):
                memory.bytes_of(text)

    def test_few_satellites_have_the_memory_of_many(self):
        sizes = good().sizes
        for count in (1, 2, 4):
            self.assertEqual(memory.satellite(sizes, count, 4).limit * count, 4 * sizes.satellite_memory)
        one, four = memory.satellite(sizes, 1, 4), memory.satellite(sizes, 4, 4)
        self.assertEqual(four.buffer_pool, sizes.satellite_buffer_pool)
        self.assertEqual(one.limit - one.buffer_pool, four.limit - four.buffer_pool)

    def test_one_mysql_has_all_of_it_but_not_more_than_there_is(self):
        sizes = good().sizes
        self.assertEqual(memory.single(sizes, 2, 64 * GIB).limit, (2 + 2 * 2 + 1 + 1 + 2 * 3) * GIB)
        self.assertEqual(memory.single(sizes, 2, 8 * GIB).limit, 7 * GIB)


class Override(unittest.TestCase):
    def test_services(self):
        self.assertEqual(override.services(SINGLE), ["master"])
        self.assertEqual(override.services(NATIVE), ["master", "gate", "satellite-1", "satellite-2"])
        self.assertEqual(override.services(ONE), ["master", "gate", "satellite-1", "kafka", "capture", "applier-1"])
        self.assertEqual(override.servers(TWO), ["master", "satellite-1", "satellite-2"])

    def test_late_satellites_are_late_by_their_appliers_alone(self):
        self.assertEqual(override.services(LATE), override.services(TWO))
        text = override.text(LATE, good(), HERE)
        self.assertEqual((text.count('APPLIER_TEST_DELAY_MS: "20"'), text.count("GATE_TABLE_STREAM")), (2, 0))
        self.assertIn("  gate:\n    environment: {GATE_MASTER_READS: fallback}\n", text)
        self.assertIn('{GATE_MASTER_READS: fallback, GATE_TABLE_STREAM: ""}\n', override.text(LATE, good(), HERE, table_stream=False))
        self.assertNotIn("APPLIER_TEST", override.text(TWO, good(), HERE))

    def test_one_mysql_has_all_cores_and_its_own_options(self):
        text = override.text(SINGLE, good(), HERE)
        self.assertIn('command: ["--table-open-cache=9", "--innodb-io-capacity=2000", "--loose-x=ON"]', text)
        self.assertIn('cpuset: "0-3"', text)
        self.assertNotIn("satellite-1", text)

    def test_a_master_among_others_keeps_its_layout(self):
        text = override.text(TWO, good(), HERE)
        self.assertNotIn("cpuset", text)
        self.assertNotIn("loose", text)
        self.assertIn(f"  satellite-2:\n    mem_limit: {2 * GIB}\n", text)

    def test_satellites_on_disk_have_no_tmpfs_for_their_data(self):
        self.assertNotIn("tmpfs", override.text(TWO, good(), HERE))
        text = override.text(TWO, good(BENCH_SATELLITE_DATA="disk"), HERE)
        self.assertEqual(text.count('tmpfs: !override ["/run:mode=0755"]\n    volumes: [/var/lib/mysql]\n'), 2)


class Series(unittest.TestCase):
    def test_one_series_of_a_metric(self):
        self.assertEqual(stack.total('a{x="1"} 2\na{x="2"} 3\na{x="2",y="1"} 9\n', 'a{x="2"}'), 3)


class Samples(unittest.TestCase):
    METRICS = (
        'gtid_gate_waits_total 7\ngtid_gate_wait_seconds_sum 0.25\ngtid_gate_wait_seconds_count 7\ngtid_gate_fallbacks_total{a="b c"} 1\n'
        'gtid_gate_reads_by_level_total{level="eventual"} 9\ngtid_gate_reads_by_level_total{level="strong"} 40\n'
        'gtid_gate_table_reads_total 9\ngtid_gate_table_waits_total{outcome="told"} 2\ngtid_gate_table_waits_total{outcome="gave_up"} 1\n'
    )
    SERVERS = json.dumps(
        [
            {"role": "master", "name": "master", "lag_ms": None},
            {"role": "satellite", "name": "satellite-1", "lag_ms": 5, "lag_transactions": 2},
        ]
    )

    def test_what_a_look_keeps_of_the_gate(self):
        self.assertEqual(
            samples.of_gate(self.METRICS, self.SERVERS),
            {
                "waits": 7,
                "waited": 0.25,
                "fallbacks": 1,
                "reads": 40,
                "hopeless": 0,
                "table_reads": 9,
                "table_waits": 3,
                "table_gave_up": 1,
                "lag_ms": {"satellite-1": 5},
                "lag_transactions": {"satellite-1": 2},
            },
        )

    def test_counters_become_rates_and_lag_stays(self):
        found = samples.between(look(1, master=0.5, gate=0.1), look(3, master=0.5, gate=0.1))
        self.assertEqual((found["cpu"]["master"], found["waits"], found["lag_ms"]), (0.5, 10.0, {"satellite-1": 12}))

    def test_a_silent_gate_is_missing_not_zero(self):
        silent = {**look(2, master=0.5, gate=0.1), "gate": None}
        found = samples.between(look(1, master=0.5, gate=0.1), silent)
        self.assertEqual((found["waits"], found["lag_ms"], found["cpu"]["master"]), (None, {}, 0.5))

    def test_seconds_count_from_the_first_look(self):
        self.assertEqual([each["second"] for each in samples.series([look(second, master=1) for second in (5, 6, 7)])], [1, 2])

    def test_a_metric_is_summed_over_its_labels_and_not_mixed_with_longer_names(self):
        self.assertEqual(stack.total('a{x="1"} 2\na{x="2"} 3\na_total 9\n# HELP a 7\n', "a"), 5)


class Runner(unittest.TestCase):
    def test_the_same_statements_for_everybody_and_the_warm_up_apart(self):
        options = runner.options_of(plan.Cell("ordering", 200), 6034, good(), 2, 8)
        for option in (
            "--mysql-port=6034",
            "--threads=200",
            "--time=11",
            "--report-checkpoints=2,10",
            "--report-interval=0",
            "--mix=ordering",
            "--split=auto",
            "--db-ps-mode=auto",
            "--items=1000",
            "--ebs=10",
            "--seed=1",
        ):
            self.assertIn(option, options)
        self.assertIn("--db-ps-mode=disable", runner.options_of(plan.Cell("ordering", 1), 1, good(BENCH_PROTOCOL="text"), 2, 8))

    def test_cpu_is_told_for_each_interaction(self):
        run = run_of(SINGLE, wips=200, master=1.0)
        self.assertAlmostEqual(run["cpu_ms"]["master"], 5.0)
        self.assertIsNone(run_of(SINGLE, wips=0, master=1.0)["cpu_ms"]["master"])

    def test_an_interaction_that_never_came_has_no_latency(self):
        self.assertIsNone(run_of(SINGLE, master=1.0)["interactions"]["best_sellers"]["p99"])


class FakeSysbench:
    """Says that the warm-up is over, and then writes what it is given where the report is wanted."""

    def __init__(self, report, status=0):
        self._report, self._status = report, status

    def command(self, script, host, *options):
        path = next(option for option in options if option.startswith("--report=")).partition("=")[2]
        return [
            "sh",
            "-c",
            f"echo '[ 2s ] Checkpoint report:'; sleep .2; echo '{self._report}' > '{path}.2'; echo bye; exit {self._status}",
        ]


class FakeWatcher:
    def __init__(self):
        self.time = 0

    def look(self):
        self.time += 1
        return look(self.time, master=0.5)


class Load(unittest.TestCase):
    REPORT = json.dumps({**figures(100, 9.0), "seconds": 8.01, "queries_per_second": 500.0, "interactions": {"home": figures(100, 9.0)}})

    def measure(self, sysbench):
        stage = types.SimpleNamespace(
            contender=SINGLE, door=("h", 3306), watcher=FakeWatcher(), stack=types.SimpleNamespace(await_room=lambda server, clients: None)
        )
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("tpcw.runner.LOOK_SECONDS", 0.1):
            return runner.Runner(good(BENCH_STATE=folder), sysbench).measure(stage, plan.Cell("browsing", 8))

    def test_a_run_is_watched_until_it_ends_and_its_report_counts(self):
        run = self.measure(FakeSysbench(self.REPORT))
        self.assertEqual((run["contender"], run["clients"], run["wips"], run["cpu_ms"]), ("single", 8, 100.0, {"master": 5.0}))
        self.assertTrue(run["samples"])

    def test_a_measurement_that_was_held_up_is_none(self):
        with self.assertRaisesRegex(OSError, "measured for 9.5 s instead of 8"):
            self.measure(FakeSysbench(self.REPORT.replace("8.01", "9.5")))

    def test_a_run_that_failed_is_no_run_whatever_it_wrote(self):
        with self.assertRaisesRegex(OSError, "(?s)single, browsing, 8 clients.*bye"):
            self.measure(FakeSysbench(self.REPORT, 1))


class Run(unittest.TestCase):
    """All contenders, with nothing behind them."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        fakes = {
            "tpcw.stage.Stage": self.stage,
            "tpcw.stage.load": lambda settings, sysbench: 90,
            "tpcw.__main__.Runner": lambda *_: self,
            "tpcw.machine.server_settings": lambda stack, contender: {"master": {"version": "9"}},
            "tpcw.__main__.say": lambda text: None,
        }
        for name, fake in fakes.items():
            self.enterContext(unittest.mock.patch(name, fake))
        self.closed, self.failing = [], None

    def stage(self, contender, settings_, here):
        def check(sysbench):
            if contender.name == self.failing:
                raise OSError("a row differs")
            return ["consistent"]

        return types.SimpleNamespace(
            contender=contender,
            stack=None,
            check=check,
            close=lambda: self.closed.append(contender.name),
            without_table_stream=lambda: self.closed.append("the table stream"),
        )

    def warm_up(self, stage, cell):
        pass

    def measure(self, stage, cell):
        return run_of(stage.contender, cell.mix, cell.clients, master=0.5, **({"gate": 0.1} if stage.contender.satellites else {}))

    def everything(self, **changes):
        return main.measure_all(good(BENCH_RESULTS=self.folder, **changes), HERE, None)

    def written(self):
        return json.loads(pathlib.Path(self.folder, "results.json").read_text())

    def test_every_contender_is_measured_checked_and_closed(self):
        found = self.everything()
        self.assertEqual(self.closed, ["single", "replicas-2", "multimed-1", "multimed-2"])
        self.assertEqual(len(found["runs"]), 3 * 6 + 2)
        self.assertEqual(set(found["checks"]), set(self.closed))
        self.assertEqual((self.written()["complete"], self.written()["ratios"]["browsing"]["wips_ratio"]), (True, 1.0))

    def test_late_satellites_are_measured_apart_with_the_table_stream_and_without(self):
        found = self.everything(BENCH_CONTENDERS="single lagging")
        self.assertEqual(self.closed, ["single", "the table stream", "lagging-2"])
        self.assertEqual({run["kind"] for run in found["runs"]}, {"single"})
        self.assertEqual(list(found["late"]), ["lagging", "blind"])
        self.assertEqual(self.written()["freshness"], {"unwaited_lagging": 0.85, "unwaited_blind": 0.85})

    def test_a_check_that_does_not_hold_ends_the_run_and_leaves_what_was_complete_before(self):
        self.failing = "multimed-1"
        with self.assertRaisesRegex(OSError, "a row differs"):
            self.everything()
        self.assertEqual((self.written()["complete"], list(self.written()["checks"])), (False, ["single", "replicas-2"]))


class Outcome(unittest.TestCase):
    def test_the_last_line_is_exact_and_about_the_best_number_of_satellites(self):
        line = tables.report(everything()).splitlines()[-1]
        self.assertEqual(
            line,
            '{"browsing":{"wips_ratio":0.75,"master_cpu_ratio":0.2,"p99_ratio":1.5},'
            '"shopping":{"wips_ratio":null,"master_cpu_ratio":null,"p99_ratio":null},"unwaited_lagging":null,"unwaited_blind":null}',
        )

    def test_reads_that_waited_or_did_not_because_it_was_hopeless_are_not_among_the_unwaited(self):
        run = {"reads": 200.0, "waits": 30.0, "hopeless": 10.0}
        self.assertEqual(outcome.unwaited(run), 0.8)
        self.assertEqual(outcome.unwaited({**run, "waits": 210.0}), 0.0)
        for unknown in (None, {**run, "waits": None}, {**run, "reads": None}, {**run, "reads": 0}):
            self.assertIsNone(outcome.unwaited(unknown))
        self.assertEqual(outcome.freshness({"lagging": run}), {"unwaited_lagging": 0.8, "unwaited_blind": None})

    def test_other_numbers_of_clients_do_not_count(self):
        runs = head() + [run_of(TWO, clients=8, wips=999, master=0.1)]
        self.assertEqual(outcome.ratios(runs, "browsing", 32)["wips_ratio"], 0.75)

    def test_without_one_of_both_there_is_no_ratio(self):
        self.assertEqual(set(outcome.ratios(head()[:2], "browsing", 32).values()), {None})

    def test_costs_are_told_by_what_services_do(self):
        found = outcome.costs(head()[3])
        self.assertEqual(
            {name: round(value, 6) for name, value in found.items()},
            {"master": 2.0, "satellites": 8.0, "gate": 2.0, "log": 2.0, "appliers": 2.0},
        )

    def test_a_part_that_is_missing_makes_no_smaller_sum(self):
        run = {"cpu_ms": {"satellite-1": None, "satellite-2": 4.0, "master": 1.0}}
        self.assertEqual(outcome.costs(run), {"satellites": None, "master": 1.0})
        self.assertIsNone(outcome.total(outcome.costs(run).values()))

    def test_the_verdict_says_plainly_who_is_faster_what_it_costs_and_what_the_master_is_relieved_of(self):
        words = " ".join(outcome.verdict(head(), 32)["browsing"])
        self.assertIn("One MySQL is faster than Multimed with 1 satellite: 200.0 against 150.0 WIPS (ratio 0.75).", words)
        self.assertIn("An interaction takes 10.33 ms of CPU in all, against 5.00 ms (satellites 5.33, ", words)
        self.assertIn("relieved of 80 %", words)
        self.assertIn("One MySQL is faster than MySQL with 2 native replicas", words)

    def test_nearly_the_same_is_even_and_more_is_faster(self):
        self.assertIn("are even", outcome.wins(run_of(ONE, wips=101, master=1), run_of(SINGLE, wips=100, master=1), "Multimed"))
        self.assertIn("Multimed is faster", outcome.wins(run_of(ONE, wips=150, master=1), run_of(SINGLE, wips=100, master=1), "Multimed"))

    def test_a_defeat_on_few_cores_is_explained_and_one_on_many_is_not_excused(self):
        self.assertIn("expected to win", outcome.why(head(), 32, 2))
        self.assertIn("although", outcome.why(head(), 32, 48))
        self.assertEqual(outcome.why([run_of(SINGLE, wips=100, master=1), run_of(ONE, wips=150, master=1)], 32, 2), "")


class Results(unittest.TestCase):
    def test_tables_of_a_whole_run(self):
        text = tables.report(everything())
        self.assertRegex(text, r"(?m)^  single +200\.0 +2\.0 +1\.0 +3\.0 +40\.0 +0 +1 +5\.00 +- +- +- +- +- +-$")
        self.assertRegex(text, r"(?m)^  multimed-1 +150\.0 .* 1\.00 +5\.33 +1\.33 +1\.33 +1\.33 +10\.0 +8$")

    def test_late_satellites_in_print_and_in_the_last_line(self):
        text = tables.report(everything(late=late()))
        self.assertRegex(text, r"(?m)^  for the writers of their tables +100 +85\.0 +80\.0 +20\.0 +2\.0 +80\.0 +8$")
        self.assertRegex(text.splitlines()[-1], r'"unwaited_lagging":0\.85,"unwaited_blind":0\.85}$')

    def test_settings_are_shown_but_files_and_accounts(self):
        shown = json.dumps(everything()["settings"])
        self.assertNotIn("secret", shown)
        self.assertIn('"clients": "8 32 1000"', shown)
        self.assertIn("GATE_CONSISTENCY=strong", shown)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            results.write(f"{folder}/new", everything(), lambda found: f"page of {len(found['runs'])}")
            files = {path.name: path for path in pathlib.Path(folder, "new").iterdir()}
            self.assertEqual(set(files), {"results.json", "runs.csv", "interactions.csv", "samples.csv", "report.html"})
            self.assertEqual(files["report.html"].read_text(), "page of 4")
            self.assertEqual(json.loads(files["results.json"].read_text())["runs"][0]["wips"], 200.0)
            rows = {
                name: list(csv.DictReader(files[f"{name}.csv"].read_text().splitlines())) for name in ("runs", "interactions", "samples")
            }
        self.assertEqual(
            (rows["runs"][0]["contender"], rows["runs"][0]["cpu_ms_master"], rows["runs"][0]["cpu_ms_gate"]), ("single", "5.0", "")
        )
        self.assertEqual({row["interaction"] for row in rows["interactions"]}, {"home", "best_sellers"})
        self.assertEqual(
            [row["lag_ms"] for row in rows["samples"] if (row["contender"], row["service"]) == ("multimed-1", "satellite-1")], ["8", "12"]
        )


class Prepare(unittest.TestCase):
    def test_all_mistakes_at_once_before_anything_is_touched(self):
        with tempfile.TemporaryDirectory() as folder:
            docker = pathlib.Path(folder, "docker")
            docker.write_text('#!/bin/sh\n[ "$2" = ps ] || echo touched\nexit 1\n')
            docker.chmod(0o755)
            done = subprocess.run(
                [BENCH.parent / "prepare-tpcw"],
                capture_output=True,
                text=True,
                env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TPCW_ITEMS": "5", "TPCW_EBS": "0", "TPCW_THREADS": "two"},
            )
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertRegex(done.stderr, "(?s)TPCW_ITEMS=5.*TPCW_EBS=0.*TPCW_THREADS=two.*the stack is not up")


class Machine(unittest.TestCase):
    def test_cores_of_this_process_are_counted_back(self):
        self.assertEqual(process.cores_in(machine.cores()), os.sched_getaffinity(0))
        self.assertLessEqual(os.sched_getaffinity(0), machine.online())

    def test_the_busiest_of_this_process_and_its_children_lives(self):
        with subprocess.Popen(["sleep", "9"]) as child:
            self.assertIn(child.pid, process.tree(os.getpid()))
            self.assertEqual(process.busiest(os.getpid()), os.getpid())
            child.kill()

    def test_facts_name_no_host_and_nothing_is_empty(self):
        found = machine.facts(good())
        self.assertNotIn(os.uname().nodename, " ".join(found.values()))
        self.assertTrue(all(found.values()))


if __name__ == "__main__":
    unittest.main()
