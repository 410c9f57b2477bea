"""What bench-tpcw measures beside its contenders: plan, loads, indexes that go again, ratios. No server needed."""

import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tpcw_bench import APART, HERE, ONE, SINGLE, TWO, defaults_of_the_script, everything, good, run_of  # noqa: E402
from tpcw import override, part_outcome, parts, plan, runner, settings, tables  # noqa: E402


def rounds(name, *values):
    return [{each: value if each == name else None for each in part_outcome.FIGURES} for value in values]


PARTS = {
    "commits": {
        "shopping": {"spare": rounds("commit_p99", 9.0, 5.0, 1.0), "never": rounds("commit_p99", 4.0, 5.0, 6.0)},
        "ordering": {"spare": rounds("commit_p99", 6.0), "never": rounds("commit_p99", 5.0)},
    },
    "light": {"alone": rounds("p99", 2.0, 2.0, 90.0), "separated": rounds("p99", 2.2), "unseparated": rounds("p99", 20.0)},
    "index": {"without": rounds("p95", 40.0), "with": rounds("p95", 10.0)},
}


class Settings(unittest.TestCase):
    def test_parts_can_be_left_out_and_bad_ones_are_told_together(self):
        self.assertEqual(good().parts, ("commits", "light", "index"))
        self.assertEqual(good(BENCH_PARTS="").parts, ())
        with self.assertRaises(ValueError) as caught:
            good(BENCH_PARTS="heat", BENCH_ROUNDS="0", BENCH_LIGHT_RATE="x", BENCH_LIGHT_MASTER_READS="some", BENCH_OWN_INDEXES="item")
        for name in ("PARTS", "ROUNDS", "LIGHT_RATE", "LIGHT_MASTER_READS", "OWN_INDEXES"):
            self.assertRegex(str(caught.exception), rf"(?m)^BENCH_{name}")

    def test_an_index_is_nothing_but_an_index(self):
        for bad in ("", "item(i_id);DROP", "item()", "item(i_id,)"):
            with self.assertRaisesRegex(ValueError, "BENCH_OWN_INDEXES"):
                good(BENCH_OWN_INDEXES=bad)

    def test_an_empty_list_is_kept_by_the_script(self):
        self.assertEqual(settings.read(defaults_of_the_script(2), range(2)).parts, ("commits", "light", "index"))


class Plan(unittest.TestCase):
    def test_commits_on_the_most_satellites_and_the_rest_apart(self):
        self.assertEqual([plan.parts(good(), each) for each in (SINGLE, ONE, TWO, APART)], [[], [], ["commits"], ["light", "index"]])
        self.assertEqual(plan.parts(good(BENCH_PARTS="index"), APART), ["index"])
        self.assertNotIn(APART, plan.contenders(good(BENCH_PARTS="commits")))

    def test_both_policies_in_turn_in_shopping_and_ordering_only(self):
        cells = plan.commit_cells(good(BENCH_MIXES="browsing shopping ordering", BENCH_ROUNDS="2"))
        self.assertEqual([policy for mix, policy, _ in cells if mix == "shopping"], ["spare", "never", "never", "spare"])
        self.assertEqual({mix for mix, _, _ in cells}, {"shopping", "ordering"})
        self.assertEqual(cells[1][2].session_sql, "SET @multimed_master_reads = 'never', @multimed_wait_ms = 30000")

    def test_both_gates_in_turn(self):
        self.assertEqual(
            plan.light_steps(good(BENCH_ROUNDS="2")), [("separated", 5), ("unseparated", 0), ("unseparated", 0), ("separated", 5)]
        )

    def test_satellites_apart_have_a_core_each_as_far_as_there_are_any(self):
        self.assertEqual(plan.own_cores("3-5"), {"SATELLITE_1_CPUS": "3", "SATELLITE_2_CPUS": "4"})
        self.assertEqual(plan.own_cores("0"), {"SATELLITE_1_CPUS": "0", "SATELLITE_2_CPUS": "0"})

    def test_parts_take_time(self):
        self.assertGreater(plan.estimate(good()) - plan.estimate(good(BENCH_PARTS="")), 12 * 8)


class Loads(unittest.TestCase):
    def test_light_reads_come_at_their_rate_and_say_what_the_master_may_answer(self):
        options = runner.options_of(plan.light_cell(good(), heavy=True), 1, good(), 2, 8)
        for wanted in ("--mix=light", "--rate=100", "--threads=16", "--session-sql=SET @multimed_master_reads = 'fallback'"):
            self.assertIn(wanted, options)
        self.assertFalse(
            [each for each in runner.options_of(plan.index_cell(), 1, good(), 2, 8) if each.startswith(("--rate", "--session"))]
        )

    def test_the_gate_is_told_what_is_heavy(self):
        self.assertIn('{GATE_HEAVY_MS: "0"}', override.text(APART, good(), HERE, heavy_ms=0))
        self.assertNotIn("GATE_HEAVY_MS", override.text(APART, good(), HERE))

    def test_heavy_queries_that_end_before_the_light_ones_are_an_error_and_are_ended_after_them(self):
        stage = types.SimpleNamespace(contender=APART, door=("h", 1))
        for command, fails in (("exit 1", True), ("exec sleep 60", False)):
            sysbench = types.SimpleNamespace(command=lambda *_, command=command: ["sh", "-c", command])
            with tempfile.TemporaryDirectory() as folder:
                heavy = runner.Runner(good(BENCH_STATE=folder), sysbench)._heavy(stage, plan.light_cell(good(), heavy=True))
                started = heavy.__enter__() or heavy.gen.gi_frame.f_locals["heavy"]
                if fails:
                    started.wait()
                    with self.assertRaisesRegex(OSError, "best sellers beside apart-2, light ended"):
                        heavy.__exit__(None, None, None)
                else:
                    heavy.__exit__(None, None, None)
                    self.assertIsNotNone(started.returncode)


class Measured(unittest.TestCase):
    """With a satellite that only remembers what it was told."""

    def setUp(self):
        self.enterContext(unittest.mock.patch("tpcw.parts.say", lambda text: None))
        self.said, self.cells = [], []
        stack = types.SimpleNamespace(sql=lambda server, text: self.said.append((server, text)), address=lambda server: server)
        self.up = types.SimpleNamespace(contender=APART, stack=stack, separate=lambda ms: self.said.append(ms))

    def measure(self, up, cell, door=None):
        self.cells.append((cell, door))
        return run_of(APART, cell.mix, cell.clients, master=0.1, gate=0.1)

    def test_gates_change_in_turn_and_light_reads_alone_are_measured_once_a_round(self):
        found = parts.light(self.up, good(BENCH_ROUNDS="2"), self)
        self.assertEqual(self.said, [5, 0, 5])
        self.assertEqual({name: len(each) for name, each in found.items()}, {"alone": 2, "separated": 2, "unseparated": 2})
        self.assertEqual([cell.heavy for cell, _ in self.cells], [0, 2, 2, 2, 0, 2])

    def test_an_index_is_on_one_satellite_and_goes_again_also_behind_an_error(self):
        parts.index(self.up, good(BENCH_ROUNDS="1", BENCH_DATABASE="shop"), self)
        self.assertEqual(
            self.said,
            [
                ("satellite-2", "CREATE INDEX multimed_own_bench_1 ON shop.order_line (ol_i_id,ol_qty)"),
                ("satellite-2", "DROP INDEX multimed_own_bench_1 ON shop.order_line"),
            ],
        )
        self.assertEqual({door for _, door in self.cells}, {("satellite-2", 3306)})
        with self.assertRaises(OSError), parts.indexes(self.up, "satellite-2", good()):
            raise OSError
        self.assertIn("DROP", self.said[-1][1])

    def test_commits_of_both_policies(self):
        found = parts.commits(self.up, good(BENCH_ROUNDS="2"), self)
        self.assertEqual({policy: len(each) for policy, each in found["shopping"].items()}, {"spare": 2, "never": 2})
        self.assertEqual(found["shopping"]["spare"][0]["commit_p99"], 5.0)


class Outcome(unittest.TestCase):
    def test_medians_of_the_rounds_and_the_worse_mix(self):
        self.assertEqual(
            part_outcome.ratios(PARTS),
            {
                "commit_p99_ratio": 1.2,
                "light_p99_ratio": 1.1,
                "light_p99_ratio_unseparated": 10.0,
                "best_sellers_own_index_p95_ratio": 0.25,
            },
        )

    def test_what_was_not_measured_is_missing_not_good(self):
        self.assertEqual(set(part_outcome.ratios({}).values()), {None})
        half = {"commits": {**PARTS["commits"], "ordering": {"spare": rounds("commit_p99", 1.0)}}}
        self.assertIsNone(part_outcome.ratios(half)["commit_p99_ratio"])

    def test_tables_and_the_last_line(self):
        text = tables.report(everything(parts=PARTS))
        self.assertRegex(text, r"(?m)^  shopping, spare +3 +- +- +5\.00$")
        self.assertRegex(text, r"(?m)^  best sellers beside them, not separated +1 +- +- +- +20\.00$")
        self.assertTrue(text.endswith('"light_p99_ratio_unseparated":10.0,"best_sellers_own_index_p95_ratio":0.25}'))


if __name__ == "__main__":
    unittest.main()
