"""`make verify`: what it proves on a running stack, and that it fails when something is wrong."""

import re

import pytest

from support import compose as containers
from support.log import start_anew


def verify(stack, status, compare_s=60):
    """Runs it; returns {check: (verdict, text)} and the whole output."""
    done = containers.run("make", "-s", "verify", check=False, timeout=240, env={"COMPARE_TIMEOUT_S": str(compare_s)})
    text = done.stdout + done.stderr
    # make says what the script ended with; its own status is 2 for any failure.
    ended = re.search(r"Error (\d+)", done.stderr)
    assert (int(ended[1]) if ended else done.returncode) == status, text
    return verdicts(done.stdout), text


def verdicts(text):
    checks = re.findall(r"^ {2}(\S+) +(holds|DIFFERS|UNKNOWN) +(.*)$", text, re.MULTILINE)
    return {name: (verdict, detail) for name, verdict, detail in checks}


def test_every_check_holds_while_writes_go_on(stack, load):
    stack.await_satellites()
    # With pauses, in which master and satellites can be met at the same set.
    with load(stack, threads=1, pace_s=0.1) as writers:
        writers.await_commits(20)
        checks, text = verify(stack, 0)
        writers.await_commits(1)
    assert list(checks) == ["log", "set", "order", *stack.satellites], text
    assert all(verdict == "holds" for verdict, _ in checks.values()), text
    assert text.count("identical") == len(stack.satellites), text
    compared = re.match(r"(\d+) transactions in the order", checks["order"][1])
    assert int(compared[1]) >= 20, text


def test_a_satellite_that_cannot_be_reached_is_not_passed(stack):
    with stack.paused("satellite-2", "mysqld"):
        done = containers.run("mysql-satellite/verify", check=False, timeout=240, env={"COMPARE_TIMEOUT_S": "2"})
    assert done.returncode == 2 and "satellite-2" in done.stdout, done.stdout + done.stderr
    stack.await_satellites(90)


@pytest.mark.whole_log
@pytest.mark.fault
def test_a_row_that_was_changed_behind_the_appliers_back_is_found(stack):
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.changed (id INT PRIMARY KEY, v INT)")
    stack.sql("master", "REPLACE INTO app.changed VALUES (1, 1), (2, 2)")
    stack.await_satellites()
    before = stack.incarnation("satellite-1")
    stack.sql("satellite-1", "UPDATE app.changed SET v = 7 WHERE id = 2")
    checks, text = verify(stack, 1)
    assert checks["satellite-1"][0] == "holds", "its GTIDs are right"
    assert "satellite-1: 1 difference" in text and "app.changed" in text and "satellite-2: identical" in text, text
    stack.kill_process("satellite-1", "mysqld")
    stack.wait_for(lambda: stack.incarnation("satellite-1") != before, 90, "satellite-1 to be cloned again")
    stack.await_satellites(90)


@pytest.mark.fault
def test_indexes_that_answer_differently_over_equal_rows_are_found(stack):
    stack.client(
        "master",
        "SET time_zone = '+00:00'; DROP TABLE IF EXISTS app.hours; CREATE TABLE app.hours (id INT PRIMARY KEY, ts TIMESTAMP, "
        "v INT AS (HOUR(ts)), KEY of_column (v), KEY of_expression ((HOUR(ts))), w VARCHAR(9), FULLTEXT KEY words (w)); "
        "INSERT INTO app.hours (id, ts, w) VALUES (1, '2026-01-01 01:00:00', 'apple'), (2, '2026-01-01 03:00:00', '1st')",
    )
    stack.await_satellites()
    assert stack.compare().count("identical") == len(stack.satellites)
    before = stack.incarnation("satellite-1")
    stack.client("satellite-1", "SET sql_log_bin = 0, time_zone = '+05:30'; ALTER TABLE app.hours FORCE, ALGORITHM = COPY")
    done = containers.run("mysql-satellite/compare", "master", *stack.satellites, check=False)
    assert done.returncode == 1 and "satellite-1: 2 differences" in done.stdout and "satellite-2: identical" in done.stdout, done.stdout
    assert "app.hours: index of_expression answers differently: master 1 / 1, satellite-1 0 / 0" in done.stdout, done.stdout
    assert "app.hours: index of_column answers differently: master 2 / " in done.stdout, done.stdout
    stack.kill_process("satellite-1", "mysqld")
    stack.wait_for(lambda: stack.incarnation("satellite-1") != before, 90, "satellite-1 to be cloned again")
    stack.await_satellites(90)


@pytest.mark.nightly(keep=1)
@pytest.mark.whole_log
@pytest.mark.fault
@pytest.mark.parametrize(
    "fault,check,says",
    [
        ("lose", "log", "but stands after"),
        ("hide", "order", "where the master's binlog has"),
        ("repeat", "log", "but stands after"),
    ],
)
def test_a_log_that_capture_has_spoilt_is_found(stack, fault, check, says):
    """A transaction lost on the way, one that nobody admits to have lost, and one that is there twice."""
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.spoilt (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
    # An epoch's first transaction names no predecessor: the fault must not hit that one, or other words tell of it.
    while stack.last_number() % 10 != 3:
        stack.sql("master", "INSERT INTO app.spoilt (v) VALUES (0)")
    stack.await_satellites()
    stack.recreate("capture", CAPTURE_TEST_FAULT=f"{fault}:10")
    try:
        for _ in range(12):
            stack.sql("master", "INSERT INTO app.spoilt (v) VALUES (1)")
        checks, text = verify(stack, 1, compare_s=5)
        assert checks[check][0] == "DIFFERS" and says in checks[check][1], text
    finally:
        stack.recreate("capture")
        start_anew(stack)
    verify(stack, 0)


@pytest.mark.whole_log
@pytest.mark.fault
def test_a_satellite_that_lacks_a_gtid_is_found(stack):
    """A hole in a satellite's set: a transaction that it has never seen, and later ones that it has."""
    before = stack.incarnation("satellite-1")
    with stack.paused("applier-1", "java"):
        stack.sql("master", "CREATE TABLE IF NOT EXISTS app.skipped (id INT PRIMARY KEY)")
        uuid, last = stack.sql("master", "SELECT @@server_uuid")[0][0], stack.last_number()
        stack.sql("master", "REPLACE INTO app.skipped VALUES (1)")
        stack.sql("master", "REPLACE INTO app.skipped VALUES (2)")
        with stack.admin_connect("satellite-1") as connection, connection.cursor() as cursor:
            cursor.execute("SET gtid_next = %s", (f"{uuid}:{last + 2}",))
            cursor.execute("COMMIT")
        checks, text = verify_gtids(stack)
        assert checks["satellite-1"][0] == "DIFFERS" and "lacks" in checks["satellite-1"][1], text
        assert checks["satellite-2"][0] == "holds", text
        stack.kill_process("satellite-1", "mysqld")
    stack.wait_for(lambda: stack.incarnation("satellite-1") != before, 90, "satellite-1 to be cloned again")
    stack.await_satellites(90)


def verify_gtids(stack):
    """The part of it that reads the log alone: comparing waits long for a satellite whose applier stands still."""
    addresses = [f"{service}:3306" for service in stack.satellites]
    text = stack.compose("run", "--rm", "--no-deps", "-T", "capture", "verify", *addresses, check=False).stdout
    return verdicts(text), text
