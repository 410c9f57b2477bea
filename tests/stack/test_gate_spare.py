"""Reads that the master answers sooner than satellites, from what it has to spare (GATE_MASTER_READS)."""

import concurrent.futures
import contextlib
import time

import pymysql
import pytest

from support.stack import ADMIN
from support.wait import wait_for


@pytest.fixture
def own(stack, schema):
    """A table of one row, which satellites have."""
    stack.sql("master", f"CREATE TABLE `{schema}`.own (id INT PRIMARY KEY, v INT)")
    stack.sql("master", f"INSERT INTO `{schema}`.own VALUES (1, 0)")
    stack.await_satellites()
    return schema


@contextlib.contextmanager
def session(stack, schema, master_reads, level):
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET @multimed_master_reads = '{master_reads}', @multimed_consistency = '{level}', @multimed_wait_ms = 5000")
        yield cursor


def reads_on_master(stack):
    return stack.metrics().total("gtid_gate_spare_reads_total")


READ = "SELECT v FROM own WHERE id = 1"


def write_and_read(cursor, value, read=READ):
    cursor.execute(f"UPDATE own SET v = {value} WHERE id = 1")
    cursor.execute(read)
    assert [row[0] for row in cursor.fetchall()] == [value]


@contextlib.contextmanager
def late_satellites(stack):
    with contextlib.ExitStack() as all_paused:
        for applier in ("applier-1", "applier-2"):
            all_paused.enter_context(stack.paused(applier, "java"))
        yield


def learn(stack, cursor, read=READ):
    """Reads of this shape until the gate knows what they take, and what the master's answers usually take."""
    values = iter(range(1, 1_000_000))

    def answered_by_master():
        before = reads_on_master(stack)
        for _ in range(20):
            write_and_read(cursor, next(values), read)
        return reads_on_master(stack) > before

    wait_for(answered_by_master, 60, "the master to answer a read from what it has to spare")


@pytest.mark.parametrize("level", ["strong", "session"])
def test_what_a_session_has_just_written_it_reads_on_the_master(stack, own, level):
    with session(stack, own, "spare", level) as cursor:
        learn(stack, cursor)
        with late_satellites(stack):
            write_and_read(cursor, 1_000_001)


@pytest.mark.parametrize("master_reads", ["fallback", "never"])
def test_who_says_so_leaves_the_master_alone(stack, own, master_reads):
    with session(stack, own, "spare", "strong") as cursor:
        learn(stack, cursor)
    before = reads_on_master(stack)
    with session(stack, own, master_reads, "strong") as cursor:
        for value in range(20):
            write_and_read(cursor, value)
        assert reads_on_master(stack) == before
        cursor.execute("SET @multimed_wait_ms = 50")
        with late_satellites(stack):
            cursor.execute("UPDATE own SET v = 50 WHERE id = 1")
            if master_reads == "never":
                with pytest.raises(pymysql.err.MySQLError, match="no satellite"):
                    cursor.execute("SELECT v FROM own")
            else:
                cursor.execute("SELECT v FROM own")
                assert list(cursor.fetchall()) == [(50,)]


def test_a_read_that_takes_long_is_not_for_the_master(stack, own):
    with session(stack, own, "spare", "strong") as cursor:
        learn(stack, cursor)
        before = reads_on_master(stack)
        for value in range(10):
            cursor.execute(f"UPDATE own SET v = {value} WHERE id = 1")
            cursor.execute("SELECT v, SLEEP(0.05) FROM own WHERE id = 1")
            assert list(cursor.fetchall()) == [(value, 0)]
        # The first of its shape may have been tried there.
        assert reads_on_master(stack) <= before + 1


def test_a_master_that_was_slow_once_is_tried_again(stack, own):
    """What it takes there is not known for ever: a read that had to wait for a lock has passed."""
    read = "SELECT v, 'slow once' FROM own WHERE id = 1"
    with session(stack, own, "fallback", "strong") as cursor, concurrent.futures.ThreadPoolExecutor(1) as beside:
        cursor.execute("SET @multimed_wait_ms = 50")
        with late_satellites(stack):
            cursor.execute("UPDATE own SET v = 5 WHERE id = 1")
            stack.sql("master", f"LOCK TABLES `{own}`.own WRITE")
            answer = beside.submit(cursor.execute, read)
            waits = f"SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%slow once%' AND state LIKE 'Waiting%' AND db = '{own}'"
            wait_for(lambda: stack.sql("master", waits)[0][0], 20, "the read to wait for the lock on the master")
            since = time.monotonic()
            # Longer than any read that the master answers from what it has to spare.
            wait_for(lambda: time.monotonic() - since > 0.03, 1, "30 ms")
            stack.sql("master", "UNLOCK TABLES")
            answer.result(20)
    with session(stack, own, "spare", "strong") as cursor:
        learn(stack, cursor, read)


def test_what_is_no_choice_is_refused(cursor):
    with pytest.raises(pymysql.err.MySQLError, match="spare, fallback or never"):
        cursor.execute("SET @multimed_master_reads = 'sometimes'")
    with pytest.raises(pymysql.err.MySQLError, match="spare, fallback or never"):
        cursor.execute("SELECT 1 /* multimed: master_reads=no */")
