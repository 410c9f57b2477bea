"""What bench-replication makes of its measurements: percentiles, lags, medians, ratios, the last line. No server needed."""

import json
import math
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import containers  # noqa: E402
import figures  # noqa: E402
import main  # noqa: E402
import stack  # noqa: E402

GOOD = {
    "BENCH_RATES": "100 200",
    "BENCH_RUNS": "3",
    "BENCH_LAG_SECONDS": "10",
    "BENCH_LAG_WORKLOAD": "oltp_insert",
    "BENCH_LOADS": "single-row large",
    "BENCH_ROUNDS": "1",
    "BENCH_LOAD_SECONDS": "5",
    "BENCH_MULTI_ROWS": "1000",
    "BENCH_LARGE_ROWS": "50000",
    "BENCH_THREADS": "16",
    "BENCH_IDLE_SECONDS": "0",
    "BENCH_ENGINE_RUNS": "1",
    "BENCH_COLD_SECONDS": "15",
    "BENCH_SATELLITES": "2 4",
    "BENCH_WARM_UP_SECONDS": "0",
    "BENCH_TABLES": "4",
    "BENCH_TABLE_ROWS": "10",
}


def quantiles(p50, p99):
    return {"p50": p50, "p90": p50, "p99": p99, "samples": 100}


def at_200():
    return {
        200: {
            "reached": 199.0,
            "native": quantiles(1.0, 10.0),
            "ours": quantiles(3.0, 15.0),
            "cpu": {"capture": 0.5, "ours": 1.5, "native": 0.5},
        }
    }


def load(native, ours, rows=1):
    return {
        "rows": rows,
        "native": {"load": 4000.0, "steady": 4000.0, "drain": native},
        "ours": {"load": 4000.0, "steady": 2000.0, "drain": ours, "drain, log to satellite": 3000.0},
        "raw": {"steady": 0.125},
    }


class Percentiles(unittest.TestCase):
    def test_of_one_to_hundred(self):
        values = list(range(100, 0, -1))
        self.assertEqual([figures.percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0)], [50, 90, 99, 100])

    def test_of_one_value_and_of_none(self):
        self.assertEqual(figures.percentile([7], 0.01), 7)
        self.assertIsNone(figures.percentile([], 0.5))
        self.assertEqual(figures.quantiles([]), {"p50": None, "p90": None, "p99": None, "samples": 0})

    def test_at_least_the_share_lies_at_or_below_and_less_lies_strictly_below(self):
        generator = random.Random(2011)
        for _ in range(500):
            values = [generator.randint(0, 20) for _ in range(generator.randint(1, 50))]
            share = generator.choice([0.01, 0.5, 0.9, 0.99])
            found = figures.percentile(values, share)
            self.assertGreaterEqual(sum(value <= found for value in values), share * len(values) - 1e-9)
            self.assertLess(sum(value < found for value in values), share * len(values) + 1e-9)

    def test_in_milliseconds(self):
        self.assertEqual(figures.quantiles([0.002, 0.001])["p50"], 1.0)


class Buckets(unittest.TestCase):
    TEXT = 'x_bucket{le="0.001"} 4\nx_bucket{le="0.002"} 6\nx_bucket{le="+Inf"} 6\nx_sum 3\nx_count 6\nx_longer_bucket{le="0.001"} 9\n'

    def test_of_one_histogram_alone(self):
        self.assertEqual(stack.buckets(self.TEXT, "x"), {0.001: 4, 0.002: 6, math.inf: 6})

    def test_a_quantile_lies_in_the_bucket_of_its_rank(self):
        found = stack.buckets(self.TEXT, "x")
        self.assertEqual([figures.bucket_quantile({}, found, share) for share in (0.25, 4 / 6, 1)], [0.000375, 0.001, 0.002])
        self.assertAlmostEqual(figures.bucket_quantile({}, {0.001: 0, 0.002: 5, 0.005: 5, math.inf: 5}, 0.2), 0.0012)

    def test_beyond_the_last_bound_it_is_at_least_that(self):
        self.assertEqual(figures.bucket_quantile({}, {0.001: 0, 5.0: 1, math.inf: 2}, 0.99), 5.0)

    def test_of_what_was_not_seen_there_is_none(self):
        self.assertIsNone(figures.bucket_quantile({0.001: 4, math.inf: 4}, {0.001: 4, math.inf: 4}, 0.5))
        self.assertIsNone(figures.bucket_quantile({}, {}, 0.5))


class Lags(unittest.TestCase):
    def test_only_of_the_interval_and_never_clipped(self):
        master, server = {1: 1.0, 2: 2.0, 3: 3.0}, {1: 9.0, 2: 1.5, 3: 3.25}
        self.assertEqual(figures.lags(master, server, 2.0, 4.0), [-0.5, 0.25])
        self.assertEqual(figures.lags(master, server, 2.0, 3.0), [-0.5])

    def test_a_transaction_never_seen_is_an_error_not_a_better_figure(self):
        with self.assertRaisesRegex(ValueError, "1 of 2 transactions were never seen, the first is 2"):
            figures.lags({1: 1.0, 2: 2.0}, {1: 1.0}, 0, 9)


class Medians(unittest.TestCase):
    def test_of_each_figure_over_runs(self):
        runs = [{"a": 1, "b": {"c": 10}}, {"a": 9, "b": {"c": 30}}, {"a": 2, "b": {"c": 20}}]
        self.assertEqual(figures.over_runs(runs), {"a": 2, "b": {"c": 20}})

    def test_what_was_not_measured_is_left_out(self):
        self.assertEqual(figures.over_runs([{"a": None}, {"a": 3}, {}]), {"a": 3})
        self.assertEqual(figures.over_runs([{"a": None}]), {"a": None})

    def test_rates_of_nothing(self):
        self.assertIsNone(figures.rate(10, 0))
        self.assertIsNone(figures.per_thousand(1.0, 0))
        self.assertEqual(figures.per_thousand(1.0, 500), 2.0)


class LastLine(unittest.TestCase):
    def result(self, lag=None, loads=None, idle=0.123456):
        return figures.result(at_200() if lag is None else lag, loads or {}, idle)

    def test_its_shape_is_exact(self):
        content = json.loads(figures.last_line(self.result()))
        names = ["lag", "tx_per_s_ratio", "rows_per_s_ratio", "cpu_ratio"]
        added = ["cpu_ratio_1000", "cpu_ratio_per_extra", "same_cores_ratio", "cold"]
        self.assertEqual(list(content), [*names, *added, "idle_cores"])
        self.assertEqual(list(content["lag"]), ["p50_ms", "p99_ms", "p50_ratio", "p99_ratio"])

    def test_is_one_line(self):
        self.assertNotIn("\n", figures.last_line(self.result()))

    def test_lag_and_cpu_are_those_at_200_transactions_per_second(self):
        lag = {**at_200(), 100: {"reached": 1, "native": quantiles(7, 7), "ours": quantiles(7, 7), "cpu": {"ours": 7, "native": 7}}}
        content = self.result(lag)
        self.assertEqual(content["lag"], {"p50_ms": 3.0, "p99_ms": 15.0, "p50_ratio": 3.0, "p99_ratio": 1.5})
        self.assertEqual((content["cpu_ratio"], content["idle_cores"]), (3.0, 0.123))

    def test_ratios_are_ours_to_native_draining_and_the_worst_load_counts(self):
        loads = {
            "single-row": load(4000.0, 2000.0),
            "write-only": load(1000.0, 900.0),
            "multi-row": load(200.0, 50.0, 1000),
            "large": load(2.0, 1.0, 50000),
        }
        content = self.result(loads=loads)
        self.assertEqual((content["tx_per_s_ratio"], content["rows_per_s_ratio"]), (0.5, 0.25))
        self.assertEqual(content["same_cores_ratio"], 0.5, "2000 of 4000 while they follow")

    def test_a_further_satellite_is_what_it_adds_against_a_whole_replica(self):
        further = {number: {"ours": ours, "native": 0.5} for number, ours in ((1, 1.0), (2, 1.4), (4, 2.8))}
        self.assertEqual(figures.result({}, {}, None, {}, further)["cpu_ratio_per_extra"], 1.2)
        self.assertAlmostEqual(figures.per_extra(further, 2), 0.8)
        self.assertIsNone(figures.per_extra(further, 1))
        self.assertIsNone(figures.per_extra({2: further[2]}, 2))

    def test_cpu_at_1000_and_the_first_seconds(self):
        at = {"reached": 1, "native": quantiles(7, 7), "ours": quantiles(7, 7), "cpu": {"ours": 6, "native": 4}}
        content = figures.result({1000: at}, {}, None, quantiles(8.0, 50.0))
        self.assertEqual((content["cpu_ratio_1000"], content["cpu_ratio"]), (1.5, None))
        self.assertEqual(content["cold"], {"p50_ms": 8.0, "p99_ms": 50.0})

    def test_which_share_went_raw(self):
        self.assertEqual(figures.raw_share((10, 100), (20, 200)), 0.1)
        self.assertIsNone(figures.raw_share((10, 100), (10, 100)))

    def test_what_was_not_measured_is_null(self):
        content = json.loads(figures.last_line(self.result(lag={}, idle=None)))
        self.assertEqual(
            content,
            {
                "lag": dict.fromkeys(["p50_ms", "p99_ms", "p50_ratio", "p99_ratio"]),
                "tx_per_s_ratio": None,
                "rows_per_s_ratio": None,
                "cpu_ratio": None,
                "cpu_ratio_1000": None,
                "cpu_ratio_per_extra": None,
                "same_cores_ratio": None,
                "cold": {"p50_ms": None, "p99_ms": None},
                "idle_cores": None,
            },
        )


class Tables(unittest.TestCase):
    def test_of_a_whole_run(self):
        further = {1: {"ours": 1.0, "native": 0.5}, 4: {"ours": 2.8, "native": 0.5}}
        loads = {"multi-row": load(200.0, 50.0, 1000)}
        text = main.report({"master": 0.01, "kafka": 0.02}, at_200(), loads, 40000.0, quantiles(8.0, 50.0), further)
        self.assertRegex(text, r"commit to visible +8\.00 +8\.00 +50\.00")
        self.assertRegex(text, r"4 satellites +0\.500 +2\.800 +0\.600 +1\.20")
        self.assertRegex(text, r"following / draining +12\.5 % / -")
        self.assertIn("0.030", text)
        self.assertRegex(text, r"200 transactions/s +199 +1\.00 +1\.00 +10\.00 +3\.00 +3\.00 +15\.00 +3\.00 +1\.50")
        self.assertRegex(text, r"draining a backlog, alone +200\.0 \(200 000\) +50\.0 \(50 000\) +0\.25")
        self.assertRegex(text, r"from the log on +200\.0 \(200 000\) +3 000\.0 \(3 000 000\) +15\.00")
        self.assertRegex(text, r"engine alone +40 000 +50 000 +1\.25")
        self.assertTrue(text.splitlines()[-1].startswith('{"lag":{"p50_ms":3.0'))

    def test_of_nothing_is_the_last_line_alone(self):
        self.assertEqual(main.report({}, {}, {}, None).count("\n"), 0)


class Settings(unittest.TestCase):
    def test_good_ones(self):
        settings = main.read_settings(GOOD)
        self.assertEqual((settings.rates, settings.loads, settings.idle_seconds), ((100, 200), ("single-row", "large"), 0))
        self.assertEqual((settings.cold_seconds, settings.satellites), (15, (2, 4)))

    def test_all_mistakes_at_once(self):
        with self.assertRaises(ValueError) as caught:
            main.read_settings({**GOOD, "BENCH_RUNS": "0", "BENCH_LOADS": "small", "BENCH_RATES": "100 fast", "BENCH_LARGE_ROWS": "10"})
        self.assertEqual(len(str(caught.exception).splitlines()), 4)


class Threads(unittest.TestCase):
    def test_the_number_inside_the_container_is_the_last(self):
        self.assertEqual(containers.inner_thread("Name:\tx\nNSpid:\t4321\t77\nOther:\t1\t2\n"), 77)
        self.assertEqual(containers.inner_thread("NSpid:\t4321\n"), 4321)


if __name__ == "__main__":
    unittest.main()
