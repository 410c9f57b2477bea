"""Bounds in bytes of what the master's disk keeps beside its data: binlogs, and the log in Kafka."""

import os

import pytest

from support import compose as containers
from support import log

pytestmark = pytest.mark.fault
MIB = 1 << 20


def write(stack, count, size):
    """Transactions that take so much room in the binlog and, since nothing can compress them, in the log; the table does not grow."""
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.retention (id INT PRIMARY KEY, b LONGBLOB)")
    for _ in range(count):
        stack.sql("master", "REPLACE INTO app.retention VALUES (1, _binary %s)", (os.urandom(size),))


def binlogs(stack):
    return {row[0]: row[1] for row in stack.sql("master", "SHOW BINARY LOGS")}


def fill_files(stack):
    """Four files of a MiB each; returns the names of those that were there before them, and theirs."""
    before = set(binlogs(stack))
    for _ in range(4):
        write(stack, 1, MIB)
        stack.sql("master", "FLUSH BINARY LOGS")
    return before, set(binlogs(stack)) - before


def incarnations(stack):
    return {service: stack.incarnation(service) for service in stack.satellites}


@pytest.fixture
def bounded(stack):
    stack.recreate("master", BINLOG_RETENTION_SIZE="3m")
    stack.await_satellites(120)
    yield
    stack.recreate("master")
    stack.await_satellites(180)


def test_binlogs_are_bounded_in_bytes_and_satellites_hear_nothing_of_it(stack, bounded):
    before = incarnations(stack)
    old, _ = fill_files(stack)
    stack.wait_for(lambda: old.isdisjoint(found := binlogs(stack)) and sum(found.values()) <= 3 * MIB, 60, "the old binlogs to be purged")
    assert "event=binlogs-purged" in stack.logs("master")
    stack.await_satellites(60)
    assert incarnations(stack) == before, "what was purged was in the log"


@pytest.mark.timeout(600)
def test_a_capture_that_stays_away_does_not_fill_the_masters_disk(stack, bounded):
    before = incarnations(stack)
    stack.compose("stop", "-t", "10", "capture")
    try:
        _, unread = fill_files(stack)
        # Its patience is a minute.
        stack.wait_for(lambda: not unread <= set(binlogs(stack)), 240, "binlogs that capture has not read to be purged")
        assert "capture=away" in stack.logs("master")
    finally:
        stack.compose("start", "capture")
    stack.wait_for(lambda: all(stack.incarnation(s) != before[s] for s in stack.satellites), 240, "the satellites to clone again")
    stack.await_satellites(120)


@pytest.mark.timeout(600)
def test_the_log_is_bounded_in_bytes_and_capture_finds_its_place_in_the_rest(stack):
    """Fewer transactions than those after which capture repeats its epoch's start; what it wrote first is deleted."""
    stack.recreate("capture", LOG_RETENTION_SIZE="256m")
    try:
        stack.await_satellites(90)
        before = incarnations(stack)
        write(stack, 150, 3 * MIB)

        def size():
            return int(containers.execute("kafka", "du", "-sk", "/var/lib/kafka/data/multimed.log-0").stdout.split()[0]) << 10

        assert size() > 256 * MIB
        # One segment more, and the index files; Kafka looks every 10 s and deletes files a minute later.
        stack.wait_for(lambda: size() < (256 + 128 + 24) * MIB, 150, "the log's old segments to be deleted")
        log.restart_capture(stack)
        stack.sql("master", "DELETE FROM app.retention")
        stack.await_satellites(90)
        assert incarnations(stack) == before, "the log went on"
    finally:
        stack.recreate("capture")
        stack.await_satellites(120)
