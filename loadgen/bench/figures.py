"""What the measurements of bench-replication amount to: percentiles, rates, ratios, tables, the last line. Pure.

In:  times at which numbered transactions were seen on each server; positions and CPU times before and after; durations.
Out: numbers, lines of text, JSON. What was not measured is None here, "-" in tables, null in JSON.
Must never: average what should be a median, or turn a missing figure into 0.
"""

import json
import math
import statistics

LAG_RATE = 200  # transactions/s whose lag stands in the last line
TRANSACTION_LOADS = ("single-row", "write-only")
ROW_LOADS = ("multi-row", "large")
LOAD_ROWS = (
    ("load", "the master under the load"),
    ("steady", "following it until all is there"),
    ("drain", "draining a backlog, alone"),
    ("drain, log to satellite", "of these, from the log on"),
)


def percentile(values, share):
    """The nearest-rank percentile: the smallest value that at least this share of all does not exceed; None of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def median(values):
    """Of what was measured; None if nothing was."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def ratio(ours, native):
    return None if ours is None or not native else ours / native


def product(value, factor):
    return None if value is None else value * factor


def lags(master, server, begin, end):
    """Seconds between master and server of each transaction that the master had within [begin, end).

    master, server: {transaction number: time}. A transaction that the server never showed would make the rest look better, so
    it is an error. A lag can be negative: a replica gets a transaction when the master's binlog has it, an instant before
    the master's own commit is visible.
    """
    wanted = [number for number, time in master.items() if begin <= time < end]
    missing = [number for number in wanted if number not in server]
    if missing:
        raise ValueError(f"{len(missing)} of {len(wanted)} transactions were never seen, the first is {min(missing)}")
    return [server[number] - master[number] for number in wanted]


def quantiles(values):
    """{p50, p90, p99} in milliseconds, and how many values they come from."""
    found = {name: product(percentile(values, share), 1000) for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))}
    return {**found, "samples": len(values)}


def bucket_quantile(before, after, share):
    """Of the values that a histogram got between two looks: by straight lines within its buckets, so right to one bucket; None of none.

    before, after: {upper bound: how many values were not above it}. Beyond the last finite bound, that bound: it is at least so much.
    """
    grown = sorted((bound, count - before.get(bound, 0)) for bound, count in after.items())
    if not grown or grown[-1][1] <= 0:
        return None
    wanted, floor, below = share * grown[-1][1], 0.0, 0.0
    for bound, count in grown:
        if count >= wanted and count > below:
            return floor if math.isinf(bound) else floor + (bound - floor) * max(0.0, wanted - below) / (count - below)
        floor, below = bound, count
    return floor


def rate(count, seconds):
    return None if count is None or not seconds or seconds <= 0 else count / seconds


def per_thousand(seconds, transactions):
    """CPU seconds per 1 000 transactions."""
    return None if seconds is None or not transactions else 1000 * seconds / transactions


def raw_share(before, after):
    """Which share of the records between two looks went into the log as binlog events. before, after: (raw, all)."""
    grown = after[1] - before[1]
    return (after[0] - before[0]) / grown if grown > 0 else None


def over_runs(runs):
    """The median of each figure over runs: a list of (nested) dictionaries of the same shape becomes one such."""
    keys = dict.fromkeys(key for run in runs for key in run)
    combined = {}
    for key in keys:
        values = [run.get(key) for run in runs]
        nested = [value for value in values if isinstance(value, dict)]
        combined[key] = over_runs(nested) if nested else median(values)
    return combined


def lowest(values):
    known = [value for value in values if value is not None]
    return min(known) if known else None


# --- the last line ------------------------------------------------------------------------------------------------


def load_ratio(loads, names):
    """Ours / native, draining a backlog along the whole path; of several loads the worst for us."""
    return lowest(ratio(loads[name]["ours"].get("drain"), loads[name]["native"].get("drain")) for name in names if name in loads)


def steady_ratio(loads, names):
    """Ours / native of what master and follower get done on the same cores; of several loads the worst for us."""
    return lowest(ratio(loads[name]["ours"].get("steady"), loads[name]["native"].get("steady")) for name in names if name in loads)


def cpu_ratio(lag, rate):
    cpu = lag.get(rate, {"cpu": {}})["cpu"]
    return ratio(cpu.get("ours"), cpu.get("native"))


def per_extra(further, number):
    """CPU of one of the satellites beyond the first, if there are so many, against a replica's. further: {satellites: {ours, native}}"""
    if number < 2 or 1 not in further:
        return None
    more = further[number]["ours"] - further[1]["ours"]
    return ratio(more / (number - 1), further[number]["native"])


def result(lag, loads, idle_cores, cold=None, further=None):
    """The last line's content. lag: {rate: {ours, native: quantiles, cpu: …}}; loads: {name: {ours, native: {drain, …}}}"""
    at = lag.get(LAG_RATE, {"ours": {}, "native": {}, "cpu": {}})
    ours, native = at["ours"], at["native"]
    cold, further = cold or {}, further or {}
    return {
        "lag": {
            "p50_ms": rounded(ours.get("p50")),
            "p99_ms": rounded(ours.get("p99")),
            "p50_ratio": rounded(ratio(ours.get("p50"), native.get("p50"))),
            "p99_ratio": rounded(ratio(ours.get("p99"), native.get("p99"))),
        },
        "tx_per_s_ratio": rounded(load_ratio(loads, TRANSACTION_LOADS)),
        "rows_per_s_ratio": rounded(load_ratio(loads, ROW_LOADS)),
        "cpu_ratio": rounded(cpu_ratio(lag, LAG_RATE)),
        "cpu_ratio_1000": rounded(cpu_ratio(lag, 1000)),
        "cpu_ratio_per_extra": rounded(per_extra(further, max(further, default=0))),
        "same_cores_ratio": rounded(steady_ratio(loads, TRANSACTION_LOADS)),
        "cold": {"p50_ms": rounded(cold.get("p50")), "p99_ms": rounded(cold.get("p99"))},
        "idle_cores": rounded(idle_cores),
    }


def rounded(value):
    return None if value is None else round(value, 3)


def last_line(content):
    return json.dumps(content, separators=(",", ":"))


# --- tables -------------------------------------------------------------------------------------------------------


def shown(value, decimals=0):
    return "-" if value is None else f"{value:,.{decimals}f}".replace(",", " ")


def percent(share):
    return shown(product(share, 100), 1) + ("" if share is None else " %")


def columns(rows):
    """Rows of cells as lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]) for row in rows]
    return [line.rstrip() for line in lines]


def lag_table(lag):
    rows = [("commit to visible, ms", "reached/s", "native p50", "p90", "p99", "ours p50", "p90", "p99", "p50 ratio", "p99 ratio", "raw")]
    for wanted, at in sorted(lag.items()):
        native, ours = at["native"], at["ours"]
        rows.append(
            (
                f"  {wanted} transactions/s",
                shown(at.get("reached")),
                *(shown(native.get(name), 2) for name in ("p50", "p90", "p99")),
                *(shown(ours.get(name), 2) for name in ("p50", "p90", "p99")),
                *(shown(ratio(ours.get(name), native.get(name)), 2) for name in ("p50", "p99")),
                percent(at.get("raw")),
            )
        )
    return columns(rows)


def cpu_table(lag):
    names = list(dict.fromkeys(name for at in lag.values() for name in at["cpu"]))
    rows = [("CPU seconds / 1 000 transactions", *names, "ratio")]
    for wanted, at in sorted(lag.items()):
        rows.append(
            (
                f"  at {wanted} transactions/s",
                *(shown(at["cpu"].get(name), 3) for name in names),
                shown(ratio(at["cpu"].get("ours"), at["cpu"].get("native")), 2),
            )
        )
    return columns(rows)


def loads_table(loads):
    rows = [("transactions/s (rows/s)", "native", "ours", "ratio")]
    for name, at in loads.items():
        rows.append((name, "", "", ""))
        for what, title in LOAD_ROWS:
            ours, native = at["ours"].get(what), at["native"].get(what, at["native"].get("drain"))
            quotient = "" if what == "load" else shown(ratio(ours, native), 2)
            rows.append((f"  {title}", with_rows(native, at["rows"]), with_rows(ours, at["rows"]), quotient))
        raw = at.get("raw", {})
        rows.append(
            (
                "  records in the log as binlog events, following / draining",
                "",
                f"{percent(raw.get('steady'))} / {percent(raw.get('drain'))}",
                "",
            )
        )
    return columns(rows)


def with_rows(value, rows):
    return shown(value) if rows == 1 or value is None else f"{shown(value, 1)} ({shown(value * rows)})"


def engine_table(engine, loads):
    """engine: rows/s of Debezium's engine with nothing behind it."""
    ours = loads.get("multi-row", {"ours": {}, "rows": 1})
    rows = product(ours["ours"].get("drain"), ours["rows"])
    return columns(
        [
            ("multi-row, rows/s", "engine alone", "ours draining", "ratio"),
            ("  against Debezium's engine alone", shown(engine), shown(rows), shown(ratio(rows, engine), 2)),
        ]
    )


def cold_table(cold):
    return columns(
        [
            ("first seconds of the stack, ms", "p50", "p90", "p99"),
            ("  commit to visible", *(shown(cold.get(name), 2) for name in ("p50", "p90", "p99"))),
        ]
    )


def further_table(further):
    rows = [("CPU seconds / 1 000 transactions", "native replica", "ours, all", "per further one", "ratio")]
    for number, at in sorted(further.items()):
        more = per_extra(further, number)
        each = product(more, at["native"])
        rows.append((f"  {number} satellites", shown(at["native"], 3), shown(at["ours"], 3), shown(each, 3), shown(more, 2)))
    return columns(rows)


def idle_table(idle):
    total = sum(idle.values())
    return columns([("idle, cores", "")] + [(f"  {name}", shown(value, 3)) for name, value in idle.items()] + [("  all", shown(total, 3))])
