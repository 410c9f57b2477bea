"""How bench-tpcw measures: what it looks at, loads, the whole run with nothing behind it. No server needed."""

import json
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tpcw_bench import HERE, SINGLE, figures, good, look, run_of  # noqa: E402
import stack  # noqa: E402
from tpcw import __main__ as main  # noqa: E402
from tpcw import plan, runner, samples  # noqa: E402


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
    REPORT = json.dumps(
        {
            **figures(100, 9.0),
            "seconds": 8.01,
            "queries_per_second": 500.0,
            "commits": {"count": 0, "latency_ms": {}},
            "interactions": {"home": figures(100, 9.0)},
        }
    )

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
        return main.measure_all(good(BENCH_RESULTS=self.folder, **{"BENCH_PARTS": "", **changes}), HERE, None)

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


if __name__ == "__main__":
    unittest.main()
