"""All tables, compared all the time: rows that somebody changes on a satellite are found though no transaction touches them."""

import json
import urllib.request

import pytest

from support.same import assert_same_rows

pytestmark = [pytest.mark.whole_log, pytest.mark.fault]
PASSED = "multimed_capture_comparison_passed_timestamp_seconds"
ROWS = 1200


@pytest.fixture
def comparing(stack):
    """A pass takes as long as its pieces and rests do."""
    stack.recreate("capture", COMPARE_HOURS="0.001")
    yield
    stack.recreate("capture")


@pytest.fixture
def compared(stack, comparing, schema):
    """Name of a table of three pieces, on all servers."""
    stack.sql("master", f"CREATE TABLE `{schema}`.t (id INT PRIMARY KEY, v VARCHAR(20))")
    numbers = f"WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {ROWS}) SELECT i, CONCAT('v', i) FROM s"
    with stack.admin_connect("master") as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION cte_max_recursion_depth = 10000")
        cursor.execute(f"INSERT INTO `{schema}`.t {numbers}")
    stack.await_satellites()
    return f"`{schema}`.t"


def checks(stack, applier, result="equal"):
    """Pieces that were compared."""
    metrics = stack.metrics(applier)
    return sum(number for name, labels, number in metrics.samples if name == "multimed_applier_checks_total" and labels["result"] == result)


def await_checks(stack, number):
    """More of them, on both satellites."""
    for applier in ("applier-1", "applier-2"):
        wanted = checks(stack, applier) + number
        stack.wait_for(lambda a=applier, w=wanted: checks(stack, a) >= w, 120, f"{number} checks on {applier}")


def rebuilds(stack, applier):
    return stack.metrics(applier).total("multimed_applier_rebuilds_total", reason="comparison")


def test_a_satellite_whose_rows_somebody_changed_clones_again_and_the_others_serve(stack, compared, incarnations):
    before = {applier: rebuilds(stack, applier) for applier in ("applier-1", "applier-2")}
    stack.client("satellite-1", f"SET sql_log_bin = 0; UPDATE {compared} SET v = 'other' WHERE id = 777")
    stack.wait_for(lambda: stack.incarnation("satellite-1") != incarnations["satellite-1"], 280, "satellite-1 to clone again")
    stack.await_satellites(120)
    assert_same_rows(stack, compared.split("`")[1])
    assert stack.incarnation("satellite-2") == incarnations["satellite-2"]
    assert rebuilds(stack, "applier-1") == before["applier-1"] + 1 and rebuilds(stack, "applier-2") == before["applier-2"]
    said = [line for line in stack.logs("applier-1").splitlines() if "event=divergence reason=comparison" in line]
    assert compared.replace("`", "") in said[-1], said[-1]


def test_no_satellite_differs_while_writes_go_on(stack, compared, load, incarnations):
    failed = {applier: checks(stack, applier, "failed") for applier in ("applier-1", "applier-2")}
    with load(stack, threads=4) as writers:
        writers.await_commits(20)
        await_checks(stack, 30)
        writers.await_commits(1)
    assert {service: stack.incarnation(service) for service in stack.satellites} == incarnations
    assert {applier: checks(stack, applier, "failed") for applier in failed} == failed


def test_checks_are_numbered_without_gaps_so_that_sets_do_not_grow(stack, compared):
    await_checks(stack, 5)
    boot = stack.incarnation("master").removeprefix("boot-")
    source = f"00000000-0000-0001-{boot[:4]}-{boot[4:]}"
    found = [part for part in stack.gtid("satellite-1").replace(" ", "").split(",") if part.startswith(source)]
    assert len(found) == 1 and found[0].startswith(f"{source}:1-") and found[0].count(":") == 1, found


def test_the_status_page_says_how_far_the_comparison_is(stack, compared):
    await_checks(stack, 1)

    def told():
        with urllib.request.urlopen(stack.status_url + "/events", timeout=20) as answer:
            snapshots = (json.loads(line[6:]) for line in answer if line.startswith(b"data: "))
            return next(snapshot["capture"] for snapshot in snapshots if snapshot.get("capture"))["compared"]

    stack.wait_for(lambda: 0 < told() <= 1, 60, "the page to say it")


def test_without_hours_nothing_is_compared(stack, schema):
    """As all other tests have it."""
    metrics = stack.wait_for(lambda: stack.metrics("capture"), 60, "capture to answer")
    assert PASSED not in metrics.names()
    assert metrics.total("multimed_capture_comparison_rows_total") == 0
