"""Tables of bench-tpcw, as lines. Pure. In: the results (see results.py). Out: text."""

import figures
from tpcw import outcome, part_outcome

COLUMNS = (
    ("WIPS", "wips", 1),
    ("avg ms", "avg", 1),
    ("p50 ms", "p50", 1),
    ("p90 ms", "p90", 1),
    ("p99 ms", "p99", 1),
    ("errors", "errors", 0),
    ("retries", "retries", 0),
)
RATIOS = ("wips_ratio", "master_cpu_ratio", "p99_ratio")
CPU = ("master", "satellites", "log", "appliers", "gate")


def runs_table(runs, mix):
    """Contenders beside each other under each number of clients."""
    rows = [(f"{mix} mix", *(title for title, _, _ in COLUMNS), *(f"{group} CPU ms" for group in CPU), "waits/s", "lag p50 ms")]
    chosen = [run for run in runs if run["mix"] == mix]
    for clients in sorted({run["clients"] for run in chosen}):
        rows.append((f" {clients} clients", *[""] * (len(rows[0]) - 1)))
        for run in outcome.at(chosen, mix, clients):
            costs = outcome.costs(run)
            rows.append(
                (
                    f"  {run['contender']}",
                    *(figures.shown(run[name], decimals) for _, name, decimals in COLUMNS),
                    *(figures.shown(costs.get(group), 2) for group in CPU),
                    figures.shown(run["waits"], 1),
                    figures.shown(run["lag_ms_p50"]),
                )
            )
    return figures.columns(rows)


def ratios_table(content):
    rows = [("Multimed, best number of satellites / one MySQL", "WIPS", "master's CPU", "p99")]
    rows += [(f"  {mix}", *(figures.shown(each[name], 3) for name in RATIOS)) for mix, each in content.items()]
    return figures.columns(rows)


FRESHNESS = ("reads/s", "did not wait %", "by their tables %", "waited for the stream %", "in vain %", "WIPS", "lag p50 ms")
GATE_SHARES = ("table_reads", "table_waits", "table_gave_up")
LATE = {"lagging": "for the writers of their tables", "blind": "for all that the master has"}


def freshness_rows(late):
    """A row for each run with late satellites: what reads wait for, then FRESHNESS."""
    found = []
    for name in (each for each in LATE if each in late):
        run = late[name]
        shares = (outcome.unwaited(run), *(outcome.share_of_reads(run, each) for each in GATE_SHARES))
        found.append(
            (
                LATE[name],
                figures.shown(run["reads"]),
                *(figures.shown(figures.product(share, 100), 1) for share in shares),
                figures.shown(run["wips"], 1),
                figures.shown(run["lag_ms_p50"]),
            )
        )
    return found


def freshness_table(late):
    rows = freshness_rows(late)
    return figures.columns([("strong reads of late satellites wait", *FRESHNESS), *((f"  {row[0]}", *row[1:]) for row in rows)])


def part_table(part, found):
    rows = [part_outcome.head(part), *((f"  {row[0]}", *row[1:]) for row in part_outcome.rows(part, found))]
    return figures.columns(rows)


def words(results):
    found = [f"{mix}: {' '.join(sentences)}" for mix, sentences in results["verdict"].items()]
    return found + [results["why"]] if results["why"] else found


def report(results):
    """The last line is one line of JSON."""
    parts = [runs_table(results["runs"], mix) for mix in outcome.mixes(results["runs"])]
    parts += [freshness_table(results["late"])] if results["late"] else []
    parts += [part_table(part, found) for part, found in results["parts"].items()]
    parts += [ratios_table(results["ratios"]), words(results)]
    last = figures.last_line({**results["ratios"], **results["freshness"], **results["part_ratios"]})
    return "\n\n".join(["\n".join(part) for part in parts] + [last])
