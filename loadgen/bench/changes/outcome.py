"""What the steps amount to. Pure.

In:  statements (when due, how many ms after that answered) of the reads and of the updates, errors, seconds, all by one clock.
Out: figures of each step, tables, the last line. What was not measured is None here, "-" in tables, null in JSON.
Must never: take a window's percentile from those of its seconds.
"""

import json

import figures

KINDS = ("read", "write")
COLUMNS = (
    ("seconds", "seconds", 1),
    ("served s", "served_s", 1),
    ("s/GiB", "served_s_per_gib", 1),
    ("errors", "errors", 0),
    ("read p50 before", "read_p50_before_ms", 2),
    ("during", "read_p50_ms", 2),
    ("p99 before", "read_p99_before_ms", 2),
    ("during", "read_p99_ms", 2),
    ("ratio", "read_p99_ratio", 2),
    ("write p99 before", "write_p99_before_ms", 2),
    ("during", "write_p99_ms", 2),
    ("ratio", "write_p99_ratio", 2),
    ("worst second", "worst_second", 2),
)
MESSAGES = 5


def within(statements, begin, end):
    """Milliseconds of those that were due in [begin, end)."""
    return [milliseconds for due, milliseconds in statements if begin <= due < end]


def seconds_of(statements, begin, end):
    """How many were answered in each whole second of [begin, end)."""
    counts = [0] * int(end - begin)
    for due, milliseconds in statements:
        answered = due + milliseconds / 1000
        if begin <= answered < begin + len(counts):
            counts[int(answered - begin)] += 1
    return counts


def step(loads, errors, calm, during):
    """The figures of one: loads {kind: statements}, errors [(time, message)], calm and during: (begin, end)."""
    found = {"errors": sum(during[0] <= time < during[1] for time, _ in errors)}
    for kind in KINDS:
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            before, now = (figures.percentile(within(loads[kind], *window), share) for window in (calm, during))
            found |= {f"{kind}_{name}_before_ms": before, f"{kind}_{name}_ms": now}
        found[f"{kind}_p99_ratio"] = figures.ratio(found[f"{kind}_p99_ms"], found[f"{kind}_p99_before_ms"])
    every = [each for kind in KINDS for each in loads[kind]]
    found["worst_second"] = figures.ratio(min(seconds_of(every, *during), default=None), figures.median(seconds_of(every, *calm)))
    return found


def missed(name, found, wanted):
    """A line for each target that was missed; no errors are wanted of any."""
    lines = []
    for figure, bound, value in (*wanted, ("errors", "most", 0)):
        got = found.get(figure)
        if got is None or (got > value if bound == "most" else got < value):
            lines.append(f"{name}: {figure} {figures.shown(got, 2)}, wanted at {bound} {value}")
    return lines


def report(data_gib, measured, errors, lines):
    """The tables and the last line. measured {step: figures}, errors [(time, message)], lines: targets that were missed."""
    rows = [("step", *(heading for heading, _, _ in COLUMNS))]
    rows += [(name, *(figures.shown(found.get(column), decimals) for _, column, decimals in COLUMNS)) for name, found in measured.items()]
    text = [f"Changes of a running stack, {data_gib:.2f} GiB, ms from when a statement was due", *aligned(rows)]
    text += [f"  error: {message}" for _, message in errors[:MESSAGES]]
    text += [f"  missed: {line}" for line in lines]
    last = {"data_gib": rounded(data_gib), "errors": len(errors), "missed": lines}
    last["steps"] = {name: {key: rounded(value) for key, value in found.items()} for name, found in measured.items()}
    return "\n".join([*text, json.dumps(last)])


def rounded(value):
    return round(value, 3) if isinstance(value, float) else value


def aligned(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join((row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))))
