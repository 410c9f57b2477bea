"""What the measurements of bench-gate amount to: medians, ratios, the last line, the targets. Pure.

In:  {cell: {contender: figures}}; figures: queries (per second), p50 and p99 (ms), proxy_us and mysqld_us (CPU µs a query), memory
     (MiB), and under writes lag (ms, p50), written (transactions/s), at_master (share of reads). Out: numbers, one line of JSON.
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
    ("strong_vs_eventual", "throughput under writes, strong / eventual", 0.9, True),
    ("strong_extra_ms", "p50 of strong above replication lag, ms", 0.3, False),
)


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


def result(measured):
    """The last line's content."""
    heads = [at for cell, at in measured.items() if cell.is_head and not cell.writes]
    written = [at for cell, at in measured.items() if cell.is_head and cell.writes]
    content = {
        "throughput_vs_proxysql": lowest(
            figures.ratio(*of(at, ("eventual",), "queries"), highest(of(at, PROXYSQL, "queries"))) for at in heads
        ),
        "added_latency_vs_proxysql": highest(map(added_ratio, heads)),
        "cpu_vs_proxysql": highest(figures.ratio(*of(at, ("eventual",), "proxy_us"), lowest(of(at, PROXYSQL, "proxy_us"))) for at in heads),
        "cpu_us_per_query": highest(at.get("eventual", {}).get("proxy_us") for at in heads),
        "strong_vs_eventual": lowest(figures.ratio(*of(at, ("strong", "eventual"), "queries")) for at in written),
        "strong_extra_ms": highest(map(strong_extra, written)),
    }
    return {name: figures.rounded(value) for name, value in content.items()}


def met(value, bound, at_least):
    """None of what was not measured."""
    return None if value is None else value >= bound if at_least else value <= bound
