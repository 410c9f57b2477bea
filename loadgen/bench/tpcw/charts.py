"""Figures as inline SVG: lines, stacked bars, ranges. Pure.

In:  names and numbers; None is a gap. Out: one <svg> element each, drawn with classes (s0, s1, …) that page.py's style gives colours to;
series differ in dashes and markers too, so that they can be told apart on paper. All text is escaped.
Must never: draw a missing value as 0, or an axis of sizes that does not begin at 0 (logarithmic axes are named so).
"""

import html
import math
from dataclasses import dataclass

WIDTH, PLOT_HEIGHT = 420, 200  # narrow: the text of a figure shrinks with it on a phone
LEFT, RIGHT, TOP, AXIS = 72, 26, 12, 44
LEGEND_ROW, LEGEND_COLUMNS = 20, 2
NAME_WIDTH, ROW, BAR = 150, 18, 13
STYLES = 7
TICKS = 4
MOST_POINTS = 240  # of a line: more than the screen has


def escaped(text):
    return html.escape(str(text))


def rounded(number):
    return f"{number:.1f}".removesuffix(".0")


def shown(value):
    """A number as an axis shows it."""
    return f"{value:,.6g}".replace(",", " ") if value < 1e6 else f"{value:.0e}"


def element(name, content="", **attributes):
    """class_ is class, and stroke_width would be stroke-width."""
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(rounded(value) if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{listed}>{content}</{name}>"


def text(content, x, y, **attributes):
    return element("text", escaped(content), x=float(x), y=float(y), **attributes)


def line(x1, y1, x2, y2, class_):
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def figure(label, height, parts):
    """label: what the figure is, for those who cannot see it."""
    return element("svg", element("title", escaped(label)) + "".join(parts), viewBox=f"0 0 {WIDTH} {rounded(float(height))}", role="img")


# --- axes -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """Where a value lies between the two ends of an axis."""

    least: float
    most: float
    logarithmic: bool
    ticks: tuple

    def share(self, value):
        if self.logarithmic:
            return math.log(max(value, self.least) / self.least) / math.log(self.most / self.least)
        return (value - self.least) / (self.most - self.least)


def step(most):
    """1, 2 or 5 times a power of ten, so that about TICKS of them make the axis."""
    rough = most / TICKS
    power = 10 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def linear(values):
    """From 0 to the first tick that nothing is beyond."""
    most = max(values, default=0) or 1
    each = step(most)
    count = math.ceil(most / each - 1e-9)
    return Axis(0, each * count, False, tuple(round(each * number, 10) for number in range(count + 1)))


def logarithmic(values):
    """Whole powers of ten around all that is above 0."""
    above = [value for value in values if value > 0] or [1]
    first, last = math.floor(math.log10(min(above))), math.ceil(math.log10(max(above)))
    last = max(last, first + 1)
    return Axis(10.0**first, 10.0**last, True, tuple(10.0**power for power in range(first, last + 1)))


# --- legends ----------------------------------------------------------------------------------------------------------------


def marker(style, x, y):
    """A dot of its own shape."""
    points = {1: ((-4, -4), (4, -4), (4, 4), (-4, 4)), 2: ((0, -5), (5, 4), (-5, 4)), 3: ((0, -5), (5, 0), (0, 5), (-5, 0))}.get(style % 4)
    if not points:
        return element("circle", cx=float(x), cy=float(y), r=4, class_=f"m{style % STYLES}")
    return element("polygon", points=" ".join(f"{rounded(x + dx)},{rounded(y + dy)}" for dx, dy in points), class_=f"m{style % STYLES}")


def legend_height(names):
    return LEGEND_ROW * math.ceil(len(names) / LEGEND_COLUMNS)


def legend(names, top, sample):
    """sample(style, x, y): what stands beside a name."""
    parts = []
    for style, name in enumerate(names):
        x, y = 8 + style % LEGEND_COLUMNS * WIDTH / LEGEND_COLUMNS, top + (style // LEGEND_COLUMNS + 0.5) * LEGEND_ROW
        parts += [sample(style, x, y), text(name, x + 36, y + 4)]
    return parts


def line_sample(style, x, y):
    return line(x, y, x + 28, y, f"s{style % STYLES}") + marker(style, x + 14, y)


def bar_sample(style, x, y):
    return element("rect", x=float(x + 8), y=float(y - 6), width=16, height=12, class_=f"f{style % STYLES}")


# --- lines ------------------------------------------------------------------------------------------------------------------


def thinned(points):
    """The same line with no more points than can be seen."""
    return points[:: max(1, math.ceil(len(points) / MOST_POINTS))]


def runs_of(points):
    """A gap parts a line into several."""
    found = [[]]
    for x, y in points:
        if y is None:
            found.append([])
        else:
            found[-1].append((x, y))
    return [run for run in found if run]


def frame(x_name, y_name, y_axis):
    """Both axes' names, and the horizontal lines."""
    bottom = TOP + PLOT_HEIGHT
    parts = [
        text(x_name, (LEFT + WIDTH - RIGHT) / 2, bottom + 36, text_anchor="middle"),
        text(
            y_name + (" (logarithmic)" if y_axis.logarithmic else ""),
            14,
            TOP + PLOT_HEIGHT / 2,
            text_anchor="middle",
            transform=f"rotate(-90 14 {rounded(TOP + PLOT_HEIGHT / 2)})",
        ),
    ]
    for tick in y_axis.ticks:
        y = bottom - PLOT_HEIGHT * y_axis.share(tick)
        parts += [line(LEFT, y, WIDTH - RIGHT, y, "grid"), text(shown(tick), LEFT - 5, y + 4, text_anchor="end")]
    return parts


def steps_axis(values):
    """{value: share}: what was measured, at equal distances: 1, 8, 1000 clients would lie on each other otherwise."""
    ordered = sorted(set(values))
    return {value: (number + 0.5) / len(ordered) for number, value in enumerate(ordered)}


def lines(label, series, x_name, y_name, log=False, time=False):
    """series: {name: [(x, y)]}. time: x is a quantity, and points have no markers."""
    series = {name: thinned(points) for name, points in series.items()}
    values = [y for points in series.values() for _, y in points if y is not None]
    places = [x for points in series.values() for x, _ in points]
    y_axis = logarithmic(values) if log else linear(values)
    x_axis = linear(places)
    steps = {tick: x_axis.share(tick) for tick in x_axis.ticks} if time else steps_axis(places)
    span, bottom = WIDTH - LEFT - RIGHT, TOP + PLOT_HEIGHT

    def at(x, y):
        return LEFT + span * (x_axis.share(x) if time else steps[x]), bottom - PLOT_HEIGHT * y_axis.share(y)

    parts = frame(x_name, y_name, y_axis)
    parts += [text(shown(x), LEFT + span * share, bottom + 17, text_anchor="middle") for x, share in steps.items()]
    for style, points in enumerate(series.values()):
        for run in runs_of(points):
            path = " ".join(",".join(map(rounded, at(x, y))) for x, y in run)
            parts.append(element("polyline", points=path, class_=f"s{style % STYLES}"))
            parts += [] if time else [marker(style, *at(x, y)) for x, y in run]
    return figure(label, bottom + AXIS + legend_height(series), parts + legend(series, bottom + AXIS, line_sample))


# --- rows: bars and ranges ----------------------------------------------------------------------------------------------------


def row_frame(axis, names, height, unit):
    """Names at the left, vertical lines, the axis' name. names: {name: its middle}"""
    span, bottom = WIDTH - NAME_WIDTH - RIGHT, TOP + height
    parts = [text(name, NAME_WIDTH - 6, y + 4, text_anchor="end") for name, y in names.items()]
    for tick in axis.ticks:
        x = NAME_WIDTH + span * axis.share(tick)
        parts += [line(x, TOP, x, bottom, "grid"), text(shown(tick), x, bottom + 16, text_anchor="middle")]
    return parts + [text(unit + (" (logarithmic)" if axis.logarithmic else ""), NAME_WIDTH + span / 2, bottom + 34, text_anchor="middle")]


def stacked(label, bars, unit):
    """bars: {name: {part: value}}: a bar of all its parts each, in the order of the first one's."""
    parts_of = list(dict.fromkeys(part for bar in bars.values() for part in bar))
    axis = linear([sum(value or 0 for value in bar.values()) for bar in bars.values()])
    span, height = WIDTH - NAME_WIDTH - RIGHT, len(bars) * (ROW + 6)
    middles = {name: TOP + (number + 0.5) * (ROW + 6) for number, name in enumerate(bars)}
    parts = row_frame(axis, middles, height, unit)
    for name, bar in bars.items():
        left = 0
        for part in (part for part in parts_of if bar.get(part)):
            parts.append(
                element(
                    "rect",
                    x=float(NAME_WIDTH + span * axis.share(left)),
                    y=float(middles[name] - BAR / 2),
                    width=float(span * axis.share(bar[part])),
                    height=BAR,
                    class_=f"f{parts_of.index(part) % STYLES}",
                )
            )
            left += bar[part]
    return figure(label, TOP + height + AXIS + legend_height(parts_of), parts + legend(parts_of, TOP + height + AXIS, bar_sample))


def ranges(label, rows, unit):
    """rows: {name: {series: (from, to)}}: on a logarithmic axis a line from one to the other, marked where it begins."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    axis = logarithmic([value for row in rows.values() for pair in row.values() for value in pair if value is not None])
    span, each = WIDTH - NAME_WIDTH - RIGHT, len(names) * 10 + 8
    height = len(rows) * each
    parts = row_frame(axis, {name: TOP + (number + 0.5) * each for number, name in enumerate(rows)}, height, unit)
    for number, row in enumerate(rows.values()):
        for style, pair in ((names.index(name), pair) for name, pair in row.items() if None not in pair):
            y = TOP + number * each + 9 + style * 10
            first, last = (NAME_WIDTH + span * axis.share(value) for value in pair)
            parts += [line(first, y, last, y, f"s{style % STYLES}"), marker(style, first, y)]
    return figure(label, TOP + height + AXIS + legend_height(names), parts + legend(names, TOP + height + AXIS, line_sample))
