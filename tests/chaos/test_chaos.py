"""Whatever fails: the short version of `make chaos`; and that each kind of check catches what it is there for."""

import os

import pytest

from support import log

from chaos_judge import Broken, Judge
from chaos_load import ChaosLoad
from chaos_registry import FAULTS
from chaos_rounds import Rounds, possible_faults

SHORT_ROUNDS = 5
# Always the same rounds, so that a change is what makes the difference; `make chaos` draws a new seed each time. Not every machine
# can fill a disk, so that one is left to `make chaos`.
SHORT_SEED = 168
SHORT_FAULTS = [name for name in FAULTS if name != "fill Kafka's disk"]
pytestmark = [pytest.mark.fault, pytest.mark.whole_log]


@pytest.mark.timeout(900)
def test_whatever_fails_nothing_is_lost_and_all_are_equal_again(stack, capsys):
    seed = int(os.environ.get("CHAOS_SEED") or SHORT_SEED)

    def say(line):
        with capsys.disabled():
            print(line, flush=True)

    say(f"\nchaos: SEED={seed}")
    with Rounds(stack, seed, say) as rounds:
        rounds.run(possible_faults(SHORT_FAULTS), 0, at_least=SHORT_ROUNDS)


@pytest.fixture
def judged(stack):
    """judged(service, settings) -> Broken: what the judge says of a load under these test-only settings of a service."""
    spoilt = []

    def run(service, settings, updates=True, ask=None):
        stack.await_satellites(90)
        spoilt.append(service)
        stack.recreate(service, **settings)
        with ChaosLoad(stack, updates=updates) as load:
            judge = Judge(stack, load)
            load.await_commits(60)
            with pytest.raises(Broken) as broken:
                if ask is None:
                    judge.settle(30)
                (ask or Judge.right)(judge)
        return broken.value

    yield run
    for service in spoilt:
        stack.recreate(service)
        repair(stack, service)


def repair(stack, service):
    """What was spoilt on purpose: the log is emptied, a satellite cloned again."""
    if service == "capture":
        log.start_anew(stack)
        return
    satellite = service.replace("applier", "satellite")
    before = stack.incarnation(satellite)
    stack.kill_process(satellite, "mysqld")
    stack.wait_for(lambda: stack.incarnation(satellite) != before, 90, f"{satellite} to be cloned again")
    stack.await_satellites(120)


def test_an_applier_that_leaves_rows_out_loses_commits(stack, judged):
    stack.await_debezium()  # what goes raw comes whole
    broken = judged("applier-1", {"APPLIER_TEST_SKIP_ROW_EVERY": "5"}, updates=False)
    assert broken.kind == "lost" and "satellite-1" in str(broken), broken


def test_rows_that_differ_are_found(stack, judged):
    """No acknowledged commit is missing: only rows that nobody waits for were left out."""
    stack.sql("master", "DROP TABLE IF EXISTS app.left_out")
    stack.sql("master", "CREATE TABLE app.left_out (id INT PRIMARY KEY)")
    stack.recreate("applier-1", APPLIER_TEST_SKIP_ROW_EVERY="2")
    firsts = iter(range(1, 1_000_000, 50))

    def some_left_out():
        """What goes raw, as long as capture is behind, comes whole."""
        first = next(firsts)
        stack.sql(
            "master",
            f"INSERT INTO app.left_out WITH RECURSIVE s (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM s WHERE i < {first + 49}) SELECT i FROM s",
        )
        stack.await_satellites(60)
        count = "SELECT COUNT(*) FROM app.left_out"
        return stack.sql("satellite-1", count) != stack.sql("master", count)

    stack.wait_for(some_left_out, 90, "rows to be left out on satellite-1")
    broken = judged("applier-1", {}, ask=Judge.right)
    assert broken.kind == "differs" and "app.left_out" in str(broken), broken


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("fault", ["lose", "hide", "repeat"])
def test_gtids_that_are_missing_or_twice_are_found(stack, judged, fault):
    """One of them, a moment from now: satellites may have cloned again since, which heals them but not the log."""
    broken = judged("capture", {"CAPTURE_TEST_FAULT": f"{fault}:{stack.last_number() + 30}"}, ask=Judge.gtids)
    assert broken.kind == "gtid" and "DIFFERS" in str(broken), broken


@pytest.mark.nightly
def test_an_applier_that_does_not_get_on_is_stuck(judged):
    broken = judged("applier-2", {"APPLIER_TEST_DELAY_MS": "300000"})
    assert broken.kind == "stuck" and "satellite-2" in str(broken), broken


def test_every_fault_has_a_bound_that_the_documentation_states(stack):
    text = (stack.root / "docs/faults.md").read_text()
    for fault in FAULTS.values():
        assert f"| {fault.name} | {fault.bound_s} |" in text, fault.name
