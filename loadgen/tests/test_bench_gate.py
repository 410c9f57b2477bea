"""What bench-gate plans, what it makes of its measurements, and what it prints. No server needed."""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))
from gate import __main__ as run  # noqa: E402
from gate import cells, load_outcome, outcome, peers, plan, settings, tables  # noqa: E402
import process  # noqa: E402

GOOD = {
    "BENCH_ROUNDS": "2",
    "BENCH_SECONDS": "5",
    "BENCH_SIDE_SECONDS": "3",
    "BENCH_CONTENDERS": "direct eventual strong proxysql",
    "BENCH_WORKLOADS": "point-select read-only result",
    "BENCH_MODES": "text prepared",
    "BENCH_CONNECTIONS": "1000 8 1",
    "BENCH_SIDE_CONNECTIONS": "8",
    "BENCH_SIZES": "1024 1048576",
    "BENCH_TEXTS": "500 2000",
    "BENCH_WRITE_RATE": "500",
    "BENCH_WRITE_CONNECTIONS": "8 64",
    "BENCH_QUIET_CONNECTIONS": "64 1 8",
    "BENCH_WRITE_WORKLOAD": "oltp_insert",
    "BENCH_WRITE_THREADS": "16",
    "BENCH_WRITE_WARM_UP_SECONDS": "0",
    "BENCH_STREAM_RATE": "200",
    "BENCH_STREAM_SECONDS": "10",
    "BENCH_BURST_SECONDS": "0",
    "BENCH_LIMITS": "64 2",
    "BENCH_LIMIT_CORES": "50 200",
    "BENCH_LIMIT_SECONDS": "3",
    "BENCH_LIMIT_FIND_SECONDS": "15",
    "BENCH_LOAD_CONNECTIONS": "64",
    "BENCH_SATURATED_SECONDS": "0",
    "BENCH_SATURATED_RATE": "500",
    "BENCH_PROXYSQL_THREADS": "0",
    "BENCH_TABLES": "4",
    "BENCH_TABLE_ROWS": "10",
    "BENCH_PORTS": "27033",
}
HEAD = plan.Cell("point-select", "text", 8)
PREPARED = plan.Cell("point-select", "prepared", 8)
WRITTEN = plan.Cell("point-select", "text", 8, writes=True)
QUIET = plan.Cell("point-select", "text", 8, writes=True, quiet=True)
OWN_WRITE = plan.Cell("own-write", "text", 1)
STREAM = {"known_p50_ms": 0.7, "known_p99_ms": 4.0, "visible_p50_ms": 3.0, "visible_p99_ms": 9.0, "reached": 199.6}
NAMES = [
    "throughput_vs_proxysql",
    "added_latency_vs_proxysql",
    "cpu_vs_proxysql",
    "cpu_us_per_query",
    "strong_vs_eventual",
    "strong_extra_ms",
    "quiet_strong_vs_eventual_8",
    "quiet_strong_vs_eventual_64",
    "quiet_strong_extra_ms",
    "strong_cpu",
    "long_text_cpu",
    *(f"own_{level}_{figure}_ms" for level in ("strong", "session", "eventual", "direct") for figure in ("p50", "p99")),
    "known_p50_ms",
    "known_p99_ms",
    "visible_p50_ms",
    "visible_p99_ms",
]


def good(**changes):
    return settings.read({**GOOD, **changes})


def figures(queries, p50, proxy_us=None, **more):
    return {
        "queries": queries,
        "p50": p50,
        "p99": 10 * p50,
        "proxy_us": proxy_us,
        "mysqld_us": 100.0,
        "memory": 20.0 if proxy_us else None,
        **more,
    }


def head():
    return {
        "direct": figures(12000.0, 0.5),
        "eventual": figures(9000.0, 0.8, 60.0),
        "strong": figures(8500.0, 0.9, 70.0),
        "proxysql": figures(6000.0, 1.0, 100.0),
        "proxysql-socket": figures(6600.0, 1.1, 90.0),
    }


def written():
    writes = {"written": 499.0, "lag": 2.0, "at_master": 0.01}
    return {
        "direct": figures(6000.0, 1.0, lag=9.0),
        "eventual": figures(5000.0, 1.2, 60.0, **writes),
        "strong": figures(4000.0, 3.25, 80.0, **writes),
    }


def quiet():
    writes = {"written": 499.0, "lag": 2.0, "waited": 0.02, "by_tables": 0.9, "for_stream": 0.3, "at_master": 0.0}
    return {"eventual": figures(5000.0, 1.2, 60.0, **writes), "strong": figures(3000.0, 1.8, 80.0, **writes)}


def own_write():
    return {
        "eventual": {"queries": 900.0, "p50": 0.5, "p99": 1.5, "stale": 0.9},
        "session": {"queries": 700.0, "p50": 2.0, "p99": 6.0, "stale": 0.0},
        "strong": {"queries": 600.0, "p50": 2.5, "p99": 8.0, "stale": 0.0},
        "master": {"queries": 950.0, "p50": 0.3, "p99": 1.0, "stale": 0.0},
    }


class Settings(unittest.TestCase):
    def test_good_ones(self):
        self.assertEqual((good().connections, good().modes, good().write_rate), ((1, 8, 1000), ("text", "prepared"), 500))

    def test_known_words_come_in_one_order_and_once(self):
        self.assertEqual(good(BENCH_CONTENDERS="strong direct strong").contenders, ("direct", "strong"))

    def test_all_mistakes_at_once(self):
        with self.assertRaises(ValueError) as caught:
            good(
                BENCH_ROUNDS="0",
                BENCH_MODES="binary",
                BENCH_CONNECTIONS="8 5000",
                BENCH_CONTENDERS="",
                BENCH_WRITE_WORKLOAD="../x",
                BENCH_PORTS="80",
                BENCH_SIZES="²",
            )
        self.assertEqual(len(str(caught.exception).splitlines()), 7)

    def test_the_process_ends_with_64_and_names_each(self):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "gate", "check"],
            capture_output=True,
            text=True,
            env={**os.environ, **GOOD, "BENCH_ROUNDS": "x", "BENCH_MODES": "y", "PYTHONPATH": str(BENCH)},
        )
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr, r"(?s)bench: BENCH_ROUNDS=x.*bench: BENCH_MODES: y")

    def test_nothing_to_say_about_good_ones(self):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "gate", "check"],
            capture_output=True,
            text=True,
            env={**os.environ, **GOOD, "PYTHONPATH": str(BENCH)},
        )
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class Plan(unittest.TestCase):
    def test_every_cell_once_and_the_head_is_there(self):
        found = plan.cells(good())
        self.assertEqual(len(found), len(set(found)))
        # point selects, mix, results, under writes: written and quiet tables
        self.assertEqual(len(found), 2 * 3 + 2 + 2 * 2 + 2 * 2 + 2 * 3)
        self.assertEqual([cell for cell in found if cell.is_head and not cell.writes], [HEAD, PREPARED])

    def test_without_a_write_rate_nothing_is_measured_under_writes(self):
        self.assertFalse([cell for cell in plan.cells(good(BENCH_WRITE_RATE="0")) if cell.writes])

    def test_who_is_measured_where(self):
        everybody = list(settings.CONTENDERS)
        self.assertEqual(plan.contenders_of(HEAD, everybody), ["direct", "eventual", "strong", "proxysql", "proxysql-socket", "router"])
        self.assertEqual(plan.contenders_of(QUIET, everybody), ["eventual", "strong"])
        self.assertEqual(plan.contenders_of(OWN_WRITE, everybody), ["eventual", "session", "strong", "master"])
        self.assertEqual(plan.contenders_of(WRITTEN, everybody), ["direct", "eventual", "strong"])
        self.assertNotIn("strong", plan.contenders_of(plan.Cell("result", "text", 8, 1024), everybody))

    def test_own_writes_are_read_on_one_connection_in_text(self):
        found = plan.cells(good(BENCH_WORKLOADS="own-write", BENCH_WRITE_RATE="0"))
        self.assertEqual(found, [OWN_WRITE])

    def test_the_order_of_contenders_changes_between_rounds_and_nobody_is_left_out(self):
        present = ["direct", "eventual", "proxysql"]
        schedule = plan.schedule(good(), present)
        orders = [[name for number, cell, name in schedule if cell == HEAD and number == each] for each in (0, 1)]
        self.assertNotEqual(*orders)
        for order in orders:
            self.assertEqual(sorted(order), present)

    def test_turning_nobody(self):
        self.assertEqual(plan.turn([], 3), [])

    def test_only_the_head_is_measured_longer(self):
        self.assertEqual([plan.seconds_of(cell, good()) for cell in (HEAD, WRITTEN, plan.Cell("point-select", "text", 64))], [5, 5, 3])

    def test_the_estimate_grows_with_the_rounds(self):
        self.assertAlmostEqual(plan.estimate(good(BENCH_ROUNDS="4"), ["direct"]), 2 * plan.estimate(good(), ["direct"]))


class Medians(unittest.TestCase):
    def test_over_rounds_each_figure_apart(self):
        samples = {(HEAD, "direct"): [figures(10.0, 3.0), figures(20.0, 1.0), figures(90.0, 2.0)]}
        found = outcome.medians(samples)[HEAD]["direct"]
        self.assertEqual((found["queries"], found["p50"], found["proxy_us"]), (20.0, 2.0, None))

    def test_a_round_that_failed_does_not_count_and_only_such_give_nothing(self):
        found = outcome.medians({(HEAD, "router"): [{}, figures(5.0, 1.0)], (PREPARED, "router"): [{}, {}]})
        self.assertEqual(found[HEAD]["router"]["queries"], 5.0)
        self.assertEqual(found[PREPARED]["router"], {})


class LastLine(unittest.TestCase):
    def test_its_shape_is_exact(self):
        line = tables.report({HEAD: head(), WRITTEN: written(), QUIET: quiet(), OWN_WRITE: own_write()}, [], STREAM).splitlines()[-1]
        self.assertEqual(list(json.loads(line)), [*NAMES, "burst", "limits", "saturated", "estimate_error"])
        self.assertNotIn(" ", line)

    def test_the_better_of_proxysqls_two_ways_counts_for_each_figure_apart(self):
        content = outcome.result({HEAD: head()})
        self.assertEqual(content["throughput_vs_proxysql"], round(9000 / 6600, 3))
        self.assertEqual(content["added_latency_vs_proxysql"], 0.6)  # .3 ms against .5 ms over TCP
        self.assertEqual(content["cpu_vs_proxysql"], round(60 / 90, 3))
        self.assertEqual(content["cpu_us_per_query"], 60.0)

    def test_the_worse_of_text_and_prepared_counts(self):
        slow = {**head(), "eventual": figures(6600.0, 1.0, 90.0)}
        content = outcome.result({HEAD: head(), PREPARED: slow})
        self.assertEqual([content[name] for name in NAMES[:4]], [1.0, 1.0, 1.0, 90.0])

    def test_strong_is_compared_under_writes_alone(self):
        content = outcome.result({HEAD: head(), WRITTEN: written()})
        self.assertEqual(content["strong_vs_eventual"], 0.8)
        self.assertEqual(content["strong_extra_ms"], 1.25)  # 3.25 - 2.0, the lag being that of the strong cell

    def test_quiet_tables_count_apart_from_written_ones(self):
        content = outcome.result({WRITTEN: written(), QUIET: quiet()})
        self.assertEqual((content["strong_vs_eventual"], content["quiet_strong_vs_eventual_8"]), (0.8, 0.6))

    def test_quiet_tables_at_their_numbers_of_connections_the_worse_of_text_and_prepared(self):
        def cell(mode, connections):
            return plan.Cell("point-select", mode, connections, writes=True, quiet=True)

        slow = {**quiet(), "strong": figures(2500.0, 2.4, 80.0)}
        content = outcome.result({cell(mode, number): at for number in (1, 64) for mode, at in (("text", quiet()), ("prepared", slow))})
        self.assertEqual(
            [content[name] for name in NAMES if name.startswith("quiet")],
            [None, 0.5, 1.2],  # 2.4 - 1.2 ms
        )

    def test_the_longest_text_is_compared_with_the_shortest(self):
        texts = {
            plan.Cell("long-text", "text", 8, size): {"eventual": figures(9000.0, 0.8, cost)} for size, cost in ((2000, 60.0), (500, 50.0))
        }
        self.assertEqual(outcome.result(texts)["long_text_cpu"], 1.2)
        self.assertIsNone(outcome.result({HEAD: head()})["long_text_cpu"])

    def test_the_cpu_of_strong_is_compared_without_writes(self):
        dear = {**head(), "strong": figures(8500.0, 0.9, 90.0)}
        self.assertEqual(outcome.result({HEAD: head(), PREPARED: dear, WRITTEN: written()})["strong_cpu"], 1.5)

    def test_own_writes_and_the_stream_are_told_as_they_were_measured(self):
        content = outcome.result({OWN_WRITE: own_write()}, STREAM)
        self.assertEqual([content[f"own_{level}_p50_ms"] for level in ("strong", "session", "eventual", "direct")], [2.5, 2.0, 0.5, 0.3])
        self.assertEqual((content["own_direct_p99_ms"], content["known_p50_ms"], content["visible_p99_ms"]), (1.0, 0.7, 9.0))

    def test_other_connections_and_workloads_do_not_count(self):
        others = {
            plan.Cell("point-select", "text", 64): head(),
            plan.Cell("read-only", "text", 8): head(),
            plan.Cell("point-select", "text", 64, writes=True): written(),
            plan.Cell("point-select", "text", 9, writes=True, quiet=True): quiet(),
        }
        self.assertEqual(outcome.result(others), dict.fromkeys(NAMES))

    def test_an_absent_peer_is_null_and_the_rest_stays(self):
        alone = {name: found for name, found in head().items() if name not in outcome.PROXYSQL}
        content = json.loads(tables.report({HEAD: alone, WRITTEN: written()}, []).splitlines()[-1])
        self.assertEqual([content[name] for name in NAMES[:6]], [None, None, None, 60.0, 0.8, 1.25])

    def test_one_of_proxysqls_ways_is_enough(self):
        one = {name: found for name, found in head().items() if name != "proxysql-socket"}
        self.assertEqual(outcome.result({HEAD: one})["throughput_vs_proxysql"], 1.5)

    def test_a_peer_that_adds_nothing_gives_no_ratio(self):
        at = {**head(), "proxysql": figures(12000.0, 0.5, 100.0)}
        self.assertIsNone(outcome.result({HEAD: at})["added_latency_vs_proxysql"])

    def test_of_nothing_all_is_null(self):
        self.assertEqual(outcome.result({}), dict.fromkeys(NAMES))


class Tables(unittest.TestCase):
    def test_of_a_whole_run(self):
        text = tables.report({HEAD: head(), WRITTEN: written()}, ["NOT HERE: MySQL Router"])
        self.assertRegex(text, r"gate, eventual +9.000 +0\.800 +8\.000 +60\.0 +100\.0 +20\.0 +0\.75\n")
        self.assertRegex(text, r"straight to MySQL +12.000 +0\.500 +5\.000 +- +100\.0 +- +1\.00\n")
        self.assertRegex(text, r"gate, strong +4.000 .* 499 +2\.000 +- +- +- +1\.00 +0\.67 +1\.250\n")
        self.assertIn("NOT HERE: MySQL Router", text)
        self.assertIn("point selects, text, written tables, under writes", text)

    def test_of_quiet_tables_own_writes_and_the_stream(self):
        text = tables.report({QUIET: quiet(), OWN_WRITE: own_write()}, [], STREAM)
        self.assertRegex(text, r"gate, strong +3.000 .* 499 +2\.000 +2\.00 +90\.00 +30\.00 +0\.00 +0\.60 +0\.600\n")
        self.assertRegex(text, r"reads of own writes, text +reads/s +p50 ms +p99 ms +stale %\n 1 connection\n")
        self.assertRegex(text, r"straight to the master +950 +0\.300 +1\.000 +0\.00\n")
        self.assertRegex(text, r"at 200 transactions/s +p50 ms +p99 ms\n  until the gate knows its tables +0\.700 +4\.000\n")

    def test_targets_say_what_was_met_missed_and_not_measured(self):
        text = "\n".join(tables.targets({**outcome.result({HEAD: head(), WRITTEN: written()}), **load_outcome.result({})}))
        self.assertRegex(text, r"throughput, eventual / ProxySQL +1\.364 +>= 1\.3 +met")
        self.assertRegex(text, r"written tables, strong / eventual +0\.800 +>= 0\.9 +MISSED")
        self.assertRegex(
            "\n".join(tables.targets({**dict.fromkeys(NAMES), **load_outcome.result({})})),
            r"strong above replication lag, ms +- +<= 0\.3 +not measured",
        )

    def test_a_target_is_met_at_its_bound(self):
        self.assertEqual([outcome.met(0.75, 0.75, False), outcome.met(1.3, 1.3, True), outcome.met(1.2, 1.3, True)], [True, True, False])

    def test_titles_and_sizes(self):
        self.assertEqual([tables.size(number) for number in (1000, 1024, 1 << 20)], ["1000 bytes", "1 KiB", "1 MiB"])
        self.assertEqual(tables.title(plan.Cell("result", "prepared", 8, 32768)), "results of 32 KiB, prepared")

    def test_what_failed_is_a_row_of_dashes(self):
        text = "\n".join(tables.table("x", {HEAD: {**head(), "router": {}}}))
        self.assertRegex(text, r"MySQL Router( +-){7}")

    def test_every_contender_has_a_title(self):
        self.assertEqual(list(tables.TITLES), list(settings.CONTENDERS))


class Cells(unittest.TestCase):
    def test_a_level_is_chosen_through_the_gate_and_nowhere_else(self):
        levels = {"strong": True, "session": True, "eventual": True, "direct": False, "master": False, "proxysql": False}
        for name, wanted in levels.items():
            contender = peers.Contender(name, "h", 1)
            for options, reads in ((cells.options_of(HEAD, contender, 5), "fallback"), (cells.own_options(contender, 5), "spare")):
                chosen = f"--session-sql=SET @multimed_consistency = '{name}', @multimed_master_reads = '{reads}'"
                self.assertEqual(chosen in options, wanted)

    def test_the_warm_up_is_measured_apart(self):
        options = cells.options_of(PREPARED, peers.Contender("direct", "h", 3306), 5)
        self.assertIn("--time=6", options)
        self.assertIn("--report-checkpoints=1", options)
        self.assertIn("--db-ps-mode=auto", options)

    def test_scripts(self):
        self.assertEqual(cells.script_of(plan.Cell("read-only", "text", 8), good())[1][0], "--workload=oltp_read_only")
        script, options = cells.script_of(plan.Cell("result", "text", 8, 1 << 20), good())
        self.assertEqual((script.exists(), options), (True, ("--size=1048576", "--rows=16")))

    def test_quiet_tables_have_another_name_than_written_ones(self):
        self.assertEqual(cells.script_of(QUIET, good()), (cells.RESULTS, cells.QUIET))
        self.assertEqual(cells.script_of(WRITTEN, good())[0], cells.OLTP)

    def test_own_writes_are_told_by_rate_and_share(self):
        report = {"reads": 3000, "stale": 30, "p50_ms": 0.5, "p99_ms": 1.5}
        self.assertEqual(cells.own_reading(report, 3), {"queries": 1000.0, "p50": 0.5, "p99": 1.5, "stale": 0.01})
        self.assertEqual(cells.own_reading({"reads": 0, "stale": 0}, 3), {"queries": 0.0, "p50": None, "p99": None, "stale": None})

    def test_what_the_gate_counted_is_told_as_shares_of_the_reads(self):
        self.assertEqual(
            cells.shares({"waited": 10, "by_tables": 0}, {"waited": 30, "by_tables": 80}, 100), {"waited": 0.2, "by_tables": 0.8}
        )
        self.assertEqual(cells.shares({"waited": 10}, {"waited": 10}, 0), {"waited": None})

    def test_only_what_the_histogram_got_meanwhile_counts(self):
        before, after = {0.001: 5, 0.002: 5, math.inf: 9}, {0.001: 105, 0.002: 205, math.inf: 209}
        found = cells.known(before, after)
        self.assertEqual((found["known_p50_ms"], round(found["known_p99_ms"], 6)), (1.0, 1.98))
        self.assertEqual(cells.known(after, after), {"known_p50_ms": None, "known_p99_ms": None})

    def test_rows_of_any_size(self):
        self.assertEqual([cells.rows_of(size) for size in (1, 1024, 32768, 16 << 20)], [256, 256, 256, 4])

    def test_cpu_per_query_is_by_rates_so_a_shorter_look_does_not_matter(self):
        self.assertAlmostEqual(cells.micros((10.0, 1.0), (14.0, 3.0), 5000.0), 100.0)
        self.assertIsNone(cells.micros(None, None, 5000.0))
        self.assertIsNone(cells.micros((1.0, 1.0), (2.0, 2.0), 0.0))

    def test_a_report_without_percentiles_has_none(self):
        report = {"queries_per_second": 5.0, "latency_ms": {"p50": 0.25}}
        self.assertEqual(cells.reading(report), {"queries": 5.0, "p50": 0.25, "p99": None})

    def test_lag_waits_for_what_the_satellite_has_not_shown_yet(self):
        class Late:
            def __init__(self):
                self.asked = 0

            @property
            def seen(self):
                self.asked += 1
                return {1: 1.002} if self.asked < 3 else {1: 1.002, 2: 2.004}

        probes = {"master": types.SimpleNamespace(seen={1: 1.0, 2: 2.0, 3: 9.0}), "satellite-1": Late()}
        self.assertAlmostEqual(cells.Cells.lag(probes, 0.5, 3.0)["p50"], 2.0)

    def test_a_master_that_was_not_written_to_is_an_error(self):
        probes = {name: types.SimpleNamespace(seen={}) for name in ("master", "satellite-1")}
        with self.assertRaises(OSError):
            cells.Cells.lag(probes, 0, 1)


class Run(unittest.TestCase):
    def measured(self, fails):
        class Fake:
            def measure(self, cell, contender):
                if contender.name in fails:
                    raise OSError("refused")
                return figures(1.0, 1.0)

        present = {name: peers.Contender(name, "h", 1) for name in ("direct", "eventual", "router")}
        return run.measure_all(Fake(), present, good(BENCH_ROUNDS="2"))

    def setUp(self):
        run.say = lambda text: None

    def test_every_cell_has_every_round(self):
        self.assertEqual({len(rounds) for rounds in self.measured(()).values()}, {2})

    def test_results_are_in_the_order_of_the_plan(self):
        self.assertEqual(list(outcome.medians(self.measured(()))), plan.cells(good()))

    def test_a_peer_that_fails_is_left_without_figures_one_of_ours_ends_the_run(self):
        self.assertEqual(self.measured(("router",))[(HEAD, "router")], [{}, {}])
        with self.assertRaises(OSError):
            self.measured(("eventual",))


class Peers(unittest.TestCase):
    def test_proxysql_over_tcp_and_over_a_socket(self):
        tcp = peers.proxysql_configuration("10.0.0.3", 3306, "bench", 'a"b\\{c}', 2)
        self.assertIn('address="10.0.0.3", port=3306', tcp)
        self.assertIn('password="a\\"b\\\\{c}"', tcp)
        self.assertNotIn("mysql_query_rules", tcp)
        self.assertIn('address="/x/mysqld.sock", port=0', peers.proxysql_configuration("/x/mysqld.sock", 0, "bench", "p", 2))

    def test_braces_are_even(self):
        text = peers.proxysql_configuration("h", 1, "u", "p", 2)
        self.assertEqual((text.count("{"), text.count("{{")), (text.count("}"), 0))

    def test_router_shares_no_connections(self):
        text = peers.router_configuration("10.0.0.3", 3306, "/f")
        for line in ("connection_sharing=0", "protocol=classic", "destinations=10.0.0.3:3306", "max_total_connections=4000"):
            self.assertIn(line, text.splitlines())

    def test_a_password_is_for_its_owner_alone_whatever_was_there(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.cnf"
            path.write_text("old")
            path.chmod(0o644)
            peers.write_private(path, "new")
            self.assertEqual((path.read_text(), path.stat().st_mode & 0o777), ("new", 0o600))


class Process(unittest.TestCase):
    def test_of_a_name_with_spaces_and_parentheses(self):
        stat = "77 (a (b) c) S 1 77 77 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 3 0 99 1 2"
        self.assertAlmostEqual(process.cpu_seconds_of(stat), 200 / process.TICKS)

    def test_memory(self):
        self.assertEqual(process.resident_mib_of("VmPeak:\t9 kB\nVmRSS:\t   20480 kB\nRssAnon:\t1 kB\n"), 20.0)

    def test_of_this_process(self):
        self.assertGreater(process.resident_mib(os.getpid()), 1)
        self.assertGreaterEqual(process.cpu_seconds(os.getpid()), 0)

    def test_cores(self):
        self.assertEqual([process.cores_in(text) for text in ("1", "0-2,5", "0,3", "", "3-0")], [{1}, {0, 1, 2, 5}, {0, 3}, set(), set()])


if __name__ == "__main__":
    unittest.main()
