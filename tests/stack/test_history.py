"""A master that goes back, and a log that is begun anew, by the commands of docs/operations.md: no read shows what the master does not have."""

import contextlib
import re

import pymysql
import pytest

from support import compose as containers
from support.live import write_until_live

pytestmark = [pytest.mark.fault, pytest.mark.whole_log]
IDS = "SELECT id FROM app.history ORDER BY id"


def runbook(stack, heading, tmp_path):
    """The commands below a heading, block by block, for a copy in this test's own folder."""
    text = (stack.root / "docs/operations.md").read_text().partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert blocks, heading
    return [block.replace("/backup/master", str(tmp_path)) for block in blocks]


def sh(script):
    containers.run("bash", "-euc", script, timeout=180)


@pytest.fixture
def table(stack):
    """Five rows on all servers; back comes how to insert more, and how to wait until the master answers."""
    stack.sql("master", "DROP TABLE IF EXISTS app.history")
    stack.sql("master", "CREATE TABLE app.history (id INT PRIMARY KEY)")
    insert(stack, range(1, 6))
    stack.await_satellites()


def insert(stack, ids):
    """Acknowledged one by one."""
    for each in ids:
        stack.sql("master", "INSERT INTO app.history VALUES (%s)", (each,))


def await_master(stack):
    stack.wait_for(lambda: stack.sql("master", "SELECT 1"), 60, "the master to answer")


def read(stack):
    """By a strong read in a session of its own; None while nobody gets in."""
    with contextlib.suppress(pymysql.err.Error), contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        cursor.execute(IDS)
        return [row[0] for row in cursor.fetchall()]
    return None


def await_new_history(stack, before, ids):
    """Strong reads show these rows from now on, without a break; the satellites clone again and have them, too."""

    def cloned():
        assert read(stack) == ids
        return all(stack.incarnation(service) != before[service] for service in stack.satellites)

    while_it_lasts(stack, cloned)
    stack.await_satellites(120)
    for server in ("master", *stack.satellites):
        assert [row[0] for row in stack.sql(server, IDS)] == ids, server
    assert read(stack) == ids
    insert(stack, [100])
    stack.await_satellites()
    assert read(stack) == [*ids, 100]
    assert "verified" in containers.run("make", "-s", "verify", timeout=240, env={"COMPARE_TIMEOUT_S": "60"}).stdout


def while_it_lasts(stack, check):
    """An assertion of it fails at once; that a satellite does not answer is no failure."""

    def checked():
        try:
            return check()
        except AssertionError as error:
            return error
        except Exception:  # its mysqld ends, and another begins
            return False

    outcome = stack.wait_for(checked, 120, "the satellites to clone again")
    assert outcome is True, outcome


def restore(stack, tmp_path, between=lambda: None, stopped=True):
    """An older copy of the master, in the place of what three acknowledged transactions came to. Not stopped: as a file system's snapshot is."""
    copy, back = runbook(stack, "A master restored from a copy", tmp_path)
    if stopped:
        sh(copy)
        await_master(stack)
    else:
        with stack.paused("master", "mysqld"):
            sh(copy.splitlines()[1])
    insert(stack, [11, 12, 13])
    stack.await_satellites(90)
    assert read(stack) == [1, 2, 3, 4, 5, 11, 12, 13]
    between()
    sh(back)
    await_master(stack)


def incarnations(stack):
    return {service: stack.incarnation(service) for service in stack.satellites}


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("stopped", [True, False])
def test_strong_reads_show_nothing_that_a_restored_master_has_lost(stack, table, tmp_path, stopped):
    restore(stack, tmp_path, stopped=stopped)
    before = incarnations(stack)
    ids = [1, 2, 3, 4, 5]
    assert read(stack) in (ids, None)
    for each in (21, 22, 23, 24):
        insert(stack, [each])
        ids.append(each)
        # As many transactions as were lost, then one more: by their GTIDs nothing is wrong.
        assert read(stack) in (ids, None)
    await_new_history(stack, before, ids)


def marks_ahead(stack):
    return [part for part in stack.gtid("master").split(",") if part.strip().startswith("00000000-0000-0002-")]


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("copied", ["before capture knows that Kafka is away", "after"])
def test_nothing_is_read_that_satellites_got_while_kafka_was_away_and_the_master_has_lost(stack, table, tmp_path, copied):
    """The log has nothing of what was lost, and its newest transaction is in the copy: neither shows that the master has gone back."""
    copy, back = runbook(stack, "A master restored from a copy", tmp_path)

    def snapshot():
        with stack.paused("master", "mysqld"):
            sh(copy.splitlines()[1])

    write_until_live(stack)
    before, known = incarnations(stack), marks_ahead(stack)
    stack.compose("stop", "-t", "5", "kafka")
    try:
        if copied != "after":
            snapshot()
        insert(stack, [11, 12, 13])
        stack.wait_for(lambda: marks_ahead(stack) != known, 30, "capture to mark that satellites get ahead")
        if copied == "after":
            snapshot()
        insert(stack, [14, 15, 16])
        stack.await_satellites()
        assert read(stack) == [1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 16]
        sh(back)
        await_master(stack)
        ids = [1, 2, 3, 4, 5] if copied != "after" else [1, 2, 3, 4, 5, 11, 12, 13]
        for each in range(21, 29):
            insert(stack, [each])
            ids.append(each)
            assert read(stack) in (ids, None)
    finally:
        stack.compose("start", "kafka")
    await_new_history(stack, before, ids)


def test_a_satellite_that_clones_from_a_restored_master_does_not_replay_what_that_has_lost(stack, table, tmp_path):
    restore(stack, tmp_path, between=lambda: stack.compose("stop", "-t", "5", "capture"))
    before = incarnations(stack)
    for service in stack.satellites:
        stack.kill_process(service, "mysqld")
    insert(stack, [21])
    for service in stack.satellites:
        life = ("cat", "/run/multimed/life")
        stack.wait_for(
            lambda s=service: "capture has not confirmed its history yet" in containers.execute(s, *life).stdout,
            60,
            f"{service} to wait for capture",
        )
    assert read(stack) == [1, 2, 3, 4, 5, 21]
    stack.compose("start", "capture")
    await_new_history(stack, before, [1, 2, 3, 4, 5, 21])


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("more", [1, 4])
def test_strong_reads_show_what_the_master_has_after_its_gtids_were_reset(stack, table, more):
    before = incarnations(stack)
    stack.sql("master", "RESET BINARY LOGS AND GTIDS")
    ids = [1, 2, 3, 4, 5]
    for each in range(21, 21 + more):
        insert(stack, [each])
        ids.append(each)
        assert read(stack) == ids
    await_new_history(stack, before, ids)


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("running", [True, False])
def test_strong_reads_show_what_the_master_has_after_a_dump_was_loaded_that_says_its_gtids(stack, table, running):
    """As mysqldump's files do it. The boot is the same, and its mark is among those GTIDs; the lost numbers come again."""
    executed = stack.gtid("master")
    insert(stack, [11, 12, 13])
    stack.await_satellites()
    assert read(stack) == [1, 2, 3, 4, 5, 11, 12, 13]
    before = incarnations(stack)
    if not running:
        stack.compose("stop", "-t", "5", "capture")
    with contextlib.closing(stack.admin_connect("master")) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_log_bin = 0")
        cursor.execute("RESET BINARY LOGS AND GTIDS")
        cursor.execute(f"SET GLOBAL gtid_purged = '{executed}'")
        cursor.execute("DELETE FROM app.history WHERE id > 10")
    ids = [1, 2, 3, 4, 5]
    assert read(stack) == ids
    for each in (21, 22, 23, 24):
        insert(stack, [each])
        ids.append(each)
        assert read(stack) in (ids, None)
    if not running:
        stack.compose("start", "capture")
    await_new_history(stack, before, ids)


def test_satellites_clone_again_when_the_log_is_begun_anew(stack, table, tmp_path):
    before = incarnations(stack)
    for block in runbook(stack, "Begin the log anew", tmp_path):
        sh(block)
    insert(stack, [21])
    await_new_history(stack, before, [1, 2, 3, 4, 5, 21])


def test_no_satellite_clones_again_when_the_master_restarts(stack, table):
    before = incarnations(stack)
    stack.compose("restart", "master")
    await_master(stack)
    insert(stack, [21])
    stack.await_satellites(90)
    assert read(stack) == [1, 2, 3, 4, 5, 21]
    assert incarnations(stack) == before


@pytest.mark.nightly
def test_verify_says_that_the_log_is_of_another_history(stack, table, tmp_path):
    """While capture is away, and the master has given all GTIDs of the log again: its newest transaction has another time there."""
    restore(stack, tmp_path, between=lambda: stack.compose("stop", "-t", "5", "capture"), stopped=False)
    before = incarnations(stack)
    insert(stack, [21, 22, 23])
    text = stack.compose("run", "--rm", "--no-deps", "-T", "capture", "verify", check=False).stdout
    assert re.search(r"^  set +DIFFERS +another history: ", text, re.MULTILINE), text
    stack.compose("start", "capture")
    await_new_history(stack, before, [1, 2, 3, 4, 5, 21, 22, 23])
