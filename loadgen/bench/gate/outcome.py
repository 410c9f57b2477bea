"""What the measurements of bench-gate amount to: medians, ratios, the last line, the targets. Pure.

In:  {cell: {contender: figures}}; figures: queries (per second), p50 and p99 (ms), proxy_us and mysqld_us (CPU µs a query), memory
     (MiB), and under writes lag (ms, p50), written (transactions/s), at_master, waited, by_tables, for_stream (shares of reads); of own
     writes queries, p50, p99 of the reads alone, and stale (share of reads). stream: {known_p50_ms, known_p99_ms, visible_p50_ms,
     visible_p99_ms}. Out: numbers, one line of JSON.
     What was not measured is None here, "-" in tables, null in JSON.
Must never: choose in our favour. Of text and prepared the worse for us counts, of ProxySQL's two ways the better for ProxySQL, and
     that for each figure apart.
"""

import figures

PROXYSQL = ("proxysql", "proxysql-socket")
# name in the last line, what it says, bound, True: at least that
TARGETS = (
    ("throughput_vs_proxysql", "throughput, eventual / ProxySQL", 1.3, True),
    ("added_latency_vs_proxysql", "added p50, eventual / ProxySQL", 0.75, False),
    ("cpu_vs_proxysql", "CPU per query, eventual / ProxySQL", 0.75, False),
    ("strong_vs_eventual", "throughput, written tables, strong / eventual", 0.9, True),
    ("strong_extra_ms", "p50 of strong above replication lag, ms", 0.3, False),
    ("quiet_strong_vs_eventual_8", "throughput, quiet tables, strong / eventual", 0.45, True),
    ("quiet_strong_vs_eventual_64", "the same with 64 connections", 0.9, True),
    ("quiet_strong_extra_ms", "p50 of one connection, quiet tables, strong above eventual, ms", 1.0, False),
    ("strong_cpu", "CPU per query without writes, strong / eventual", 1.4, False),
    ("long_text_cpu", "CPU per query, the longest text / the shortest of those sizes", 1.3, False),
    ("known_p50_ms", "commit until the gate knows its tables, p50, ms", 1.0, False),
    ("known_p99_ms", "the same, p99, ms", 5.0, False),
)
OWN_WRITE = {"strong": "strong", "session": "session", "eventual": "eventual", "direct": "master"}  # name in the last line: contender
STREAM = ("known_p50_ms", "known_p99_ms", "visible_p50_ms", "visible_p99_ms")


def medians(samples):
    """{(cell, contender): [figures of each round]} as {cell: {contender: figures}}"""
    found = {}
    for (cell, contender), rounds in samples.items():
        found.setdefault(cell, {})[contender] = figures.over_runs(rounds)
    return found


def known(values):
    return [value for value in values if value is not None]


def highest(values):
    return max(known(values), default=None)


def lowest(values):
    return min(known(values), default=None)


def difference(one, other):
    return None if one is None or other is None else one - other


def of(at, contenders, name):
    """A figure of each of these contenders in one cell."""
    return [at.get(contender, {}).get(name) for contender in contenders]


def added(at, contender):
    """Milliseconds of p50 that the way through this contender adds to the way straight to MySQL."""
    return difference(*of(at, (contender, "direct"), "p50"))


def added_ratio(at):
    """None also where ProxySQL adds nothing measurable: no ratio says anything then."""
    peer = lowest([added(at, name) for name in PROXYSQL])
    return figures.ratio(added(at, "eventual"), peer) if peer and peer > 0 else None


def strong_extra(at):
    """p50(strong) − p50(replication lag), under the write load, the lag measured in the same seconds. Not even what the read takes
    straight to MySQL is taken off."""
    return difference(*(at.get("strong", {}).get(name) for name in ("p50", "lag")))


def above_eventual(at):
    """Milliseconds of p50 that `strong` takes more than `eventual`."""
    return difference(*of(at, ("strong", "eventual"), "p50"))


def strong_ratio(at, name):
    return figures.ratio(*of(at, ("strong", "eventual"), name))


def quiet(measured):
    """`strong` reads of tables that nobody writes, while others of the same schema are written."""

    def cells(connections):
        return [at for cell, at in measured.items() if cell.quiet and cell.connections == connections]

    return {
        "quiet_strong_vs_eventual_8": lowest(strong_ratio(at, "queries") for at in cells(8)),
        "quiet_strong_vs_eventual_64": lowest(strong_ratio(at, "queries") for at in cells(64)),
        "quiet_strong_extra_ms": highest(map(above_eventual, cells(1))),
    }


def long_text(measured):
    """What a longer text costs the gate."""
    costs = {cell.size: at.get("eventual", {}).get("proxy_us") for cell, at in measured.items() if cell.workload == "long-text"}
    return figures.ratio(costs[max(costs)], costs[min(costs)]) if len(costs) > 1 else None


def own_writes(measured):
    """One connection reads what it has just written."""
    at = next((at for cell, at in measured.items() if cell.workload == "own-write"), {})
    return {
        f"own_{name}_{figure}_ms": at.get(contender, {}).get(figure) for name, contender in OWN_WRITE.items() for figure in ("p50", "p99")
    }


def result(measured, stream=None):
    """The last line's content."""
    heads = [at for cell, at in measured.items() if cell.is_head and not cell.writes]
    written = [at for cell, at in measured.items() if cell.is_head and cell.writes and not cell.quiet]
    content = {
        "throughput_vs_proxysql": lowest(
            figures.ratio(*of(at, ("eventual",), "queries"), highest(of(at, PROXYSQL, "queries"))) for at in heads
        ),
        "added_latency_vs_proxysql": highest(map(added_ratio, heads)),
        "cpu_vs_proxysql": highest(figures.ratio(*of(at, ("eventual",), "proxy_us"), lowest(of(at, PROXYSQL, "proxy_us"))) for at in heads),
        "cpu_us_per_query": highest(at.get("eventual", {}).get("proxy_us") for at in heads),
        "strong_vs_eventual": lowest(strong_ratio(at, "queries") for at in written),
        "strong_extra_ms": highest(map(strong_extra, written)),
        **quiet(measured),
        "strong_cpu": highest(strong_ratio(at, "proxy_us") for at in heads),
        "long_text_cpu": long_text(measured),
        **own_writes(measured),
        **{name: (stream or {}).get(name) for name in STREAM},
    }
    return {name: figures.rounded(value) for name, value in content.items()}


def met(value, bound, at_least):
    """None of what was not measured."""
    return None if value is None else value >= bound if at_least else value <= bound
