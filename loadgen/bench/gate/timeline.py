"""What the gate and the satellite did over time, while load or cores changed. Pure.

In:  samples [(seconds, {name: value})], in the order of time. Out: shares, seconds, ratios; None of what cannot be said.
Must never: call short what was not seen to end: then it is as long as it was looked at.
"""

import re
import statistics

import figures

LITTLE = 0.01  # the master's share of reads during a burst: less than that
WITHIN = 0.1  # a figure is the settled one from so near on
WITHIN_STATEMENTS = 0.5  # the same for small limits, of which a tenth is less than one statement
SMOOTH_SECONDS = 2  # the gate tries other limits now and then, for about a second
LINE = re.compile(r"^\s*\d+ s +\d+ threads .*?([\d.]+) queries/s .* p99 ([\d.]+) ms")


def second_of(line):
    """(queries/s, p99 in ms) of a progress line of loadgen/lib/report.lua; None of any other line."""
    found = LINE.match(line)
    return (float(found[1]), float(found[2])) if found else None


def growth(samples, begin, end):
    """{name: how much it grew} from the last sample up to `begin` to the last one up to `end`."""
    upto = [[values for time, values in samples if time <= moment] for moment in (begin, end)]
    if not all(upto):
        return {}
    return {name: value - upto[0][-1][name] for name, value in upto[1][-1].items()}


def share(samples, begin, end, part="master", whole="reads"):
    grown = growth(samples, begin, end)
    return figures.ratio(grown.get(part), grown.get(whole))


def steps(samples):
    return zip([time for time, _ in samples], [time for time, _ in samples][1:])


def burst(samples, begin, end):
    """{before, within_2s: the master's share of the reads before, and from 2 s of the burst on; falls_s: seconds until it is little;
    back_s: until it has half as much to spare for reads as before; spare, fallback: shares of the reads during the burst}"""
    offered = [(time, values["offered"]) for time, values in samples]
    half = (mean(offered, samples[0][0], begin) or 0) / 2
    falls = [late for early, late in steps(samples) if begin <= early < end and (share(samples, early, late) or 0) < LITTLE]
    back = [time for time, value in offered if time >= end and value >= half]
    return {
        "before": share(samples, samples[0][0], begin),
        "within_2s": share(samples, begin + 2, end),
        "falls_s": (falls[0] if falls else end) - begin,
        "back_s": (back[0] if back else samples[-1][0]) - end,
        **{name: share(samples, begin + 2, end, name) for name in ("spare", "fallbacks")},
        "after": share(samples, end, samples[-1][0]),
    }


def rates(samples, name):
    """[(time, growth a second)], at the end of each step."""
    values = dict(samples)
    return [(late, (values[late][name] - values[early][name]) / (late - early)) for early, late in steps(samples)]


def mean(series, begin, end):
    found = [value for time, value in series if begin <= time <= end]
    return statistics.fmean(found) if found else None


def recovered(samples, changed, settled_from):
    """Seconds from `changed` until reads/s and limit, smoothed, are near what they are from `settled_from` on."""
    last = samples[-1][0]
    reads, limit = rates(samples, "reads"), [(time, values["limit"]) for time, values in samples]
    settled = [mean(series, settled_from, last) for series in (reads, limit)]
    if None in settled:
        return None
    for time in (time for time, _ in reads if changed <= time <= settled_from):
        now = [mean(series, time, time + SMOOTH_SECONDS) for series in (reads, limit)]
        slack = (WITHIN * settled[0], max(WITHIN * settled[1], WITHIN_STATEMENTS))
        if all(abs(one - other) <= allowed for one, other, allowed in zip(now, settled, slack)):
            return time - changed
    return settled_from - changed


def moved(before, after):
    return None if not before or after is None else abs(after / before - 1)
