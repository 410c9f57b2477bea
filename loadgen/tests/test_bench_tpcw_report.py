"""The figures and the page of bench-tpcw: well-formed, self-contained, and true to their numbers. No server needed."""

import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tpcw_bench import HERE, NATIVE, ONE, SINGLE, TWO, everything, head, run_of  # noqa: E402
from test_bench_tpcw_parts import PARTS  # noqa: E402
from tpcw import charts, page  # noqa: E402

HOSTILE = '<script>alert("&")</script>'


def parsed(text):
    return xml.fromstring(text)


def points(svg, number=0):
    """Of a line of a figure, as drawn."""
    return [tuple(map(float, pair.split(","))) for pair in svg.findall("polyline")[number].get("points").split()]


def texts(svg):
    return [element.text for element in svg.iter("text")]


class Axes(unittest.TestCase):
    def test_a_linear_axis_begins_at_nothing_and_holds_all(self):
        for most in (0.03, 1, 7, 99, 100, 101, 4321):
            axis = charts.linear([most / 2, most])
            self.assertEqual((axis.ticks[0], axis.ticks[-1]), (0, axis.most))
            self.assertLessEqual(axis.share(most), 1)
            self.assertGreater(axis.share(most), 0.5)
            self.assertLessEqual(len(axis.ticks), 2 * charts.TICKS)

    def test_a_logarithmic_axis_has_powers_of_ten(self):
        axis = charts.logarithmic([3, 250, 0])
        self.assertEqual(axis.ticks, (1, 10, 100, 1000))
        self.assertAlmostEqual(axis.share(10), 1 / 3)
        self.assertEqual(charts.logarithmic([10]).ticks, (10, 100))

    def test_of_nothing(self):
        self.assertEqual((charts.linear([]).most, charts.logarithmic([]).ticks), (1, (1, 10)))


class Lines(unittest.TestCase):
    def test_more_is_higher_and_what_was_measured_stands_at_equal_distances(self):
        drawn = points(parsed(charts.lines("l", {"a": [(1, 10), (8, 20), (1000, 40)]}, "clients", "WIPS")))
        self.assertAlmostEqual(drawn[1][0] - drawn[0][0], drawn[2][0] - drawn[1][0], delta=0.2)
        self.assertAlmostEqual(2 * (drawn[0][1] - drawn[1][1]), drawn[1][1] - drawn[2][1], delta=0.2)

    def test_a_gap_is_no_zero(self):
        svg = parsed(charts.lines("l", {"a": [(1, 5), (2, None), (3, 5), (4, 5)]}, "s", "ms", time=True))
        self.assertEqual([len(points(svg, number)) for number in (0, 1)], [1, 2])

    def test_series_differ_in_more_than_colour(self):
        svg = parsed(charts.lines("l", {name: [(1, number), (2, number)] for number, name in enumerate("abcd")}, "x", "y"))
        self.assertEqual([each.get("class") for each in svg.findall("polyline")], ["s0", "s1", "s2", "s3"])
        self.assertEqual(len({each.get("points") for each in svg.findall("polygon")}), 3 * 3)  # three shapes: two points and the legend
        self.assertEqual(len(set(page.DASHES)), charts.STYLES)

    def test_a_long_line_is_thinned(self):
        svg = parsed(charts.lines("l", {"a": [(second, 1) for second in range(1800)]}, "s", "ms", time=True))
        self.assertLessEqual(len(points(svg)), charts.MOST_POINTS)

    def test_of_nothing_is_still_a_figure(self):
        self.assertEqual(parsed(charts.lines("l", {}, "x", "y")).tag, "svg")
        self.assertEqual(parsed(charts.lines("l", {"a": [(1, None)]}, "x", "y", log=True)).tag, "svg")

    def test_names_are_escaped(self):
        svg = parsed(charts.lines(HOSTILE, {HOSTILE: [(1, 1)]}, HOSTILE, HOSTILE))
        self.assertEqual(svg.find("title").text, HOSTILE)
        self.assertIn(HOSTILE, texts(svg))


class Rows(unittest.TestCase):
    def test_parts_of_a_bar_lie_side_by_side(self):
        svg = parsed(charts.stacked("l", {"one": {"master": 2.0, "gate": 1.0}, "two": {"master": None, "gate": 3.0}}, "ms"))
        bars = [each for each in svg.findall("rect") if each.get("width") != "16"]
        self.assertEqual([each.get("class") for each in bars], ["f0", "f1", "f1"])
        first, second, alone = ((float(each.get("x")), float(each.get("width"))) for each in bars)
        self.assertAlmostEqual(sum(first), second[0], delta=0.2)
        self.assertAlmostEqual(first[1] + second[1], alone[1], delta=0.2)

    def test_a_range_reaches_from_one_to_the_other(self):
        svg = parsed(
            charts.ranges("l", {"home": {"single": (1.0, 100.0), "multimed-1": (None, None)}, "buy": {"multimed-1": (10.0, 100.0)}}, "ms")
        )
        drawn = {
            each.get("class"): float(each.get("x2")) - float(each.get("x1"))
            for each in svg.findall("line")
            if each.get("class") != "grid" and float(each.get("y1")) < charts.TOP + 2 * 28
        }  # above the legend
        self.assertAlmostEqual(drawn["s0"], 2 * drawn["s1"], delta=1)
        self.assertIn("ms (logarithmic)", texts(svg))


class Lag(unittest.TestCase):
    def test_more_servers_than_a_figure_can_tell_apart_are_summed_up(self):
        samples = [{"second": 1, "lag_ms": {f"satellite-{number}": number for number in range(count)}} for count in (7, 8)]
        self.assertEqual(len(page.lag_of(samples[:1])), 7)
        self.assertEqual(
            {name: points[0][1] for name, points in page.lag_of(samples[1:]).items()}, {"median of all satellites": 3, "largest": 7}
        )


class Page(unittest.TestCase):
    def setUp(self):
        swept = [run_of(each, clients=8, wips=50, master=1.0, gate=0.1) for each in (SINGLE, NATIVE, TWO)]
        self.results = everything(head() + swept + head("shopping"))
        self.text = page.page(self.results)

    def test_it_is_well_formed_and_all_figures_are_there(self):
        tree = parsed(self.text)
        captions = [each.text for each in tree.iter("figcaption")]
        for wanted in (
            "Throughput, 32 clients",
            "Response time, 32 clients",
            "Throughput, by clients",
            "Response time, by clients",
            "Latency of each interaction, p50 (mark) to p99, 32 clients",
            "CPU of the servers for one interaction, 32 clients",
        ):
            self.assertIn(wanted, captions)
        for wanted in (
            "multimed-1, browsing: lag over time",
            "replicas-2, browsing: waits over time",
            "multimed-1, browsing: CPU of the servers over time",
        ):
            self.assertIn(wanted, captions)
        self.assertEqual(len(list(tree.iter("svg"))), len(captions))

    def test_parts_have_a_figure_and_a_table_each(self):
        tree = parsed(page.page(everything(parts=PARTS)))
        captions = " ".join(each.text for each in tree.iter("figcaption"))
        for wanted in ("COMMITs of Multimed", "Light reads", "Best sellers straight"):
            self.assertIn(wanted, captions)

    def test_it_needs_nothing_from_outside_and_runs_nothing(self):
        self.assertNotRegex(self.text, r"(?i)https?:|//[a-z]|\bsrc=|\bhref=|<script|<link|@import|url\(|\bon\w+=")
        self.assertIn("default-src 'none'", self.text)

    def test_it_has_rules_for_phones_and_for_paper(self):
        for wanted in ('name="viewport"', "@media print", "@media (max-width", "overflow-x: auto", 'charset="utf-8"'):
            self.assertIn(wanted, self.text)

    def test_every_class_that_is_drawn_has_a_style(self):
        drawn = set(re.findall(r'class="([smf]\d)"', self.text))
        self.assertTrue(drawn)
        for name in drawn:
            self.assertIn(f".{name}", page.styles())

    def test_it_says_plainly_who_was_ahead_on_which_machine(self):
        said = "".join(parsed(self.text).itertext())
        self.assertIn("One MySQL is faster than Multimed with 1 satellite", said)
        self.assertIn("expected to win", said)
        self.assertIn(HERE["facts"]["processor"], said)
        self.assertIn("sync_binlog", said)

    def test_what_is_not_complete_says_so(self):
        self.assertNotIn("NOT COMPLETE", self.text)
        self.assertIn("NOT COMPLETE", page.page(everything(complete=False)))

    def test_text_from_the_machine_is_escaped(self):
        found = {
            **self.results,
            "machine": {HOSTILE: HOSTILE},
            "checks": {HOSTILE: [HOSTILE]},
            "servers": {HOSTILE: {HOSTILE: {HOSTILE: HOSTILE}}},
        }
        self.assertNotIn("<script", page.page(found))
        parsed(page.page(found))

    def test_of_one_contender_alone(self):
        for runs in ([run_of(SINGLE, master=1.0)], [run_of(ONE, master=1.0, gate=0.1)], []):
            self.assertEqual(parsed(page.page(everything(runs))).tag, "html")


if __name__ == "__main__":
    unittest.main()
