"""The log in Kafka: every GTID of the master once, in commit order, each naming the one before it."""

import os
import re
import time

import pytest

from support import compose as containers
from support.same import raw_rows

FIELD = re.compile(r'(\w+)=("[^"]*"|\S*)')


def records(stack):
    """The log's records, as dictionaries, as `cdc-applier log` shows them."""
    text = stack.compose("exec", "-T", "capture", "cdc-applier", "log").stdout
    lines = [line for line in text.splitlines() if line.startswith("offset=")]
    return [dict(FIELD.findall(line.split(" sql=")[0].split(" first=")[0])) for line in lines]


def transactions(found):
    """What a reader takes from the records: highest epoch only, unfinished chunks discarded when a new epoch starts.
    Yields (gtid, previous, kind); checks chunk numbers and predecessors."""
    epoch, chunks, previous, done = 0, 0, None, []
    for record in found:
        number = int(record["epoch"])
        if number < epoch:
            continue
        if record["kind"] == "epoch_start":
            if number > epoch:
                chunks, previous = 0, ""
            epoch = number
            continue
        assert number == epoch, f"a record of epoch {number} without its start: {record}"
        part, last = re.fullmatch(r"(\d+)(/last)?", record["chunk"]).groups()
        assert int(part) == chunks, record
        if part == "0":
            assert record["previous"] == (previous or record["previous"] if previous is None else previous), record
        chunks += 1
        if last:
            done.append((record["gtid"], record["previous"], record["kind"]))
            previous, chunks = record["gtid"], 0
    return done


def binlog_order(stack):
    """GTIDs in the master's binlog, in order."""
    found = []
    for file, *_ in stack.sql("master", "SHOW BINARY LOGS"):
        for _, _, kind, _, _, info in raw_rows(stack, "master", f"SHOW BINLOG EVENTS IN '{file}'"):
            if kind.lower().startswith(b"gtid"):
                found.append(re.search(rb"GTID_NEXT= ?'([^']+)'", info)[1].decode())
    return found


def await_log(stack):
    """Until the log has what the master has: satellites can be ahead of it, by as long as Kafka stands still."""
    newest = binlog_order(stack)[-1]

    def has_it():
        try:
            return any(record.get("gtid") == newest for record in records(stack))
        except AssertionError:
            return False  # Kafka is not there yet

    stack.wait_for(has_it, 90, f"the log to have {newest}")


def assert_log_equals_binlog(stack):
    stack.await_satellites(deadline_s=90)
    await_log(stack)
    in_log = [gtid for gtid, _, _ in transactions(records(stack))]
    in_binlog = binlog_order(stack)
    assert len(in_log) == len(set(in_log)), "a GTID is in the log twice"
    first = records(stack)[0]
    assert first["kind"] == "epoch_start"
    before = first["gtids"]
    expected = [gtid for gtid in in_binlog if not contained(stack, gtid, before)]
    # What is committed while this runs is in neither or in one.
    assert in_log[: len(expected)] == expected[: len(in_log)], first_difference(in_log, expected)
    assert abs(len(in_log) - len(expected)) < 50


def contained(stack, gtid, gtid_set):
    if not gtid_set:
        return False
    known = contained.cache.setdefault(gtid_set, {})
    if gtid not in known:
        known[gtid] = bool(stack.sql("master", "SELECT GTID_SUBSET(%s, %s)", (gtid, gtid_set))[0][0])
    return known[gtid]


contained.cache = {}


def first_difference(one, other):
    return next(((place, a, b) for place, (a, b) in enumerate(zip(one, other)) if a != b), None)


def test_holds_every_gtid_once_in_commit_order(stack, load):
    with load(stack) as writers:
        writers.await_commits(30)
    assert_log_equals_binlog(stack)


def test_holds_every_kind_of_record(stack):
    """`rows` is the normal case, and the others exist: this run has caused them."""
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.kinds (id INT PRIMARY KEY, j JSON)")
    stack.sql("master", "REPLACE INTO app.kinds VALUES (1, '{}')")
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.plain (id INT PRIMARY KEY)")
    stack.sql("master", "REPLACE INTO app.plain VALUES (1)")
    stack.await_satellites()
    kinds = {kind for _, _, kind in transactions(records(stack))}
    assert {"rows", "statement", "raw"} <= kinds, kinds


def test_a_new_epoch_is_written_at_each_start_of_capture(stack, wait_for):
    epochs = {int(record["epoch"]) for record in records(stack)}
    before = max(epochs)
    stack.kill_process("capture", "java")
    wait_for(lambda: stack.page("capture", "/ready")[0] == 200, 90, "capture to be back")
    wait_for(lambda: max(int(record["epoch"]) for record in records(stack)) > before, 60, "a higher epoch in the log")
    assert_log_equals_binlog(stack)


def test_what_capture_finds_after_a_pause_goes_without_debezium(stack, load, wait_for):
    """Five seconds behind: raw, so that it gets to the present soon; there, rows again."""

    def without():
        metrics, name = stack.metrics("capture"), "multimed_capture_raw_total"
        return metrics.total(name, reason="catching_up") if name in metrics.names() else 0  # there is none before the first

    stack.await_debezium()
    before = without()
    with load(stack) as writers:
        writers.await_commits(20)
        with stack.paused("capture", "java"):
            since = time.monotonic()
            writers.await_commits(20)
            wait_for(lambda: time.monotonic() - since > 6, 15, "what waits to be old")
    stack.await_satellites(90)
    assert without() > before
    stack.await_debezium()
    writers.assert_all_acknowledged_are_there("master", *stack.satellites)
    assert_log_equals_binlog(stack)


@pytest.mark.parametrize("service", ["capture", "applier-1", "applier-2"])
def test_its_ends_start_from_the_archive_of_classes(stack, service):
    """A JVM that finds the archive unfit, as with another class path, starts without it and a word."""
    with open(f"/proc/{containers.first_process(service)}/maps") as maps:
        assert "/opt/cdc-applier/classes.jsa" in maps.read()


@pytest.mark.whole_log
@pytest.mark.fault
@pytest.mark.parametrize("service", ["capture", "kafka", "applier-1", "master"])
def test_no_commit_is_lost_when_it_is_killed_under_load(stack, load, service):
    """kill -9 of the process; its container comes back by its policy; all catch up, without gap and without duplicate."""
    with load(stack) as writers:
        writers.await_commits(40)
        stack.kill_container(service)
        writers.await_commits(60, deadline_s=120)
    stack.await_satellites(deadline_s=180)
    writers.assert_all_acknowledged_are_there("master", *stack.satellites)
    assert_log_equals_binlog(stack)


@pytest.mark.whole_log
@pytest.mark.fault
def test_a_second_capture_beside_the_first_duplicates_nothing(stack, load):
    """Fenced by epochs: whichever of both is replaced ends or stands by; the log stays as the binlog is."""
    name = os.environ["COMPOSE_PROJECT_NAME"] + "-second-capture"
    try:
        with load(stack) as writers:
            writers.await_commits(20)
            stack.compose("run", "-d", "--no-deps", "--name", name, "capture", "capture")
            writers.await_commits(100, deadline_s=90)
    finally:
        containers.run("docker", "rm", "-f", name, check=False)
    stack.await_satellites(deadline_s=180)
    writers.assert_all_acknowledged_are_there("master", *stack.satellites)
    assert_log_equals_binlog(stack)
