"""Freshness by table: a strong read waits for the writers of its tables alone, as capture's table stream tells them."""

import contextlib

import pymysql
import pytest

from support.stack import ADMIN
from support.wait import wait_for

WAIT = "/* multimed: after_wait=error wait_ms=3000 */"


@pytest.fixture
def quiet(stack, schema):
    """A table that satellites have, and one more; then the satellites stand still, and the other table is written."""
    stack.sql("master", f"CREATE TABLE `{schema}`.quiet (id INT PRIMARY KEY, v INT)")
    stack.sql("master", f"CREATE TABLE `{schema}`.busy (id INT PRIMARY KEY, v INT)")
    stack.sql("master", f"INSERT INTO `{schema}`.quiet VALUES (1, 1)")
    stack.sql("master", f"INSERT INTO `{schema}`.busy VALUES (1, 1)")
    stack.await_satellites()
    return f"`{schema}`.quiet", f"`{schema}`.busy"


@contextlib.contextmanager
def appliers_paused(stack):
    with contextlib.ExitStack() as all_paused:
        for applier in ("applier-1", "applier-2"):
            all_paused.enter_context(stack.paused(applier, "java"))
        yield


@pytest.fixture
def session(stack, schema):
    """Through the gate, in that schema."""
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as opened:
        yield opened


def table_reads(stack):
    return stack.metrics().total("gtid_gate_table_reads_total")


def read(cursor, sql):
    cursor.execute(f"{sql} {WAIT}")
    return list(cursor.fetchall())


def await_catalog(stack, cursor, quiet):
    """Until a read of a quiet table is answered on the strength of its tables, while satellites stand still."""

    def answered():
        before = table_reads(stack)
        with contextlib.suppress(pymysql.err.MySQLError):
            cursor.execute(f"SELECT 1 FROM {quiet} /* multimed: after_wait=error wait_ms=50 */")
            cursor.fetchall()
        return table_reads(stack) > before

    wait_for(answered, 20, "the gate to know who wrote what")


def test_a_read_of_quiet_tables_does_not_wait_for_writes_of_others(stack, session, quiet):
    quiet, busy = quiet
    with appliers_paused(stack):
        stack.sql("master", f"UPDATE {busy} SET v = 2")
        await_catalog(stack, session, quiet)
        assert read(session, f"SELECT v FROM {quiet}") == [(1,)]
        with pytest.raises(pymysql.err.MySQLError, match="no satellite"):
            read(session, f"SELECT v FROM {busy}")
        with pytest.raises(pymysql.err.MySQLError, match="no satellite"):
            read(session, f"SELECT q.v FROM {quiet} q JOIN {busy} b USING (id)")
    assert read(session, f"SELECT v FROM {busy}") == [(2,)]
