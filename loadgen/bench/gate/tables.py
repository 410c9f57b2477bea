"""Tables of bench-gate, as lines. Pure. In: {cell: {contender: figures}}, the last line's content. Out: text."""

import figures
from gate import load_outcome, outcome

TITLES = {
    "direct": "straight to MySQL",
    "eventual": "gate, eventual",
    "session": "gate, session",
    "strong": "gate, strong",
    "master": "straight to the master",
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
UNDER_WRITES = (
    ("writes/s", "written", 0),
    ("lag p50 ms", "lag", 3),
    ("waited %", "waited", 2),
    ("by tables %", "by_tables", 2),
    ("for stream %", "for_stream", 2),
    ("at master %", "at_master", 2),
)
OWN_WRITE = (("reads/s", "queries", 0), ("p50 ms", "p50", 3), ("p99 ms", "p99", 3), ("stale %", "stale", 2))
PERCENT = ("at_master", "waited", "by_tables", "for_stream", "stale")
WORKLOADS = {"point-select": "point selects", "read-only": "read-only mix", "own-write": "reads of own writes"}


def size(number):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number % unit == 0:
            return f"{number // unit} {name}"
    return f"{number} bytes"


def title(cell):
    """What cells have in common that differ in connections alone."""
    sized = {"result": "results of", "long-text": "statements of"}
    workload = WORKLOADS.get(cell.workload) or f"{sized[cell.workload]} {size(cell.size)}"
    tables = "" if not cell.writes else ", quiet tables, under writes" if cell.quiet else ", written tables, under writes"
    return f"{workload}, {cell.mode}{tables}"


def line(contender, found, columns):
    shown = [figures.shown(figures.product(found.get(name), 100 if name in PERCENT else 1), decimals) for _, name, decimals in columns]
    return (f"  {TITLES[contender]}", *shown)


def columns_of(cell):
    """Figures, and then what is compared: (heading, function of the cell's contenders and the one in hand, decimals)."""
    if cell.workload == "own-write":
        return OWN_WRITE, ()
    of_direct = ("of direct", lambda at, each: figures.ratio(*outcome.of(at, (each, "direct"), "queries")), 2)
    of_eventual = ("of eventual", lambda at, each: figures.ratio(*outcome.of(at, (each, "eventual"), "queries")), 2)
    above_lag = ("above lag ms", lambda at, each: outcome.strong_extra(at) if each == "strong" else None, 3)
    above_eventual = ("above eventual ms", lambda at, each: outcome.above_eventual(at) if each == "strong" else None, 3)
    if not cell.writes:
        return COMMON, (of_direct,)
    return COMMON + UNDER_WRITES, (of_eventual, above_eventual) if cell.quiet else (of_direct, above_lag)


def table(name, at):
    """at: {cell: {contender: figures}} of one title."""
    columns, compared = columns_of(next(iter(at)))
    rows = [(name, *(heading for heading, _, _ in columns + compared))]
    for cell, contenders in at.items():
        rows.append((f" {cell.connections} connection{'' if cell.connections == 1 else 's'}", *[""] * (len(rows[0]) - 1)))
        for contender in (each for each in TITLES if each in contenders):
            ratios = [figures.shown(value(contenders, contender), decimals) for _, value, decimals in compared]
            rows.append((*line(contender, contenders[contender], columns), *ratios))
    return figures.columns(rows)


def all_tables(measured):
    titles = dict.fromkeys(map(title, measured))
    return [table(name, {cell: at for cell, at in measured.items() if title(cell) == name}) for name in titles]


def stream_table(stream):
    """stream: see outcome.py, and reached (transactions/s)."""
    title = f"a commit, at {figures.shown(stream.get('reached'))} transactions/s"
    rows = [(title, "p50 ms", "p99 ms")]
    for text, name in (("the gate knows its tables", "known"), ("visible on the satellite", "visible")):
        rows.append((f"  until {text}", *(figures.shown(stream.get(f"{name}_{each}_ms"), 3) for each in ("p50", "p99"))))
    return figures.columns(rows)


def targets(content):
    words = {None: "not measured", True: "met", False: "MISSED"}
    rows = [("targets (point selects, 8 connections where nothing else is said)", "measured", "target", "")]
    for path, text, bound, at_least in outcome.TARGETS + load_outcome.TARGETS:
        value = load_outcome.value(content, path)
        rows.append(
            (
                f"  {text}",
                figures.shown(value, 3),
                f"{'>=' if at_least else '<='} {bound}",
                words[outcome.met(value, bound, at_least)],
            )
        )
    return figures.columns(rows)


def report(measured, notes, stream=None, loads=None):
    """notes: what was left out, and why; loads: see load_outcome.py. The last line is one line of JSON."""
    loads = loads or {}
    content = {**outcome.result(measured, stream), **load_outcome.result(loads)}
    of_loads = load_outcome.all_tables(loads)
    parts = [*all_tables(measured), *([stream_table(stream)] if stream else []), *of_loads, targets(content), *([notes] if notes else [])]
    return "\n\n".join(["\n".join(part) for part in parts] + [figures.last_line(content)])
