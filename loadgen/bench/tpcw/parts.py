"""What bench-tpcw measures beside the contenders, in rounds, on a contender that is up.

commits  the time of COMMITs while the master answers reads (spare), and while it answers none (never)
light    light reads at a rate, without and beside best sellers, that the gate separates or does not
index    best sellers straight on one satellite, without and with indexes that only it has

In:  a Stage, the settings, a Runner. Out: figures as part_outcome.py takes them.
Must never: leave an index behind: satellites are compared with the master afterwards.
"""

import contextlib

from sysbench import say
from tpcw import override, part_outcome, plan
from tpcw.stage import MYSQL_PORT

INDEX = "multimed_own_bench_{number}"


def measure(up, settings, runner):
    """{part: figures}"""
    found = {"commits": commits, "light": light, "index": index}
    return {part: found[part](up, settings, runner) for part in plan.parts(settings, up.contender)}


def figures_of(up, runner, cell, what, door=None):
    run = part_outcome.kept(runner.measure(up, cell, door))
    shown = run["commit_p99"] if "COMMIT" in what else run["p99"]
    say(f"{up.contender.name}, {what}: {run['wips']:.1f} a second, p99 {shown or 0:.1f} ms")
    return run


def commits(up, settings, runner):
    found = {}
    for mix, policy, cell in plan.commit_cells(settings):
        run = figures_of(up, runner, cell, f"COMMITs of {mix}, {policy}")
        found.setdefault(mix, {}).setdefault(policy, []).append(run)
    return found


def light(up, settings, runner):
    """Without best sellers separation makes no difference: measured behind the gate that separates."""
    found, before = {}, None
    for name, heavy_ms in plan.light_steps(settings):
        if name != before:
            up.separate(heavy_ms)
        before = name
        if name == plan.SEPARATED:
            run = figures_of(up, runner, plan.light_cell(settings, heavy=False), "light reads alone")
            found.setdefault(part_outcome.ALONE, []).append(run)
        run = figures_of(up, runner, plan.light_cell(settings, heavy=True), f"light reads beside best sellers, {name}")
        found.setdefault(name, []).append(run)
    return found


@contextlib.contextmanager
def indexes(up, server, settings):
    """As the server's own administrator, who may write there; nothing of it is logged."""
    made = []
    try:
        for number, definition in enumerate(settings.own_indexes, 1):
            table, columns = definition.rstrip(")").split("(")
            up.stack.sql(server, f"CREATE INDEX {INDEX.format(number=number)} ON {settings.database}.{table} ({columns})")
            made.append((INDEX.format(number=number), table))
        yield
    finally:
        for name, table in made:
            up.stack.sql(server, f"DROP INDEX {name} ON {settings.database}.{table}")


def index(up, settings, runner):
    server = override.servers(up.contender)[-1]
    door, cell, found = (up.stack.address(server), MYSQL_PORT), plan.index_cell(), {part_outcome.WITHOUT: [], part_outcome.WITH: []}
    for _ in range(settings.rounds):
        found[part_outcome.WITHOUT].append(figures_of(up, runner, cell, f"best sellers on {server} without an index", door))
        with indexes(up, server, settings):
            found[part_outcome.WITH].append(figures_of(up, runner, cell, f"best sellers on {server} with an index", door))
    return found
