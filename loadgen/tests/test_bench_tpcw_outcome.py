"""What bench-tpcw makes of its measurements: ratios, words, tables, files. No server needed."""

import csv
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tpcw_bench import ONE, SINGLE, TWO, everything, head, late, run_of  # noqa: E402
from tpcw import outcome, results, tables  # noqa: E402


class Outcome(unittest.TestCase):
    def test_the_last_line_is_exact_and_about_the_best_number_of_satellites(self):
        line = tables.report(everything()).splitlines()[-1]
        self.assertEqual(
            line,
            '{"browsing":{"wips_ratio":0.75,"master_cpu_ratio":0.2,"p99_ratio":1.5},'
            '"shopping":{"wips_ratio":null,"master_cpu_ratio":null,"p99_ratio":null},"unwaited_lagging":null,"unwaited_blind":null,'
            '"commit_p99_ratio":null,"light_p99_ratio":null,"light_p99_ratio_unseparated":null,"best_sellers_own_index_p95_ratio":null}',
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
        self.assertRegex(text.splitlines()[-1], r'"unwaited_lagging":0\.85,"unwaited_blind":0\.85,')

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


if __name__ == "__main__":
    unittest.main()
