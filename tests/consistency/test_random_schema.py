"""Whatever is defined and changed at random while satellites are late: a strong read answers what the master answers at that moment.

The catalog of who reads what (views, foreign keys, names that come back) is what a read's tables rest on; nobody writes while the two
are compared.
"""

import contextlib
import os
import random

import mysql.connector
import pymysql
import pytest

from support.stack import ADMIN
from support.wait import wait_for

from consistency_faults import APPLIERS, table_reads
from schema_steps import SCHEMAS, Steps, There

# On the stack whose cascades run inside InnoDB.
pytestmark = [pytest.mark.fault, pytest.mark.whole_log]
ROUNDS = int(os.environ.get("SCHEMA_ROUNDS", "8"))
DEFINITIONS, CHANGES, QUESTIONS = 5, 7, 3
# Of tables that no step touches.
QUIET = "random_quiet"
ERRORS = (pymysql.err.MySQLError, mysql.connector.Error)


class Reader:
    """One session; text and prepared statements."""

    def __init__(self, connect, close):
        self.text = close.enter_context(contextlib.closing(connect(user=ADMIN, database=SCHEMAS[0]))).cursor()
        connection = close.enter_context(contextlib.closing(connect(user=ADMIN, database=SCHEMAS[0], client="connector")))
        self.prepared = connection.cursor(prepared=True)

    def answers(self, question, prepared):
        """Of each query, rows in any order, or the error's number; up to the first error."""
        if question.in_transaction:
            self.text.execute(question.opening)
            try:
                return [answer(self.text, query) for query in question.queries]
            finally:
                self.text.execute("COMMIT")
        return [answer(self.prepared if prepared else self.text, query) for query in question.queries]


def answer(cursor, query):
    try:
        cursor.execute(query)
        return sorted(map(repr, cursor.fetchall()))
    except ERRORS as error:
        return error.args[0]


class Round:
    """What happens to master and satellites, and the comparison after each step."""

    def __init__(self, stack, choose, close):
        self.stack, self.choose, self.steps = stack, choose, Steps(choose)
        self.master = Reader(stack.master_connect, close)
        self.readers = [Reader(stack.gate_connect, close) for _ in range(2)]
        self.writer = close.enter_context(contextlib.closing(stack.admin_connect("master", database=SCHEMAS[0]))).cursor()
        self.done, self.compared, self.errors = [], 0, 0

    def there(self):
        self.writer.execute(
            "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), TABLE_TYPE = 'VIEW' FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA IN (%s, %s) ORDER BY 1",
            SCHEMAS,
        )
        found = self.writer.fetchall()
        return There(tuple(name for name, view in found if not view), tuple(name for name, view in found if view))

    def step(self, make):
        for statement in make(self.there()):
            outcome = ""
            try:
                self.writer.execute(statement)
            except pymysql.err.MySQLError as error:
                outcome = f"  -- error {error.args[0]}"
                self.errors += 1
            self.done.append(statement + outcome)
        self.compare()

    def compare(self):
        there = self.there()
        for _ in range(QUESTIONS):
            question, prepared = self.steps.question(there), self.choose.random() < 0.3
            got = self.choose.choice(self.readers).answers(question, prepared)
            expected = self.master.answers(question, prepared)
            self.compared += 1
            told = "\n".join(self.done[-60:])
            assert got == expected, f"{question}, prepared {prepared}: the gate answers {got}, the master {expected}, after\n{told}"

    def late(self):
        """Changes, and at times a definition, that satellites do not get to see."""
        for _ in range(CHANGES):
            self.step(self.steps.definition if self.choose.random() < 0.1 else self.steps.changes)


@pytest.mark.timeout(60 + 60 * ROUNDS)
def test_whatever_is_defined_a_strong_read_answers_what_the_master_answers(stack, capsys):
    seed = int(os.environ.get("SCHEMA_SEED") or 2011)
    # An earlier run's foreign keys go from one schema to the other.
    with contextlib.closing(stack.admin_connect("master")) as connection, connection.cursor() as cursor:
        cursor.execute("SET foreign_key_checks = 0")
        for schema in (*SCHEMAS, QUIET):
            cursor.execute(f"DROP DATABASE IF EXISTS `{schema}`")
            cursor.execute(f"CREATE DATABASE `{schema}`")
    for table in ("quiet", "busy"):
        stack.sql("master", f"CREATE TABLE {QUIET}.{table} (id INT PRIMARY KEY)")
        stack.sql("master", f"INSERT INTO {QUIET}.{table} VALUES (1)")
    stack.await_satellites()
    before = table_reads(stack)
    with contextlib.ExitStack() as close:
        everything = Round(stack, random.Random(seed), close)
        for number in range(ROUNDS):
            with appliers_paused(stack) if number % 2 == 1 else contextlib.nullcontext():
                for _ in range(DEFINITIONS):
                    everything.step(everything.steps.definition)
            stack.await_satellites()
            with appliers_paused(stack):
                await_catalog(stack, everything.readers[0].text)
                everything.late()
            # While they catch up.
            everything.step(everything.steps.changes)
    by_tables = int(table_reads(stack) - before)
    with capsys.disabled():
        print(
            f"\nseed {seed}: {len(everything.done)} statements, {everything.errors} of them errors, {everything.compared} comparisons, "
            f"{by_tables} reads by tables"
        )
    assert everything.errors < len(everything.done) / 2
    assert by_tables >= 5 * ROUNDS, "the answers did not come from satellites that lack other writes"


@contextlib.contextmanager
def appliers_paused(stack):
    with contextlib.ExitStack() as stopped:
        for applier in APPLIERS:
            stopped.enter_context(stack.paused(applier, "java"))
        yield


def await_catalog(stack, cursor):
    """Until the gate goes by the newest definitions: with satellites late, it answers a read of a table that nobody writes."""
    before = table_reads(stack)
    stack.sql("master", f"UPDATE {QUIET}.busy SET id = id + 1")

    def answered():
        cursor.execute(f"SELECT * FROM {QUIET}.quiet")
        cursor.fetchall()
        return table_reads(stack) > before

    wait_for(answered, 30, "the gate to know who wrote what")
