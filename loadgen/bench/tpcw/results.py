"""The measurements of bench-tpcw as one value, and as files.

In:  settings, runs, what was checked, what the machine is. Out: results: plain data, in the shape of results.json:
     complete       false until every contender was measured and checked
     head_clients   at which contenders are compared
     settings       {name: text} of the bench     machine   {name: text}     database   {name: text}
     servers        {contender: {server: {name: text}}}
     checks         {contender: [sentences]}
     runs           see runner.run_of: milliseconds, CPU milliseconds an interaction, counts a second
     late           {lagging, blind: run}: with late satellites, with the table stream and without
     parts          see part_outcome.py
     part_ratios    the last line's content about them
     ratios, freshness, verdict, why   see outcome.py
Must never: write a password; settings are those that settings.py names, without files and accounts.
"""

import csv
import dataclasses
import json
import pathlib

from tpcw import outcome, part_outcome

PRIVATE = ("user", "database", "config_file", "state", "results", "sizes")
RUN = (
    "contender",
    "kind",
    "satellites",
    "mix",
    "clients",
    "seconds",
    "count",
    "wips",
    "errors",
    "retries",
    "avg",
    "p50",
    "p90",
    "p95",
    "p99",
    "commit_p50",
    "commit_p99",
    "queries_per_second",
    "waits",
    "waited",
    "fallbacks",
    "reads",
    "hopeless",
    "table_reads",
    "table_waits",
    "table_gave_up",
    "lag_ms_p50",
    "lag_ms_max",
)
INTERACTION = ("count", "wips", "errors", "retries", "avg", "p50", "p90", "p95", "p99")
SAMPLE = ("second", "waits", "waited", "fallbacks")


def text_of(value):
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def shown_settings(settings):
    """{name: text}"""
    own = {name: text_of(value) for name, value in dataclasses.asdict(settings).items() if name not in PRIVATE}
    sizes = {name: f"{value >> 20} MiB" for name, value in dataclasses.asdict(settings.sizes).items()}
    return {name.replace("_", " "): value or "-" for name, value in {**own, **sizes}.items()}


def results(settings, machine, database, servers, checks, runs, complete, late=None, parts=None):
    """machine: machine.facts; cores of the servers are counted by the caller."""
    clients = settings.head_clients
    return {
        "complete": complete,
        "head_clients": clients,
        "settings": shown_settings(settings),
        "machine": machine["facts"],
        "database": database,
        "servers": servers,
        "checks": checks,
        "runs": runs,
        "late": late or {},
        "freshness": outcome.freshness(late or {}),
        "parts": parts or {},
        "part_ratios": part_outcome.ratios(parts or {}),
        "ratios": outcome.result(runs, clients, settings.mixes),
        "verdict": outcome.verdict(runs, clients),
        "why": outcome.why(runs, clients, machine["core_count"]),
    }


def rounded(value):
    """Every number to four decimals: more would only make the file longer."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


# --- rows (pure) --------------------------------------------------------------------------------------------------------


def services(runs):
    return sorted({service for run in runs for service in run["cpu_ms"]})


def run_rows(runs):
    names = services(runs)
    rows = [(*RUN, *(f"cpu_ms_{name}" for name in names))]
    return rows + [(*(run[name] for name in RUN), *(run["cpu_ms"].get(name) for name in names)) for run in runs]


def key(run):
    return run["contender"], run["mix"], run["clients"]


def interaction_rows(runs):
    return [("contender", "mix", "clients", "interaction", *INTERACTION)] + [
        (*key(run), name, *(each[column] for column in INTERACTION)) for run in runs for name, each in run["interactions"].items()
    ]


def sample_rows(runs):
    """One row a second and service: cores; of satellites also the lag."""
    rows = [("contender", "mix", "clients", *SAMPLE, "service", "cores", "lag_ms", "lag_transactions")]
    for run in runs:
        for sample in run["samples"]:
            rows += [
                (
                    *key(run),
                    *(sample[name] for name in SAMPLE),
                    service,
                    cores,
                    sample["lag_ms"].get(service),
                    sample["lag_transactions"].get(service),
                )
                for service, cores in sample["cpu"].items()
            ]
    return rows


# --- files --------------------------------------------------------------------------------------------------------------

FILES = ("results.json", "runs.csv", "interactions.csv", "samples.csv", "report.html")


def forget(folder):
    """What an earlier run wrote: nobody may take it for this one's."""
    for name in FILES:
        (pathlib.Path(folder) / name).unlink(missing_ok=True)


def write(folder, found, page):
    """page: the HTML report, made of the same value."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    found = rounded(found)
    (folder / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    for name, rows in (("runs", run_rows), ("interactions", interaction_rows), ("samples", sample_rows)):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows(rows(found["runs"]))
    (folder / "report.html").write_text(page(found))
