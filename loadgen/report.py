#!/usr/bin/env python3
"""What happened in the stack while the load ran: from metrics before and after to one table.

usage: report.py save FOLDER                   the gate's and the appliers' metrics, as they are now
       report.py await SECONDS                 until every satellite has what the master has
       report.py table BEFORE AFTER RUN.json…  the table, from two saved folders and sysbench's reports

In:  STATUS_URL (the gate), APPLIER_URLS (space-separated, each URL or NAME=URL; without names: satellite-1, …).
Out: text on stdout. Exit status: 0; 1 no satellite answered a read, or not caught up in time; 2 a service does not
answer; 64 wrong use.
Must never: invent a figure. What was not measured is shown as "-".
"""

import json
import math
import os
import pathlib
import re
import sys
import time
import urllib.request

HTTP_SECONDS = 5
POLL_SECONDS = 0.2
SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+\d+)?$")
LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


# --- Prometheus' text format (pure) -----------------------------------------------------------------------------


def parse(text):
    """{(name, ((label, value), …) sorted): number} of an exposition; what is no sample is skipped."""
    samples = {}
    for line in text.splitlines():
        match = None if line.startswith("#") else SAMPLE.match(line.strip())
        if match:
            labels = [
                (name, re.sub(r"\\.", lambda escape: ESCAPES.get(escape[0], escape[0]), value))
                for name, value in LABEL.findall(match[2] or "")
            ]
            samples[match[1], tuple(sorted(labels))] = float(match[3])
    return samples


def increase(before, after):
    """How much each counter grew. A counter that shrank started anew, so all of it is growth."""
    return {key: value - before.get(key, 0) if value >= before.get(key, 0) else value for key, value in after.items()}


def total(samples, name):
    """The sum over all labels, or None if there is no such metric."""
    found = [value for (sample, _), value in samples.items() if sample == name]
    return sum(found) if found else None


def by_label(samples, name, label):
    """{label's value: sum}"""
    found = {}
    for (sample, labels), value in samples.items():
        if sample == name and label in dict(labels):
            found[dict(labels)[label]] = found.get(dict(labels)[label], 0) + value
    return found


def buckets(samples, name):
    """[(upper bound, cumulative count)] of a histogram, summed over its other labels, ascending."""
    found = {math.inf if bound == "+Inf" else float(bound): count for bound, count in by_label(samples, name + "_bucket", "le").items()}
    return sorted(found.items())


def quantile(cumulative, share):
    """(value, exact) of a histogram's quantile, linear within its bucket; (None, True) if it is empty.

    Beyond the last finite bound all that is known is that bound: then exact is False.
    """
    count = cumulative[-1][1] if cumulative else 0
    if count <= 0:
        return None, True
    lower, below = 0.0, 0.0
    for bound, upto in cumulative:
        if upto >= share * count and upto > below:
            if math.isinf(bound):
                return lower, False
            return lower + (bound - lower) * max(0.0, share * count - below) / (upto - below), True
        if not math.isinf(bound):
            lower, below = bound, upto
    return lower, False


# --- the table (pure) ---------------------------------------------------------------------------------------------


def number(value, decimals=0):
    return "-" if value is None else f"{value:,.{decimals}f}".replace(",", " ")


def milliseconds(cumulative, share):
    seconds, exact = quantile(cumulative, share)
    return "-" if seconds is None else ("" if exact else "> ") + number(seconds * 1000, 1)


def percent(part, whole):
    return "-" if not whole else f"{100 * part / whole:.1f} %"


def columns(rows):
    """Rows of cells as lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]) for row in rows]
    return [line.rstrip() for line in lines]


def runs_table(runs):
    rows = [
        ("load", *(run["workload"] for run in runs)),
        ("  transactions/s", *(number(run["transactions_per_second"], 1) for run in runs)),
        ("  queries/s", *(number(run["queries_per_second"], 1) for run in runs)),
    ]
    rows += [(f"  latency {name}, ms", *(number(run["latency_ms"].get(name), 1) for run in runs)) for name in ("p50", "p95", "p99")]
    return columns(rows + [("  restarted transactions", *(number(run["errors"]) for run in runs))])


def reads_table(reads):
    whole = sum(reads.values())
    return columns(
        [("reads at the gate, by server", "reads", "share")]
        + [(f"  {server}", number(count), percent(count, whole)) for server, count in sorted(reads.items())]
    )


def lag_table(appliers):
    """appliers: {satellite: increase of its applier's metrics}"""
    rows = [("commit to visible", "transactions", "p50, ms", "p99, ms")]
    for satellite, samples in sorted(appliers.items()):
        lag = buckets(samples, "multimed_applier_commit_to_visible_seconds")
        rows.append((f"  {satellite}", number(lag[-1][1] if lag else None), milliseconds(lag, 0.5), milliseconds(lag, 0.99)))
    return columns(rows)


def waits_table(gate):
    waits, waited = total(gate, "gtid_gate_waits_total"), buckets(gate, "gtid_gate_wait_seconds")
    reads = total(gate, "gtid_gate_reads_total") or 0
    return columns(
        [
            ("waits and fallbacks in the gate", "", ""),
            ("  reads that waited for a satellite", number(waits), percent(waits or 0, reads)),
            ("  their wait p50 / p99, ms", milliseconds(waited, 0.5), milliseconds(waited, 0.99)),
            ("  reads that fell back to the master", number(total(gate, "gtid_gate_fallbacks_total")), ""),
            ("  reads refused, too many on the master", number(total(gate, "gtid_gate_fallback_rejections_total")), ""),
            ("  reads moved from a lost server", number(total(gate, "gtid_gate_moved_reads_total")), ""),
        ]
    )


def satellite_reads(reads, satellites):
    """How many reads the satellites answered. satellites: the names that the gate knows as such."""
    return sum(count for server, count in reads.items() if server in satellites)


def caught_up(servers):
    """None if every satellite is where the master is, else what is missing, in words. servers: the gate's list."""
    position = {server["name"]: "".join((server.get("gtid_set") or "").split()) for server in servers}
    masters = [server["name"] for server in servers if server["role"] == "master"]
    satellites = [server for server in servers if server["role"] == "satellite"]
    if not masters or not position[masters[0]]:
        return "the gate does not know where the master is"
    if not satellites:
        return "the gate has no satellites"
    behind = [server for server in satellites if position[server["name"]] != position[masters[0]]]
    return (
        "; ".join(f"{server['name']} {server.get('state')}, {server.get('lag_transactions')} transactions behind" for server in behind)
        or None
    )


# --- files and services ---------------------------------------------------------------------------------------------


def fetch(url):
    with urllib.request.urlopen(url, timeout=HTTP_SECONDS) as answer:
        return answer.read().decode()


def services():
    """{file name: URL} of what is saved."""
    status, appliers = os.environ.get("STATUS_URL", "http://127.0.0.1:8080"), os.environ.get("APPLIER_URLS", "").split()
    found = {"gate.metrics": f"{status}/metrics", "servers.json": f"{status}/servers"}
    for position, applier in enumerate(appliers, 1):
        name, separator, url = applier.partition("=")
        found[f"applier {name if separator else f'satellite-{position}'}"] = f"{url if separator else applier}/metrics"
    return found


def save(folder):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name, url in services().items():
        pathlib.Path(folder, name).write_text(fetch(url))
    return 0


def await_satellites(seconds):
    deadline = time.monotonic() + float(seconds)
    while True:
        try:
            missing = caught_up(json.loads(fetch(services()["servers.json"])))
        except (OSError, ValueError) as failure:
            missing = f"the gate's list: {failure}"
        if missing is None:
            return 0
        if time.monotonic() > deadline:
            print(f"not caught up after {seconds} s: {missing}")
            return 1
        time.sleep(POLL_SECONDS)


def growth(before, after, name):
    first = pathlib.Path(before, name)
    return increase(parse(first.read_text()) if first.exists() else {}, parse(pathlib.Path(after, name).read_text()))


def table(before, after, *reports):
    gate = growth(before, after, "gate.metrics")
    appliers = {file.name.partition(" ")[2]: growth(before, after, file.name) for file in pathlib.Path(after).glob("applier *")}
    reads = by_label(gate, "gtid_gate_reads_total", "server")
    servers = json.loads(pathlib.Path(after, "servers.json").read_text())
    runs = [json.loads(pathlib.Path(report).read_text()) for report in reports]
    parts = [runs_table(runs)] if runs else []
    parts += [reads_table(reads), lag_table(appliers), waits_table(gate)]
    print("\n\n".join("\n".join(part) for part in parts))
    if satellite_reads(reads, {server["name"] for server in servers if server["role"] == "satellite"}) > 0:
        return 0
    print("\nno satellite answered a read")
    return 1


def main(arguments):
    commands = {("save", 1): save, ("await", 1): await_satellites}
    name, *rest = arguments or [""]
    command = table if name == "table" and len(rest) >= 2 else commands.get((name, len(rest)))
    if command is None:
        sys.stderr.write(__doc__)
        return 64
    try:
        return command(*rest)
    except (OSError, ValueError, KeyError) as failure:
        sys.stderr.write(f"report: {name}: {failure!r}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
