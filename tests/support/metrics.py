"""Prometheus text, read.

In: the text of a /metrics page. Out: samples by name and labels. Must never: take a malformed line silently.
"""

import re

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    """samples: list of (name, {label: value}, number)."""

    def __init__(self, text):
        self.samples = [self._sample(line) for line in text.splitlines() if line and not line.startswith("#")]

    @staticmethod
    def _sample(line):
        match = SAMPLE.match(line)
        assert match, f"not a Prometheus sample: {line!r}"
        return match[1], dict(LABEL.findall(match[2] or "")), float(match[3])

    def names(self):
        return {name for name, _, _ in self.samples}

    def total(self, name, **labels):
        """Sum of all samples of that name that carry these labels; a name that does not exist at all is an error."""
        assert name in self.names(), f"no metric {name}; there are {sorted(self.names())}"
        return sum(number for sample, has, number in self.samples if sample == name and labels.items() <= has.items())
