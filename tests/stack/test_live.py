"""Appliers that have everything before get records straight from capture; the log has the same, and is what they fall back to."""

import time

import pytest

from support import compose as containers
from support.live import APPLIERS, live, write_until_live
from support.same import assert_same_rows

# Capture's producer gives a record up after 30 s.
AWAY_S = 60


def test_appliers_follow_capture(stack):
    write_until_live(stack)
    assert stack.metrics("capture").total("multimed_capture_live_readers") == len(APPLIERS)
    stack.await_satellites()
    assert_same_rows(stack, "app", "live")


@pytest.mark.fault
def test_satellites_follow_while_the_log_stands_still(stack):
    write_until_live(stack)
    with stack.paused("kafka", "java"):
        stack.sql("master", "INSERT INTO app.live VALUES (1)")
        stack.await_satellites()
        assert all(live(stack, applier) for applier in APPLIERS)
    # The log gets it, too: an applier that lacks all of this reads it there.
    stack.kill_process("applier-1", "java")
    stack.sql("master", "INSERT INTO app.live VALUES (2)")
    stack.await_satellites()
    assert_same_rows(stack, "app", "live")


@pytest.mark.fault
@pytest.mark.whole_log
def test_satellites_follow_for_as_long_as_kafka_is_away(stack, load, wait_for):
    """They stood still after some seconds, since capture's producer waited for a broker, and for good after 30 s."""
    write_until_live(stack)
    before = {service: stack.incarnation(service) for service in stack.satellites}
    with load(stack, pace_s=0.02) as writers:
        containers.compose("stop", "-t", "5", "kafka")
        try:
            end = time.monotonic() + AWAY_S
            while time.monotonic() < end:
                writers.await_commits(50)
                stack.await_satellites(10)
                assert all(live(stack, applier) for applier in APPLIERS)
                assert {server["state"] for server in stack.servers()} == {"up"}
            assert "the log does not acknowledge" in stack.page("capture", "/ready")[1]
        finally:
            containers.compose("start", "kafka")
        wait_for(lambda: stack.page("capture", "/ready")[0] == 200, 60, "capture to be ready")
        writers.await_commits(50)
    stack.await_satellites()
    assert_same_rows(stack, "app", writers.table)
    writers.assert_all_acknowledged_are_there("master", *stack.satellites)
    assert {service: stack.incarnation(service) for service in stack.satellites} == before, "nobody cloned"
    write_until_live(stack)
    assert "verified" in containers.run("make", "-s", "verify", timeout=240, env={"COMPARE_TIMEOUT_S": "60"}).stdout


@pytest.mark.fault
def test_what_capture_told_and_did_not_log_comes_again_and_is_skipped(stack, load):
    """The log stands still, so that what satellites already have is lost with capture."""
    write_until_live(stack)
    before = {service: stack.incarnation(service) for service in stack.satellites}
    with load(stack) as writers:
        writers.await_commits(50)
        with stack.paused("kafka", "java"):
            writers.await_commits(50)
            stack.await_satellites()
            stack.kill_process("capture", "java")
        writers.await_commits(50)
    stack.await_satellites()
    assert_same_rows(stack, "app", writers.table)
    writers.assert_all_acknowledged_are_there("master", *stack.satellites)
    assert {service: stack.incarnation(service) for service in stack.satellites} == before, "nobody cloned"
    skipped = sum(stack.metrics(applier).total("multimed_applier_skipped_total") for applier in APPLIERS)
    assert skipped > 0, "the new capture brought again what the log lacked"
    write_until_live(stack)


@pytest.mark.fault
def test_an_applier_that_stands_still_goes_on_with_the_log(stack, load):
    write_until_live(stack)
    with load(stack) as writers:
        with stack.paused("applier-1", "java"):
            writers.await_commits(500)
        writers.await_commits(50)
    stack.await_satellites()
    assert_same_rows(stack, "app", writers.table)
    write_until_live(stack)


def test_a_transaction_in_parts_comes_from_the_log(stack):
    write_until_live(stack)
    before = retries(stack)
    stack.sql("master", "CREATE TABLE app.in_parts (id INT PRIMARY KEY, t VARCHAR(1000))")
    rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i, REPEAT('x', 1000) FROM n"
    stack.sql("master", f"INSERT INTO app.in_parts SELECT /*+ SET_VAR(cte_max_recursion_depth = 5000) */ * FROM ({rows}) AS r")
    stack.sql("master", "UPDATE app.in_parts SET t = 'y' WHERE id = 1")
    stack.await_satellites()
    assert_same_rows(stack, "app", "in_parts")
    assert retries(stack) == before, "nothing was tried twice"
    write_until_live(stack)


def retries(stack):
    name = "multimed_applier_retries_total"
    pages = [stack.metrics(applier) for applier in APPLIERS]
    return sum(page.total(name) for page in pages if name in page.names())
