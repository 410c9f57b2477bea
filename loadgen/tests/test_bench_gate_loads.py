"""What bench-gate makes of loads during which something changes, and what it prints about them. No server needed."""

import pathlib
import sys
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))
from gate import load_outcome, satellite, timeline  # noqa: E402


def counted(reads, master, spare=0, fallbacks=0, limit=4, offered=0.8):
    return {"reads": reads, "master": master, "spare": spare, "fallbacks": fallbacks, "limit": limit, "offered": offered}


def at(queries, p99, limit):
    return {"queries": queries, "p99": p99, "limit": limit}


SWEEPS = {
    200: {None: at(9000.0, 11.0, 10), 4: at(7000.0, 13.0, 4), 16: at(10000.0, 10.0, 16)},
    50: {None: at(4800.0, 27.0, 5), 4: at(4700.0, 28.0, 4), 16: at(4000.0, 18.0, 16)},
}
LOADS = {
    "burst": {"before": 0.4, "within_2s": 0.002, "back_s": 3.5, "falls_s": 0.5, "spare": 0.001, "fallbacks": 0.001, "after": 0.3},
    "limits": {"cores": SWEEPS, "recovered_s": 4.0, "moved": {"before": 10, "after": 11, "moved": 0.1}},
    "saturated": {
        "auto": {"reads": 4000.0, "lag_p50_ms": 9.0, "lag_p99_ms": 60.0, "written": 499.0, "limit": 4},
        "fixed": {"reads": 5000.0, "lag_p50_ms": 1900.0, "lag_p99_ms": 3000.0, "written": 480.0, "limit": 64},
    },
    "estimate_error": 0.2,
}


class Timeline(unittest.TestCase):
    def burst(self, back):
        """A sample a second: half by the master, from 10 to 20 none, then half again from `back` on."""
        samples, reads, master = [], 0, 0
        for second in range(41):
            master_reads = second < 11 or second >= back
            samples.append((float(second), counted(reads, master, offered=0.5 if master_reads else 0.0)))
            reads += 100
            master += 50 if master_reads else 0
        return timeline.burst(samples, 10.0, 20.0)

    def test_the_masters_share_falls_and_comes_back(self):
        found = self.burst(25)
        self.assertEqual((found["before"], found["within_2s"], found["falls_s"], found["back_s"]), (0.5, 0.0, 2.0, 5.0))

    def test_a_share_that_does_not_come_back_is_as_late_as_it_was_looked_at(self):
        self.assertEqual(self.burst(99)["back_s"], 20.0)

    def test_settled_when_reads_and_limit_are_near_what_they_stay(self):
        samples, reads = [], 0
        for half in range(81):
            time = half / 2
            limit = 16 if time < 10 else 12 if time < 14 else 8
            samples.append((time, counted(reads, 0, limit=limit)))
            reads += 100 if time < 10 else 50
        found = timeline.recovered(samples, 10.0, 30.0)
        self.assertTrue(3.0 < found <= 4.5, found)

    def test_what_never_settles_is_as_late_as_it_was_looked_at(self):
        samples = [(float(second), counted(100 * second, 0, limit=4 if second < 30 else 40)) for second in range(41)]
        self.assertEqual(timeline.recovered(samples, 10.0, 30.0), 20.0)

    def test_lines_of_a_load(self):
        line = "   3 s  64 threads    4679.9 transactions/s     4679.9 queries/s (4679.9 reads, 0.0 writes)  p99 27.17 ms  0.0 errors/s"
        self.assertEqual(timeline.second_of(line), (4679.9, 27.17))
        self.assertIsNone(timeline.second_of("Threads started!"))

    def test_moved(self):
        self.assertAlmostEqual(timeline.moved(10, 8), 0.2)
        self.assertIsNone(timeline.moved(None, 8))


class Satellite(unittest.TestCase):
    def test_its_own_cores_first(self):
        self.assertEqual([satellite.core_list([1], [0, 1], cores) for cores in (50, 100, 200, 300)], ["1", "1", "0,1", None])

    def test_a_quota_for_parts_of_cores_alone(self):
        self.assertEqual([satellite.quota(cores) for cores in (50, 100, 150, 200)], [50_000, -1, 150_000, -1])


class Outcome(unittest.TestCase):
    def test_of_several_core_counts_the_worst_counts(self):
        found = load_outcome.result(LOADS)["limits"]
        self.assertEqual(found, {"throughput_ratio": 0.9, "p99_ratio": 1.1, "recovered_s": 4.0, "moved": 0.1})

    def test_the_others(self):
        found = load_outcome.result(LOADS)
        self.assertEqual(found["burst"], {"before": 0.4, "within_2s": 0.002, "back_s": 3.5})
        self.assertEqual(found["saturated"], {"lag_p50_ms": 9.0, "lag_p99_ms": 60.0, "fixed_lag_p50_ms": 1900.0, "reads_ratio": 0.8})

    def test_what_was_left_out_is_none(self):
        found = load_outcome.result({})
        self.assertEqual(found["limits"], dict.fromkeys(("throughput_ratio", "p99_ratio", "recovered_s", "moved")))
        self.assertEqual((found["burst"]["before"], found["estimate_error"], load_outcome.all_tables({})), (None, None, []))

    def test_tables_name_the_best_fixed_limit(self):
        text = "\n".join("\n".join(table) for table in load_outcome.all_tables(LOADS))
        for part in ("fixed:16 (best)", "fixed:4 (best)", "0.5 cores", "fixed:64", "answered by the master %", "then 11.0"):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
