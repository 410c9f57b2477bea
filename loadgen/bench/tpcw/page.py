"""The report of bench-tpcw: one HTML file with the paper's figures for this machine. Pure.

In:  the results, as results.py has them. Out: the text of the page. It needs no network, no script and no other file; it is well-formed XML,
too. Must never: leave text unescaped, or say less plainly than the last line that one MySQL was ahead.
"""

import figures
from tpcw import charts, outcome, part_outcome, tables
from tpcw.charts import element, escaped

STYLE = """
:root { color-scheme: light; --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #9a4f7f; --c4: #b37a00; --c5: #3a94c9; --c6: #222; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #111; background: #fff; max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #bbb; }
.verdict { border-left: .3rem solid var(--c1); padding: .1rem 1rem; background: #f6f4f0; }
.figures { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; fill: #111; }
.grid { stroke: #ddd; stroke-width: 1; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top; }
th:first-child, td:first-child, .texts td { text-align: left; } .numbers td { white-space: nowrap; } .texts td { overflow-wrap: anywhere; }
@media (max-width: 40rem) { body { padding: .6rem; } th, td { padding: .15rem .35rem; } }
@media print {
  body { max-width: none; font-size: 10pt; padding: 0; } .wide { overflow: visible; } table { font-size: 7.5pt; } th, td { padding: .05rem .2rem; }
  figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } .figures { grid-template-columns: 1fr 1fr; } .verdict { background: none; }
}
"""
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "5 5", "1 2", "12 4")


def styles():
    """Colours, dashes and fills of the series."""
    return "".join(
        f".s{number} {{ stroke: var(--c{number}); stroke-width: 2; fill: none; stroke-dasharray: {dash}; }}\n"
        f".m{number}, .f{number} {{ fill: var(--c{number}); stroke: none; }}\n"
        for number, dash in enumerate(DASHES)
    )


def titled(title, drawing):
    return element("figure", element("figcaption", escaped(title)) + drawing)


def side_by_side(drawings):
    return element("div", "".join(drawings), class_="figures")


def table(head, rows, class_="numbers"):
    lines = [element("tr", "".join(element("th", escaped(cell)) for cell in head))] if head else []
    lines += [element("tr", "".join(element("td", escaped(cell)) for cell in row)) for row in rows]
    return element("div", element("table", "".join(lines), class_=class_), class_="wide")


def texts(pairs):
    return table((), pairs.items(), "texts")


def section(title, *parts):
    return element("section", element("h2", escaped(title)) + "".join(parts))


def paragraph(words):
    return element("p", escaped(words))


# --- figures ----------------------------------------------------------------------------------------------------------------


def against_satellites(results, mix, name, title, unit):
    """Multimed by its satellites; one MySQL is the same whatever their number, native replicas are where they were measured."""
    runs = outcome.at(results["runs"], mix, results["head_clients"])
    ours = sorted((run["satellites"], run[name]) for run in runs if run["kind"] == "multimed")
    # In the order of the contenders, so that each has the same colour in every figure.
    series = {
        "one MySQL, all cores": [(count, run[name]) for run in runs if run["kind"] == "single" for count, _ in ours],
        "native replicas": [(run["satellites"], run[name]) for run in runs if run["kind"] == "replicas"],
        "Multimed": ours,
    }
    series = {each: points for each, points in series.items() if points}
    drawing = charts.lines(f"{mix}: {title} against satellites", series, "satellites", unit)
    return titled(f"{title}, {results['head_clients']} clients", drawing) if ours else ""


def swept(runs):
    """Contenders that were measured at more than one number of clients."""
    return [name for name in outcome.contenders(runs) if len({run["clients"] for run in runs if run["contender"] == name}) > 1]


def against_clients(results, mix, name, title, unit, log):
    runs = [run for run in results["runs"] if run["mix"] == mix]
    series = {each: sorted((run["clients"], run[name]) for run in runs if run["contender"] == each) for each in swept(runs)}
    drawing = charts.lines(f"{mix}: {title} against clients", series, "clients", unit, log=log)
    return titled(f"{title}, by clients", drawing) if series else ""


def chosen(results, mix):
    """One run of each kind, at the head's number of clients: Multimed with its best number of satellites."""
    found = (outcome.best(results["runs"], mix, results["head_clients"], kind) for kind in ("single", "replicas", "multimed"))
    return [run for run in found if run]


def of_interactions(results, mix):
    runs = chosen(results, mix)
    rows = {}
    for run in runs:
        for name, each in sorted(run["interactions"].items()):
            rows.setdefault(name.replace("_", " "), {})[run["contender"]] = each["p50"], each["p99"]
    return titled(
        f"Latency of each interaction, p50 (mark) to p99, {results['head_clients']} clients",
        charts.ranges(f"{mix}: latency of each interaction", rows, "ms"),
    )


def of_cpu(results, mix):
    bars = {run["contender"]: outcome.costs(run) for run in outcome.at(results["runs"], mix, results["head_clients"])}
    order = [group for group in tables.CPU if any(group in bar for bar in bars.values())]
    bars = {name: {group: bar.get(group) for group in order} for name, bar in bars.items()}
    return titled(
        f"CPU of the servers for one interaction, {results['head_clients']} clients",
        charts.stacked(f"{mix}: CPU per server", bars, "ms of CPU"),
    )


def lag_of(samples):
    """Of each server; of more than a figure can tell apart, the median and the largest."""
    servers = list(dict.fromkeys(name for sample in samples for name in sample["lag_ms"]))
    if len(servers) <= len(DASHES):
        return {name: [(sample["second"], sample["lag_ms"].get(name)) for sample in samples] for name in servers}
    known = [(sample["second"], [lag for lag in sample["lag_ms"].values() if lag is not None]) for sample in samples]
    return {
        "median of all satellites": [(second, figures.percentile(lags, 0.5)) for second, lags in known],
        "largest": [(second, max(lags, default=None)) for second, lags in known],
    }


def over_time(run):
    """Lag, waits, and CPU, second by second."""
    samples = run["samples"]
    lag = lag_of(samples)
    counters = {"reads that waited": "waits", "fallbacks to the master": "fallbacks"}
    waits = {title: [(sample["second"], sample[name]) for sample in samples] for title, name in counters.items()}
    groups = [group for group in tables.CPU if group in outcome.costs(run)]
    cpu = {group: [(sample["second"], outcome.grouped(sample["cpu"]).get(group)) for sample in samples] for group in groups}
    found = {"lag": (lag, "ms behind the master"), "waits": (waits, "a second"), "CPU of the servers": (cpu, "cores")}
    titles = {f"{run['contender']}, {run['mix']}: {what} over time": drawn for what, drawn in found.items()}
    return [titled(title, charts.lines(title, series, "seconds", unit, time=True)) for title, (series, unit) in titles.items()]


# --- sections -----------------------------------------------------------------------------------------------------------------


def verdict(results):
    parts = [
        element("p", element("strong", escaped(f"{mix} mix. ")) + escaped(" ".join(sentences)))
        for mix, sentences in results["verdict"].items()
    ]
    parts += [paragraph(results["why"])] if results["why"] else []
    rows = [(mix, *(figures.shown(each[name], 3) for name in tables.RATIOS)) for mix, each in results["ratios"].items()]
    return (
        element("div", "".join(parts), class_="verdict")
        + paragraph(f"Multimed with its best number of satellites, divided by one MySQL, at {results['head_clients']} clients:")
        + table(("mix", "throughput (WIPS)", "master's CPU per interaction", "p99"), rows)
    )


def of_mix(results, mix):
    drawings = (
        against_satellites(results, mix, "wips", "Throughput", "WIPS"),
        against_satellites(results, mix, "avg", "Response time", "ms, average"),
        against_clients(results, mix, "wips", "Throughput", "WIPS", False),
        against_clients(results, mix, "avg", "Response time", "ms, average", True),
        of_interactions(results, mix),
        of_cpu(results, mix),
    )
    return section(f"{mix} mix", side_by_side(drawings), measured(results, mix))


def measured(results, mix):
    """All figures of a mix."""
    head = (
        "contender",
        "clients",
        *(title for title, _, _ in tables.COLUMNS),
        *(f"{group}, CPU ms" for group in tables.CPU),
        "waits/s",
        "lag p50 ms",
    )
    rows = []
    for run in sorted((run for run in results["runs"] if run["mix"] == mix), key=lambda run: run["clients"]):
        costs = outcome.costs(run)
        rows.append(
            (
                run["contender"],
                run["clients"],
                *(figures.shown(run[name], decimals) for _, name, decimals in tables.COLUMNS),
                *(figures.shown(costs.get(group), 2) for group in tables.CPU),
                figures.shown(run["waits"], 1),
                figures.shown(run["lag_ms_p50"]),
            )
        )
    return table(head, rows)


def times(results):
    runs = [run for mix in outcome.mixes(results["runs"]) for run in chosen(results, mix) if run["satellites"]]
    return section("Lag, waits and CPU over time", side_by_side([drawing for run in runs for drawing in over_time(run)])) if runs else ""


def freshness(results):
    rows = tables.freshness_rows(results["late"])
    return section("Strong reads of late satellites", table(("reads wait", *tables.FRESHNESS), rows)) if rows else ""


def parts(results):
    """A section for each part: its figure, its table."""
    found = []
    for part, measured_ in results["parts"].items():
        head = part_outcome.head(part)
        rows = {title: {"p50 (mark) to p99": span} for title, span in part_outcome.spans(part, measured_).items()}
        drawing = titled(f"{head[0]}, p50 (mark) to p99", charts.ranges(head[0], rows, "ms"))
        found.append(section(head[0], side_by_side([drawing]), table(("", *head[1:]), part_outcome.rows(part, measured_))))
    return found


def checks(results):
    return section("Checked after each contender", texts({name: "; ".join(found) for name, found in results["checks"].items()}))


def all_settings(results):
    parts = [element("h3", "Bench") + texts(results["settings"]), element("h3", "Database") + texts(results["database"])]
    for contender, servers in results["servers"].items():
        names = list(dict.fromkeys(name for server in servers.values() for name in server))
        rows = [(name, *(server.get(name, "-") for server in servers.values())) for name in names]
        parts.append(element("h3", escaped(contender)) + table(("", *servers), rows, "texts"))
    note = "Of each MySQL server: every variable that differs from MySQL's default, and some that do not."
    return section("Every setting", paragraph(note), *parts)


def page(results):
    incomplete = "" if results["complete"] else paragraph("NOT COMPLETE: some contenders were not measured, or not yet.")
    about = (
        "Web interactions per second (WIPS) of TPC-W's database side, one contender after the other, each on a fresh copy of the same"
        " database, on the same cores and memory, without think times. What reads are promised behind the gate is among the settings"
        " (GATE_CONSISTENCY), for satellites and replicas alike."
    )
    body = [element("h1", "TPC-W on one MySQL, on native replicas, and on Multimed"), incomplete, paragraph(about), verdict(results)]
    body += [of_mix(results, mix) for mix in outcome.mixes(results["runs"])]
    body += [
        freshness(results),
        *parts(results),
        times(results),
        checks(results),
        section("Machine", texts(results["machine"])),
        all_settings(results),
    ]
    head = (
        '<meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\" />"
        + element("title", "TPC-W: one MySQL, native replicas, Multimed")
        + element("style", STYLE + styles())
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'
