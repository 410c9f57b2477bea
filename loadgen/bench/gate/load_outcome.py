"""What the loads of loads.py amount to: their part of the last line, its targets, their tables. Pure.

In:  {burst: timeline.burst, limits: {cores: {hundredths: {limit, None being auto: {queries, p99, limit}}}, recovered_s, moved: {before,
     after, moved}}, saturated: {auto, fixed: {reads, lag_p50_ms, lag_p99_ms, written, limit}}, estimate_error}; what was not measured
     is not there. Out: numbers, lines of text.
Must never: choose in our favour: of several core counts the worst counts.
"""

import figures

# path in the last line, what it says, bound, True: at least that
TARGETS = (
    ("own_strong_p50_ms", "own write, then read, strong, p50, ms", 1.0, False),
    ("own_strong_p99_ms", "the same, p99, ms", 5.0, False),
    ("own_session_p50_ms", "own write, then read, session, p50, ms", 1.0, False),
    ("own_session_p99_ms", "the same, p99, ms", 5.0, False),
    ("burst.within_2s", "burst of writes: the master's share of reads from 2 s on", 0.01, False),
    ("burst.back_s", "burst of writes: seconds after it until the master has half as much to spare as before", 10, False),
    ("limits.throughput_ratio", "throughput, auto / best fixed limit, worst core count", 0.9, True),
    ("limits.p99_ratio", "p99, auto / the fixed limit of the best throughput, worst core count", 1.2, False),
    ("limits.recovered_s", "half the cores: seconds until throughput and limit have settled", 10, False),
    ("limits.moved", "another mix of reads: the limit moves by", 0.2, False),
    ("saturated.lag_p50_ms", "lag p50, satellite saturated by reads, auto, ms", 20, False),
    ("estimate_error", "the gate's expectations, median error", 0.25, False),
)
FIELDS = {
    "burst": ("before", "within_2s", "back_s"),
    "limits": ("throughput_ratio", "p99_ratio", "recovered_s", "moved"),
    "saturated": ("lag_p50_ms", "lag_p99_ms", "fixed_lag_p50_ms", "reads_ratio"),
}


def best_fixed(at):
    """The number with the best throughput at one core count; None if none was measured."""
    return max((limit for limit in at if limit is not None), key=lambda limit: at[limit]["queries"], default=None)


def against_best(at, name):
    """auto / the fixed limit of the best throughput."""
    return figures.ratio(at.get(None, {}).get(name), at.get(best_fixed(at), {}).get(name)) if best_fixed(at) else None


def limits(found):
    sweeps = found.get("cores", {}).values()
    known = {name: [ratio for ratio in (against_best(at, name) for at in sweeps) if ratio is not None] for name in ("queries", "p99")}
    return {
        "throughput_ratio": min(known["queries"], default=None),
        "p99_ratio": max(known["p99"], default=None),
        "recovered_s": found.get("recovered_s"),
        "moved": found.get("moved", {}).get("moved"),
    }


def saturated(found):
    auto, fixed = found.get("auto", {}), found.get("fixed", {})
    return {
        "lag_p50_ms": auto.get("lag_p50_ms"),
        "lag_p99_ms": auto.get("lag_p99_ms"),
        "fixed_lag_p50_ms": fixed.get("lag_p50_ms"),
        "reads_ratio": figures.ratio(auto.get("reads"), fixed.get("reads")),
    }


def result(loads):
    """The part of the last line's content."""
    found = {
        "burst": loads.get("burst", {}),
        "limits": limits(loads.get("limits", {})),
        "saturated": saturated(loads.get("saturated", {})),
    }
    rounded = {part: {name: figures.rounded(found[part].get(name)) for name in names} for part, names in FIELDS.items()}
    return {**rounded, "estimate_error": figures.rounded(loads.get("estimate_error"))}


def value(content, path):
    """What stands at a path like burst.before in the last line."""
    for name in path.split("."):
        content = content[name]
    return content


# --- tables -------------------------------------------------------------------------------------------------------


def percent(share):
    return figures.shown(figures.product(share, 100), 2)


def burst_table(found):
    rows = [("a burst of writes, strong reads of quiet tables", "before", "from 2 s on", "after")]
    rows.append(("  answered by the master %", *(percent(found.get(name)) for name in ("before", "within_2s", "after"))))
    rows.append(("  from what it had to spare %", "", percent(found.get("spare")), ""))
    rows.append(("  because no satellite could %", "", percent(found.get("fallbacks")), ""))
    rows.append(
        ("  s until under 1 %, until half as much to spare as before", "", *(figures.shown(found.get(n), 1) for n in ("falls_s", "back_s")))
    )
    return figures.columns(rows)


def limit_rows(at):
    best = best_fixed(at)
    for limit in sorted(at, key=lambda each: each or 0):
        name = "auto" if limit is None else f"fixed:{limit}" + (" (best)" if limit == best else "")
        found = at[limit]
        yield (
            f"  {name}",
            figures.shown(found["queries"]),
            figures.shown(found["p99"], 2),
            figures.shown(found["limit"]),
            *(figures.shown(figures.ratio(found[figure], at[best][figure]), 2) if best else "-" for figure in ("queries", "p99")),
        )


def limits_table(found):
    rows = [("statements at once", "queries/s", "p99 ms", "limit", "of best", "p99 of best")]
    for hundredths, at in sorted(found["cores"].items(), reverse=True):
        rows.append((f" {hundredths / 100:g} cores of the satellite", *[""] * 5))
        rows += limit_rows(at)
    mixes = found.get("moved", {})
    shown = [figures.shown(mixes.get(name), 1) for name in ("before", "after")]
    lines = figures.columns(rows)
    lines.append(f"half the cores: settled after {figures.shown(found.get('recovered_s'), 1)} s")
    return [*lines, f"another mix of reads: the limit of auto was {shown[0]}, then {shown[1]}"]


def saturated_table(found):
    rows = [("saturated by eventual reads, under writes", "reads/s", "limit", "writes/s", "lag p50 ms", "lag p99 ms")]
    for name, title in (("auto", "auto"), ("fixed", "fixed:64")):
        at = found.get(name, {})
        lags = [figures.shown(at.get(each), 2) for each in ("lag_p50_ms", "lag_p99_ms")]
        rows.append((f"  {title}", *(figures.shown(at.get(each)) for each in ("reads", "limit", "written")), *lags))
    return figures.columns(rows)


def all_tables(loads):
    made = {"burst": burst_table, "limits": limits_table, "saturated": saturated_table}
    return [table(loads[name]) for name, table in made.items() if loads.get(name)]
