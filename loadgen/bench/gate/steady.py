"""A load that runs on while something else changes, and what the gate counts meanwhile.

In:  a sysbench command that prints a line a second, the running stack. Out: figures of each second, samples of the gate's counters.
Must never: take a load for running that has ended.
"""

import time

import figures
from gate import timeline
from stack import total
from sysbench import Background

SAMPLE_SECONDS = 0.5
START_SECONDS = 20
READS = "gtid_gate_reads_total"
SAMPLED = {
    "reads": READS,
    "master": f'{READS}{{server="master"}}',
    "spare": "gtid_gate_spare_reads_total",
    "offered": "gtid_gate_spare_share",
    "fallbacks": "gtid_gate_fallbacks_total",
    "limit": 'gtid_gate_server_limit{server="satellite-1"}',
}


def sample(stack):
    metrics = stack.metrics("gate")
    return time.monotonic(), {name: total(metrics, metric) for name, metric in SAMPLED.items()}


def samples(stack, seconds):
    """Two a second, with one at the beginning."""
    end, found = time.monotonic() + seconds, [sample(stack)]
    while time.monotonic() < end:
        time.sleep(SAMPLE_SECONDS)
        found.append(sample(stack))
    return found


class Steady(Background):
    """A sysbench that says what each second had."""

    def __init__(self, command):
        self._lines = []
        super().__init__(command)

    def take(self, line):
        second = timeline.second_of(line)
        if second:
            self._lines.append((time.monotonic(), second))
        return second

    def await_first(self):
        """Returns when its first second is over."""
        end = time.monotonic() + START_SECONDS
        while not self._lines:
            self.lasts()
            if time.monotonic() > end:
                raise OSError(f"a load has not begun within {START_SECONDS} s")
            time.sleep(0.05)

    def measure(self, seconds):
        """{queries, p99}: medians of so many seconds from now on; the one in hand is not among them."""
        first = len(self._lines) + 1
        end = time.monotonic() + seconds + START_SECONDS
        while len(self._lines) < first + seconds:
            self.lasts()
            if time.monotonic() > end:
                raise OSError("a load has stalled")
            time.sleep(0.02)
        measured = [second for _, second in self._lines[first : first + seconds]]
        return {"queries": figures.median(each[0] for each in measured), "p99": figures.median(each[1] for each in measured)}
