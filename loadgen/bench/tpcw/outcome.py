"""What the runs of bench-tpcw amount to: ratios, costs, the last line, the verdict in words. Pure.

In:  runs, as runner.run_of makes them, and the head's number of clients, at which contenders are compared. Out: numbers, sentences, one
     line of JSON. What was not measured is None here, null in JSON.
Must never: choose in our favour but for the number of satellites, which is chosen by throughput alone; or hide that one MySQL was ahead.
"""

import figures

GROUPS = {"master": "master", "satellite": "satellites", "kafka": "log", "capture": "log", "applier": "appliers", "gate": "gate"}
EVEN = 0.03  # throughputs that differ by less are called even


def at(runs, mix, clients, kind=None):
    return [run for run in runs if run["mix"] == mix and run["clients"] == clients and kind in (None, run["kind"])]


def mixes(runs):
    return list(dict.fromkeys(run["mix"] for run in runs))


def contenders(runs):
    return list(dict.fromkeys(run["contender"] for run in runs))


def best(runs, mix, clients, kind="multimed"):
    """Of one kind, the run with the highest throughput; None if there is none."""
    return max(at(runs, mix, clients, kind), key=lambda run: run["wips"], default=None)


def ratio(ours, single, value):
    return figures.ratio(value(ours), value(single)) if ours and single else None


def ratios(runs, mix, clients):
    ours, single = best(runs, mix, clients), best(runs, mix, clients, "single")
    found = {
        "wips_ratio": ratio(ours, single, lambda run: run["wips"]),
        "master_cpu_ratio": ratio(ours, single, lambda run: run["cpu_ms"].get("master")),
        "p99_ratio": ratio(ours, single, lambda run: run["p99"]),
    }
    return {name: figures.rounded(value) for name, value in found.items()}


def result(runs, clients, wanted):
    """The last line's content. wanted: mixes, measured or not."""
    return {mix: ratios(runs, mix, clients) for mix in wanted}


def share_of_reads(run, *names):
    """Of the `strong` reads and read-only transactions, those that the gate counted under one of these names; at most all."""
    values = [run.get(name) for name in names] if run else [None]
    return None if None in values or not run.get("reads") else min(1.0, sum(values) / run["reads"])


def unwaited(run):
    """Share of the `strong` reads that neither waited for a satellite, nor ran on the master because waiting was hopeless."""
    share = share_of_reads(run, "waits", "hopeless")
    return None if share is None else 1 - share


def freshness(late):
    """The last line's content beside the ratios. late: {lagging, blind: run}"""
    return {f"unwaited_{name}": figures.rounded(unwaited(late.get(name))) for name in ("lagging", "blind")}


def group_of(service):
    return GROUPS[service.rpartition("-")[0] or service]


def grouped(values):
    """{service: number} as {group of services: sum}; None if any of a group was not measured."""
    found = {}
    for service, used in values.items():
        group = group_of(service)
        found[group] = None if used is None or found.get(group, 0) is None else found.get(group, 0) + used
    return found


def costs(run):
    """{group of services: CPU milliseconds an interaction}"""
    return grouped(run["cpu_ms"])


def total(values):
    values = list(values)
    return None if not values or None in values else sum(values)


# --- words --------------------------------------------------------------------------------------------------------------


def satellites(count):
    return f"{count} satellite{'' if count == 1 else 's'}"


def wins(ours, single, what):
    """Who has more throughput."""
    share = figures.ratio(ours["wips"], single["wips"])
    if share is None:
        return f"One MySQL got nothing done; {what} {ours['wips']:.1f} WIPS."
    ahead, behind = sorted((ours["wips"], single["wips"]), reverse=True)
    numbers = f"{ahead:.1f} against {behind:.1f} WIPS (ratio {share:.2f})"
    if abs(share - 1) < EVEN:
        return f"{what} and one MySQL are even: {numbers}."
    return f"{what} is faster than one MySQL: {numbers}." if share > 1 else f"One MySQL is faster than {what}: {numbers}."


def price(ours, single):
    """What it costs, all servers together, and which part does what."""
    parts, one = costs(ours), total(costs(single).values())
    whole = total(parts.values())
    if whole is None or one is None:
        return "CPU was not measured to its end."
    listed = ", ".join(f"{name} {used:.2f}" for name, used in sorted(parts.items(), key=lambda part: -part[1]))
    return f"An interaction takes {whole:.2f} ms of CPU in all, against {one:.2f} ms ({listed})."


def relief(ours, single):
    """What the master does less than one MySQL does."""
    share = ratio(ours, single, lambda run: run["cpu_ms"].get("master"))
    if share is None:
        return "What the master is relieved of was not measured."
    if share >= 1:
        return f"The master is relieved of nothing: it takes {share:.2f} times the CPU that one MySQL takes for an interaction."
    return f"The master is relieved of {100 * (1 - share):.0f} % of the CPU that one MySQL takes for an interaction."


def verdict(runs, clients):
    """{mix: sentences}: Multimed, then native replicas, each against one MySQL."""
    found = {}
    for mix in mixes(runs):
        ours, single, native = (best(runs, mix, clients, kind) for kind in ("multimed", "single", "replicas"))
        if not ours or not single:
            found[mix] = ["Not compared: Multimed and one MySQL must both be measured."]
            continue
        found[mix] = [wins(ours, single, f"Multimed with {satellites(ours['satellites'])}"), price(ours, single), relief(ours, single)]
        if native:
            found[mix].append(
                wins(native, single, f"MySQL with {native['satellites']} native replica{'' if native['satellites'] == 1 else 's'}")
            )
    return found


def why(runs, clients, cores):
    """The sentence that keeps a reader from taking this machine for every machine."""
    behind = [mix for mix in mixes(runs) if (ratios(runs, mix, clients)["wips_ratio"] or 1) < 1]
    if not behind:
        return ""
    if cores < 16:
        return (
            f"One MySQL was expected to win here: on {cores} cores it is not held up by its own locks, and Multimed's copies, log and gate"
            " share the cores with it. What distributing brings shows on servers with several NUMA nodes; what it costs shows here."
        )
    return "One MySQL is ahead although there are many cores: look at CPU, lag and waits below for what held Multimed up."
