"""The heart of the promise: a read never sees less than was acknowledged before it arrived, whatever fails.

The program beside (main.go) writes, reads and judges; here it is built and run, and the stack is disturbed. The same
program must find stale reads once the gate's freshness check is off: else it would prove nothing. What it judges without
a stack is tested by its own tests (tests/lib/checks.sh: check_checker).
"""

import os
import random
import re

import pytest

from support import compose as containers
from support.wait import wait_for

from consistency_faults import APPLIERS, Faults
from consistency_run import Run, build

pytestmark = [pytest.mark.fault, pytest.mark.whole_log]
CHECKS = int(os.environ.get("CONSISTENCY_CHECKS", "10000"))
# More of them, as CONSISTENCY_CHECKS=100000, are for a run by hand: it takes so many times as long.
LENGTH = max(1, round(CHECKS / 10000))
# What satellites must have answered of the checks: a gate that asks the master for everything is never stale either.
# How many they can answer while appliers are stopped and killed depends on the machine, and on what the master has to spare (30 % were
# measured on two idle cores); the run goes on until it is enough.
SATELLITES_SHARE = 0.2
# Each level needs so many checks of its own; a bound that appliers which stand still for up to 500 ms exceed.
CHECKS_PER_LEVEL = 400
# By the faults of the strong run.
RESTARTED = (*APPLIERS, "capture", "gate", *(["kafka"] if LENGTH > 1 else []))
LEVELS = ("strong", "session", "bounded:100", "eventual")
# The run stops a little above, since answers that are under way then still count.
SATELLITES_GOAL = SATELLITES_SHARE + 0.01


@pytest.fixture(scope="module")
def binary(stack):
    return build(stack.state)


@pytest.fixture
def seed():
    """Always the same, so that a change is what makes the difference; 0 draws one."""
    given = int(os.environ.get("CONSISTENCY_SEED") or 2011)
    return given or random.SystemRandom().randrange(1, 1 << 31)


@pytest.fixture
def whole_gate(stack):
    """All that chooses where a read runs is on, as by default; more queries are heavy."""
    stack.recreate("gate", GATE_MASTER_READS="spare", GATE_SERVER_RUNNING="auto", GATE_HEAVY_MS="2")
    yield
    stack.recreate("gate")


@pytest.mark.timeout(240 + 360 * LENGTH)
def test_every_acknowledged_commit_is_seen_at_once_whatever_fails(stack, whole_gate, binary, seed, capsys):
    stack.await_satellites()
    rebuilds, starts = ready_events(stack), started(stack)
    with Run(
        stack, binary, "strong", seed=seed, checks=CHECKS, satellite_share=SATELLITES_GOAL, duration="60s", limit=f"{360 * LENGTH}s"
    ) as run:
        faults = Faults(stack, run, seed)
        with faults.slowing():
            for disturb in plan(faults):
                assert run.runs(), run.report
                disturb()
                faults.breathe()
            run.finish(deadline_s=400 * LENGTH)
        by_tables = faults.table_reads()
    rebuilt = ready_events(stack) - rebuilds
    restarted = [service for service, at in started(stack).items() if at != starts[service]]
    show(
        capsys,
        run,
        f"seed {seed}: {faults.slowed} times slowed, {rebuilt} rebuilds, restarted {', '.join(restarted)}, by tables {by_tables}",
    )
    assert run.summary is not None, run.report
    assert run.summary["violations"] == dict.fromkeys(run.summary["violations"], 0), run.report
    assert run.summary["disallowed"] == 0, run.report
    assert run.summary["checks"] >= CHECKS, run.report
    assert run.status == 0, run.report
    assert satellites_share(stack, run) >= SATELLITES_SHARE, run.report
    assert rebuilt >= 4 and set(restarted) == set(RESTARTED) and faults.slowed >= 20
    by_tables_was_tested(run, by_tables, CHECKS // 20)
    stack.compare()


@pytest.mark.timeout(480)
def test_each_level_keeps_its_promise_whatever_fails(stack, whole_gate, binary, seed, capsys):
    """Readers at one level each, and such that alternate between two on one connection."""
    stack.await_satellites()
    with Run(
        stack, binary, "levels", seed=seed, levels=",".join(LEVELS), checks_per_level=CHECKS_PER_LEVEL, duration="40s", limit="300s"
    ) as run:
        faults = Faults(stack, run, seed)
        with faults.slowing():
            for disturb in (
                lambda: faults.kill_satellites("satellite-1"),
                lambda: faults.kill_java("kill-applier", "applier-2"),
                lambda: faults.kill_java("kill-capture", "capture"),
            ):
                assert run.runs(), run.report
                disturb()
                faults.breathe()
            run.finish(deadline_s=360)
    show(capsys, run, f"seed {seed}: levels")
    assert run.summary is not None, run.report
    assert run.summary["violations"] == dict.fromkeys(run.summary["violations"], 0), run.report
    assert run.summary["disallowed"] == 0 and run.status == 0, run.report
    lagged = run.summary["lagged_by_level"]
    for level in LEVELS:
        assert run.summary["checks_by_level"][level] >= CHECKS_PER_LEVEL, run.report
        assert run.summary["satellite_answers_by_level"].get(level, 0) > 0, run.report
        assert level == "strong" or lagged.get(level, 0) > 0, f"{level} was never put to the test:\n{run.report}"


@pytest.fixture
def slow_appliers(stack):
    stack.recreate(*APPLIERS, APPLIER_TEST_DELAY_MS="20")
    yield
    stack.recreate(*APPLIERS)


@pytest.mark.timeout(240 + 240 * LENGTH)
def test_reads_of_tables_see_their_writers_on_slow_satellites(stack, slow_appliers, binary, seed, capsys):
    """Slowed by 20 ms for each transaction, and now and then by seconds: then much is answered that has not all that the master has."""
    stack.await_satellites()
    checks = CHECKS // 40
    # What such satellites can follow.
    load = {"rate": 10, "fanout": 6}
    with Run(
        stack, binary, "slow", seed=seed, levels="strong,session", checks=checks, duration="15s", limit=f"{120 * LENGTH}s", **load
    ) as run:
        faults = Faults(stack, run, seed)
        with faults.slowing(stopped=(0.5, 2), between=(2, 5)):
            wait_for(lambda: faults.table_reads() >= checks // 5 or not run.runs(), 100 * LENGTH, "reads on the strength of their tables")
            run.finish(deadline_s=150 * LENGTH)
        by_tables = faults.table_reads()
    show(capsys, run, f"seed {seed}: {faults.slowed} times slowed, by tables {by_tables}")
    assert run.summary is not None, run.report
    assert run.summary["violations"] == dict.fromkeys(run.summary["violations"], 0), run.report
    assert run.summary["disallowed"] == 0 and run.status == 0, run.report
    by_tables_was_tested(run, by_tables, checks // 5)


def by_tables_was_tested(run, table_reads, at_least):
    """A gate that waits for everything keeps the promise too, and who asks for one table alone finds no mistake about views."""
    assert table_reads >= at_least, run.report
    assert min(run.summary["checks_about"].get(about, 0) for about in ("one table", "tables", "view", "child")) > 0, run.report
    assert sum(count for kind, count in run.summary["kinds"].items() if kind.startswith("declared")) > 0, run.report


@pytest.fixture(scope="module")
def broken_gate(stack):
    """broken_gate(promise): a gate that breaks it, until the next one; made anew only once, when the last has been caught."""
    yield lambda promise: stack.recreate("gate", GATE_TEST_BREAK=promise)
    stack.recreate("gate")


@pytest.mark.nightly(keep=2)
@pytest.mark.parametrize(
    "broken,levels,violation",
    [
        ("freshness", ("strong",), "stale"),
        ("own_changes", ("session",), "own_write_missed"),
        ("seen", ("strong", "session"), "regressed"),
        ("bound", ("bounded:100",), "too_old"),
        ("snapshot", ("strong",), "shifted"),
        ("tables", ("strong",), "stale"),
        ("view", ("strong",), "stale"),
        ("fk", ("strong",), "stale"),
    ],
)
def test_a_gate_that_breaks_one_promise_is_caught(stack, broken_gate, binary, seed, capsys, broken, levels, violation):
    stack.await_satellites()
    broken_gate(broken)
    # With cascades that the binlog has, no gate need know of them.
    assert broken != "fk" or cascades_are_hidden(stack), "this needs MySQL's settings of the stack `faults` (TEST_STACK=faults)"
    is_caught(stack, binary, seed, capsys, broken, levels, violation)


def is_caught(stack, binary, seed, capsys, broken, levels, violation, before_load=None):
    bounds = {"until": violation, "checks": 300, "duration": "1s", "limit": "60s"}
    with Run(stack, binary, f"broken-{broken}", seed=seed, levels=",".join(levels), wait="true", **bounds) as run:
        if before_load:
            before_load()
        run.tell("go")
        faults = Faults(stack, run, seed)
        with faults.slowing():
            run.finish(deadline_s=90)
    show(capsys, run, f"seed {seed}: {broken} broken")
    assert run.summary is not None, run.report
    assert run.summary["violations"][violation] > 0 and run.status == 1, run.report


def cascades_are_hidden(stack):
    found = stack.sql("master", "SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'")
    return not found or found[0][1] == "ON"


@pytest.fixture
def silence_capture(stack):
    """silence_capture(): from then on its table stream leaves every fifth transaction out."""

    def silence():
        stack.recreate("capture", CAPTURE_TEST_FAULT="untold:5")
        wait_for(lambda: stack.metrics().total("gtid_gate_table_stream_up") == 1, 60, "the table stream")

    yield silence
    stack.recreate("capture")


@pytest.mark.nightly
def test_what_the_table_stream_does_not_tell_counts_as_having_written_everything(stack, silence_capture, broken_gate, binary, seed, capsys):
    stack.await_satellites()
    broken_gate("holes")
    # Only once the tables are there: a gate that was not told of a definition goes by no catalog at all.
    is_caught(stack, binary, seed, capsys, "holes", ("strong",), "stale", before_load=silence_capture)
    broken_gate("")
    stack.await_satellites()
    with Run(stack, binary, "untold", seed=seed, checks=500, duration="5s", limit="60s") as run:
        faults = Faults(stack, run, seed)
        with faults.told("untold", "gate"), faults.slowing():
            run.finish(deadline_s=90)
    show(capsys, run, f"seed {seed}: every fifth transaction untold")
    assert run.summary is not None, run.report
    assert run.summary["violations"] == dict.fromkeys(run.summary["violations"], 0) and run.status == 0, run.report


def plan(faults):
    """Every kind of kill, in a random order; both satellites at once is the last."""
    kills = [
        lambda: faults.kill_satellites("satellite-1"),
        lambda: faults.kill_satellites("satellite-2"),
        lambda: faults.kill_java("kill-applier", "applier-1"),
        lambda: faults.kill_java("kill-capture", "capture"),
        lambda: faults.restart_container("applier-2"),
        faults.kill_gate,
        # Half a minute in which the master answers nearly everything: for the long run. (`make chaos` kills it too.)
        *([faults.kill_kafka] if LENGTH > 1 else []),
    ]
    for _ in range(LENGTH):
        faults.random.shuffle(kills)
        yield from kills
        yield lambda: faults.kill_satellites("satellite-1", "satellite-2")


def satellites_share(stack, run):
    answers = run.summary["check_answers"]
    return sum(answers.get(service, 0) for service in stack.satellites) / max(1, sum(answers.values()))


def ready_events(stack):
    """How often satellites have become ready since their containers were made."""
    return len(re.findall(r"event=ready", stack.logs(*stack.satellites)))


def started(stack):
    return {service: containers.inspect(service)["State"]["StartedAt"] for service in RESTARTED}


def show(capsys, run, headline):
    """The numbers, also of a test that passes; violations in full only where they fail it."""
    (run.report_file.with_suffix(".txt")).write_text(run.report)
    with capsys.disabled():
        print(f"\n{headline}\n{run.report.split('VIOLATION')[0].rstrip()}\n")
