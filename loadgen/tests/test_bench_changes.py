"""What bench-changes plans, how it reads its loads, and what it makes of them. No server needed."""

import json
import os
import pathlib
import subprocess
import sys
import types
import unittest
import unittest.mock

BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))
from changes import __main__ as run  # noqa: E402
from changes import load, outcome, settings, steps  # noqa: E402

GOOD = {
    "BENCH_STEPS": "scale-3 scale-2 cores satellite-memory master-memory renew rotate",
    "BENCH_DATA_MIB": "64",
    "BENCH_TABLES": "4",
    "BENCH_READ_RATE": "400",
    "BENCH_READ_CONNECTIONS": "16",
    "BENCH_RANGES": "20",
    "BENCH_LEVEL": "strong",
    "BENCH_WRITE_RATE": "50",
    "BENCH_WRITE_CONNECTIONS": "4",
    "BENCH_WARM_UP_SECONDS": "0",
    "BENCH_CALM_SECONDS": "3",
    "BENCH_AFTER_SECONDS": "1",
    "BENCH_PORTS": "29033",
}


def good(**changes):
    return settings.read({**GOOD, **changes})


def loads(pause_ms=1.0):
    """100 reads and 10 updates a second for 20 s, 1 ms each; those due in second 12 wait for so long."""
    reads = [(n / 100, pause_ms if 1200 <= n < 1300 else 1.0) for n in range(2000)]
    return {"read": reads, "write": [(n / 10, 2.0) for n in range(200)]}


class Settings(unittest.TestCase):
    def test_all_mistakes_come_at_once_with_status_64(self):
        bad = {"BENCH_STEPS": "scale-2 dance", "BENCH_DATA_MIB": "0", "BENCH_LEVEL": "weak", "BENCH_READ_RATE": "many"}
        script = BENCH.parent / "bench-changes"
        done = subprocess.run([str(script)], env={**os.environ, **bad}, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        for said in ("BENCH_STEPS: dance", "scale-3 has added", "BENCH_DATA_MIB=0", "BENCH_LEVEL=weak", "BENCH_READ_RATE=many"):
            self.assertIn(said, done.stderr)

    def test_a_satellite_has_room_for_the_data_and_what_is_resized(self):
        for mib in ("1", "1024", "20000"):
            wanted = good(BENCH_DATA_MIB=mib)
            self.assertGreater(wanted.tmpfs, 1.2 * wanted.data_mib + 500)
            self.assertGreaterEqual(wanted.satellite_memory, wanted.tmpfs + settings.POOL + 400)


class Steps(unittest.TestCase):
    def test_steps_come_in_their_order_and_lead_back_to_where_they_began(self):
        found = steps.steps(good(BENCH_STEPS="rotate satellite-memory scale-3"), {0, 1})
        self.assertEqual([step.name for step in found], ["scale-3", "satellite-memory-up", "satellite-memory-down", "rotate"])
        down = found[2].commands[0]
        self.assertEqual(down[2:], (f"MEMORY={good().satellite_memory}m", f"BUFFER_POOL={settings.POOL}m", f"TMPFS={good().tmpfs}m"))

    def test_a_resize_makes_no_container_anew(self):
        """A smaller tmpfs would."""
        for step in steps.steps(good(BENCH_STEPS="satellite-memory"), {0, 1}):
            self.assertIn(f"TMPFS={good().tmpfs}m", step.commands[0])

    def test_cores_are_the_machines(self):
        one, every = steps.steps(good(BENCH_STEPS="cores"), {8, 3, 5})
        self.assertEqual((one.commands[0][-1], every.commands[0][-1]), ("CPUS=8", "CPUS=3,5,8"))

    def test_every_satellite_is_asked_to_be_made_anew(self):
        text = settings.declaration(good()) + "  list:\n    - {}\n    - cpus: 0\n      tmpfs: 1200m\n"
        self.assertIn(f"tmpfs: {good().tmpfs - 64}m", steps.renewing(text))
        self.assertIn("tmpfs: 1136m", steps.renewing(text))
        self.assertRaises(ValueError, steps.renewing, "satellites: {}\n")


class Loads(unittest.TestCase):
    def load(self, *lines, then="exec sleep 9"):
        script = "".join(f"echo '{line}'; " for line in lines) + then
        return load.Load(["sh", "-c", script], 2)

    def test_a_window_is_complete_once_every_thread_has_told_it(self):
        with self.load("s 1.5 0.700", "e 1.6 lost connection", "t 0 5.0", "t 1 4.0") as found:
            found.await_told(4.0)
            self.assertEqual((found.statements, found.errors), ([(1.5, 0.7)], [(1.6, "lost connection")]))
            with unittest.mock.patch("changes.load.STALL_SECONDS", 0.1):
                self.assertRaisesRegex(OSError, "stalled", found.await_told, 4.5)

    def test_a_load_that_ends_says_why(self):
        with self.load("FATAL: no such host", then="exit 1") as found:
            self.assertRaisesRegex(OSError, "ended early", found.await_told, 1.0)


class Outcome(unittest.TestCase):
    def step(self, pause_ms=1.0, errors=()):
        return outcome.step(loads(pause_ms), errors, (0, 10), (10, 15))

    def test_a_pause_shows_in_p99_and_in_the_worst_second(self):
        calm, paused = self.step(), self.step(1500.0)
        self.assertEqual((calm["read_p99_ratio"], calm["worst_second"]), (1.0, 1.0))
        self.assertEqual((paused["read_p99_ms"], paused["read_p99_before_ms"], paused["read_p50_ms"]), (1500.0, 1.0, 1.0))
        self.assertLess(paused["worst_second"], 0.2)
        self.assertEqual(paused["write_p99_ratio"], 1.0)

    def test_errors_count_in_the_step_in_which_they_came(self):
        self.assertEqual(self.step(errors=[(9.0, "before"), (11.0, "within"), (16.0, "after")])["errors"], 1)

    def test_a_target_is_missed_on_its_wrong_side_or_when_it_was_not_measured(self):
        wanted = (("worst_second", "least", 0.7), ("seconds", "most", 5))
        self.assertEqual(outcome.missed("x", {"worst_second": 0.7, "seconds": 5.0, "errors": 0}, wanted), [])
        lines = outcome.missed("x", {"worst_second": 0.69, "seconds": None, "errors": 1}, wanted)
        self.assertEqual([line.split()[1] for line in lines], ["worst_second", "seconds", "errors"])

    def test_the_last_line_is_one_line_of_json_with_every_step(self):
        text = outcome.report(1.0, {"scale-3": self.step() | {"seconds": 1.0, "served_s": None}}, [(1.0, "lost connection")], ["late"])
        last = json.loads(text.splitlines()[-1])
        self.assertEqual((last["data_gib"], last["errors"], last["missed"]), (1.0, 1, ["late"]))
        self.assertIsNone(last["steps"]["scale-3"]["served_s"])
        self.assertIn("error: lost connection", text)


class Run(unittest.TestCase):
    def test_a_step_that_fails_ends_the_run(self):
        step = steps.Step("broken", (("no-such-target",),))
        with unittest.mock.patch("subprocess.run", lambda *_, **__: types.SimpleNamespace(returncode=2)):
            self.assertRaisesRegex(OSError, "make no-such-target failed", run.make, step, good(BENCH_STATE="/tmp"))


if __name__ == "__main__":
    unittest.main()
