"""What the parts of bench-tpcw amount to: medians over the rounds, ratios, rows. Pure.

In:  parts: {commits: {mix: {policy: [figures]}}, light: {situation: [figures]}, index: {without, with: [figures]}}, a figure for each round;
     what was not chosen is not there. Out: numbers, rows of texts. What was not measured is None here, null in JSON.
Must never: take the better of two mixes.
"""

import figures

FIGURES = ("wips", "p50", "p95", "p99", "commit_p50", "commit_p99")
ALONE, SEPARATED, UNSEPARATED = "alone", "separated", "unseparated"
LIGHT = {
    ALONE: "no best sellers beside them",
    SEPARATED: "best sellers beside them, separated",
    UNSEPARATED: "best sellers beside them, not separated",
}
WITHOUT, WITH = "without", "with"
COLUMNS = (("a second", "wips", 1), ("p50 ms", "p50", 2), ("p95 ms", "p95", 2), ("p99 ms", "p99", 2))
COMMIT_COLUMNS = (("WIPS", "wips", 1), ("COMMIT p50 ms", "commit_p50", 2), ("COMMIT p99 ms", "commit_p99", 2))
TITLES = {
    "commits": "COMMITs of Multimed, by what the master reads",
    "light": "Light reads, satellites on cores of their own",
    "index": "Best sellers straight on a satellite",
}


def kept(run):
    """What of a run becomes a figure of a round."""
    return {name: run[name] for name in FIGURES}


def median(rounds, name):
    return figures.median([each[name] for each in rounds])


def of(rounds, name, ours, peer):
    """The median of one situation over that of another."""
    return figures.ratio(median(rounds.get(ours, []), name), median(rounds.get(peer, []), name))


def commit_ratio(commits):
    """Of several mixes the worst."""
    found = [of(policies, "commit_p99", "spare", "never") for policies in commits.values()]
    return None if not found or None in found else max(found)


def ratios(parts):
    """The last line's content about the parts."""
    light = parts.get("light", {})
    found = {
        "commit_p99_ratio": commit_ratio(parts.get("commits", {})),
        "light_p99_ratio": of(light, "p99", SEPARATED, ALONE),
        "light_p99_ratio_unseparated": of(light, "p99", UNSEPARATED, ALONE),
        "best_sellers_own_index_p95_ratio": of(parts.get("index", {}), "p95", WITH, WITHOUT),
    }
    return {name: figures.rounded(value) for name, value in found.items()}


# --- rows -----------------------------------------------------------------------------------------------------------------


def situations(part, found):
    """{what a row is about: its rounds}"""
    if part == "commits":
        return {f"{mix}, {policy}": rounds for mix, policies in found.items() for policy, rounds in policies.items()}
    names = LIGHT if part == "light" else {WITHOUT: "without an index of its own", WITH: "with it"}
    return {title: found[name] for name, title in names.items() if name in found}


def columns(part):
    return COMMIT_COLUMNS if part == "commits" else COLUMNS


def head(part):
    return (TITLES[part], "rounds", *(title for title, _, _ in columns(part)))


def rows(part, found):
    """Medians over the rounds."""
    return [
        (title, str(len(rounds)), *(figures.shown(median(rounds, name), decimals) for _, name, decimals in columns(part)))
        for title, rounds in situations(part, found).items()
    ]


def spans(part, found):
    """{what: (p50, p99)} for a figure."""
    prefix = "commit_" if part == "commits" else ""
    return {title: (median(rounds, f"{prefix}p50"), median(rounds, f"{prefix}p99")) for title, rounds in situations(part, found).items()}
