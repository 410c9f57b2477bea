"""The report's calculations: exposition format, increases, quantiles, tables, readiness. No server needed."""

import importlib.machinery
import importlib.util
import json
import math
import pathlib
import random
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("report", str(FOLDER / "report.py"))
report = importlib.util.module_from_spec(importlib.util.spec_from_loader("report", loader))
loader.exec_module(report)


def exposition(counts, name="h", labels=""):
    """A histogram as text, from [(bound, count in the bucket)]."""
    lines, below = [f"# TYPE {name} histogram"], 0
    for bound, count in counts:
        below += count
        text = "+Inf" if math.isinf(bound) else repr(bound)
        lines.append(f'{name}_bucket{{{labels}le="{text}"}} {below}')
    return "\n".join(lines)


class Exposition(unittest.TestCase):
    def test_labels_escapes_timestamps_and_comments(self):
        samples = report.parse('# HELP a b\na 1\nb{x="1",y="q\\"\\\\\\n"} 2.5 1700000000\nc{le="+Inf",} 3\nnot a sample line\n\n')
        self.assertEqual(samples, {("a", ()): 1, ("b", (("x", "1"), ("y", 'q"\\\n'))): 2.5, ("c", (("le", "+Inf"),)): 3})

    def test_increase_of_new_grown_and_restarted_counters(self):
        before = {("a", ()): 5, ("b", ()): 9}
        after = {("a", ()): 7, ("b", ()): 2, ("c", ()): 4}
        self.assertEqual(report.increase(before, after), {("a", ()): 2, ("b", ()): 2, ("c", ()): 4})

    def test_total_of_nothing_is_unknown_not_zero(self):
        self.assertIsNone(report.total({}, "a"))
        self.assertEqual(report.total({("a", (("s", "1"),)): 2, ("a", (("s", "2"),)): 3}, "a"), 5)


class Quantiles(unittest.TestCase):
    def test_interpolates_within_the_bucket(self):
        cumulative = report.buckets(report.parse(exposition([(1.0, 50), (2.0, 50), (math.inf, 0)])), "h")
        self.assertEqual(report.quantile(cumulative, 0.5), (1.0, True))
        self.assertEqual(report.quantile(cumulative, 0.75), (1.5, True))

    def test_empty_and_beyond_the_last_bound(self):
        self.assertEqual(report.quantile([], 0.5), (None, True))
        self.assertEqual(report.quantile([(1.0, 0), (math.inf, 0)], 0.5), (None, True))
        self.assertEqual(report.quantile([(1.0, 1), (math.inf, 10)], 0.99), (1.0, False))

    def test_lies_in_the_right_bucket_for_any_histogram(self):
        generator = random.Random(2011)
        for _ in range(2000):
            bounds = sorted({round(generator.uniform(0.001, 10), 3) for _ in range(generator.randint(1, 12))}) + [math.inf]
            counts = [generator.choice([0, 0, 1, 5, 100]) for _ in bounds]
            share = generator.choice([0.01, 0.5, 0.95, 0.99, 1.0])
            value, exact = report.quantile(report.buckets(report.parse(exposition(list(zip(bounds, counts)), labels='a="b",')), "h"), share)
            if sum(counts) == 0:
                self.assertIsNone(value)
                continue
            below = 0
            for position, count in enumerate(counts):
                below += count
                if count and below >= share * sum(counts):
                    break
            lower = bounds[position - 1] if position else 0
            if math.isinf(bounds[position]):
                self.assertEqual((value, exact), (lower, False))
            else:
                self.assertTrue(exact)
                self.assertTrue(lower - 1e-9 <= value <= bounds[position] + 1e-9, (bounds, counts, share, value))

    def test_grows_with_the_share(self):
        generator = random.Random(5)
        for _ in range(500):
            counts = [(bound, generator.randint(0, 9)) for bound in (0.001, 0.01, 0.1, 1.0)] + [(math.inf, 0)]
            if sum(count for _, count in counts):
                cumulative = report.buckets(report.parse(exposition(counts)), "h")
                values = [report.quantile(cumulative, share / 20)[0] for share in range(1, 21)]
                self.assertEqual(values, sorted(values))


class Tables(unittest.TestCase):
    def test_shares_add_up_and_unknown_is_a_dash(self):
        lines = report.reads_table({"master": 1, "satellite-1": 3})
        self.assertIn("25.0 %", lines[1])
        self.assertIn("75.0 %", lines[2])
        self.assertIn("-", report.waits_table({})[1])
        self.assertIn("-", report.lag_table({"satellite-1": {}})[1])

    def test_lag_beyond_the_histogram_is_not_given_as_a_figure(self):
        samples = report.parse(exposition([(0.5, 0), (math.inf, 9)], "multimed_applier_commit_to_visible_seconds"))
        self.assertIn("> 500.0", report.lag_table({"satellite-1": samples})[1])

    def test_whole_table_and_status(self):
        run = {
            "workload": "oltp_read_only",
            "transactions_per_second": 1234.5,
            "queries_per_second": 1,
            "errors": 0,
            "latency_ms": {"p50": 1.0, "p95": 2.0},
        }
        servers = [{"name": "m", "role": "master"}, {"name": "s", "role": "satellite"}]
        with tempfile.TemporaryDirectory() as folder:
            for moment, count in (("before", 1), ("after", 5)):
                path = pathlib.Path(folder, moment)
                path.mkdir()
                path.joinpath("gate.metrics").write_text(f'gtid_gate_reads_total{{server="m"}} {count}\n')
                path.joinpath("servers.json").write_text(json.dumps(servers))
            path = pathlib.Path(folder, "run.json")
            path.write_text(json.dumps(run))
            arguments = ["table", f"{folder}/before", f"{folder}/after", str(path)]
            self.assertEqual(report.main(arguments), 1)
            pathlib.Path(folder, "after", "gate.metrics").write_text('gtid_gate_reads_total{server="s"} 1\n')
            self.assertEqual(report.main(arguments), 0)


class Readiness(unittest.TestCase):
    MASTER = {"name": "m", "role": "master", "gtid_set": "a:1-5,\nb:1"}

    def test_same_set_is_caught_up_line_breaks_aside(self):
        self.assertIsNone(report.caught_up([self.MASTER, {"name": "s", "role": "satellite", "gtid_set": "a:1-5,b:1"}]))

    def test_behind_missing_or_unknown_is_not(self):
        behind = {"name": "s", "role": "satellite", "gtid_set": "a:1-4,b:1", "state": "serving", "lag_transactions": 1}
        self.assertIn("1 transactions behind", report.caught_up([self.MASTER, behind]))
        self.assertIn("no satellites", report.caught_up([self.MASTER]))
        self.assertIn("master", report.caught_up([dict(self.MASTER, gtid_set=None)]))
        self.assertIsNotNone(report.caught_up([self.MASTER, dict(behind, gtid_set=None)]))

    def test_wrong_use_is_64(self):
        for arguments in ([], ["save"], ["nonsense", "x"], ["table", "x"]):
            self.assertEqual(report.main(arguments), 64)


if __name__ == "__main__":
    unittest.main()
