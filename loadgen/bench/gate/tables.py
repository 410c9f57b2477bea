"""Tables of bench-gate, as lines. Pure. In: {cell: {contender: figures}}, the last line's content. Out: text."""

import figures
from gate import outcome

TITLES = {
    "direct": "straight to MySQL",
    "eventual": "gate, eventual",
    "strong": "gate, strong",
    "proxysql": "ProxySQL over TCP",
    "proxysql-socket": "ProxySQL over a Unix socket",
    "router": "MySQL Router",
}
COMMON = (
    ("queries/s", "queries", 0),
    ("p50 ms", "p50", 3),
    ("p99 ms", "p99", 3),
    ("proxy CPU us", "proxy_us", 1),
    ("mysqld CPU us", "mysqld_us", 1),
    ("proxy MiB", "memory", 1),
)
UNDER_WRITES = (("writes/s", "written", 0), ("lag p50 ms", "lag", 3), ("at master %", "at_master", 2))
WORKLOADS = {"point-select": "point selects", "read-only": "read-only mix"}


def size(number):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number % unit == 0:
            return f"{number // unit} {name}"
    return f"{number} bytes"


def title(cell):
    """What cells have in common that differ in connections alone."""
    workload = WORKLOADS.get(cell.workload) or f"results of {size(cell.size)}"
    return f"{workload}, {cell.mode}" + (", under writes" if cell.writes else "")


def line(contender, found, columns):
    shown = [figures.shown(figures.product(found.get(name), 100 if name == "at_master" else 1), decimals) for _, name, decimals in columns]
    return (f"  {TITLES[contender]}", *shown)


def table(name, at):
    """at: {cell: {contender: figures}} of one title."""
    writes = next(iter(at)).writes
    columns = COMMON + UNDER_WRITES if writes else COMMON
    rows = [(name, *(heading for heading, _, _ in columns), "of direct", *(["above lag ms"] if writes else []))]
    for cell, contenders in at.items():
        rows.append((f" {cell.connections} connections", *[""] * (len(rows[0]) - 1)))
        for contender in (each for each in TITLES if each in contenders):
            share = figures.ratio(*outcome.of(contenders, (contender, "direct"), "queries"))
            extra = [figures.shown(outcome.strong_extra(contenders) if contender == "strong" else None, 3)] if writes else []
            rows.append((*line(contender, contenders[contender], columns), figures.shown(share, 2), *extra))
    return figures.columns(rows)


def all_tables(measured):
    titles = dict.fromkeys(map(title, measured))
    return [table(name, {cell: at for cell, at in measured.items() if title(cell) == name}) for name in titles]


def targets(content):
    words = {None: "not measured", True: "met", False: "MISSED"}
    rows = [("targets (point selects, 8 connections)", "measured", "target", "")]
    for name, text, bound, at_least in outcome.TARGETS:
        rows.append(
            (
                f"  {text}",
                figures.shown(content[name], 3),
                f"{'>=' if at_least else '<='} {bound}",
                words[outcome.met(content[name], bound, at_least)],
            )
        )
    return figures.columns(rows)


def report(measured, notes):
    """notes: what was left out, and why. The last line is one line of JSON."""
    content = outcome.result(measured)
    parts = [*all_tables(measured), targets(content), *([notes] if notes else [])]
    return "\n\n".join(["\n".join(part) for part in parts] + [figures.last_line(content)])
