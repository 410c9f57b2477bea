"""The load under which faults happen: transactions whose acknowledgement is remembered.

In: the running stack, how to connect. Out: ids whose commit was acknowledged; a pause in which nothing is written. Must never: call a
commit acknowledged whose answer did not arrive.
"""

import contextlib
import itertools
import threading

from support.load import Writers
from support.wait import wait_for

# Milliseconds between two transactions of one writer: the faults are to be seen, not the machine's limits.
PACE_S = 0.02
COUNTERS = 50


class ChaosLoad(Writers):
    """Inserts of rows (Debezium), JSON and text without a key (raw) in one transaction each; odd ids with an update behind them."""

    table = "chaos"

    def __init__(self, stack, connect=None, threads=3, updates=True):
        for statement in (
            "CREATE TABLE IF NOT EXISTS app.chaos_counters (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(64))",
            "CREATE TABLE IF NOT EXISTS app.chaos_documents (id BIGINT, d JSON)",
            "INSERT IGNORE INTO app.chaos_counters WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < "
            f"{COUNTERS}) SELECT i, 0, '' FROM s",
        ):
            stack.sql("master", statement)
        super().__init__(stack, connect or stack.gate_connect, threads)
        self._updates = updates
        self._going = threading.Event()
        self._going.set()
        self._busy = threading.Semaphore(threads)
        self._count = threads
        # The program that looks meanwhile, if there is one (consistency_run.py).
        self.checker = None

    def _write(self, connection, number):
        # Even ids are not updated again.
        number = number if self._updates else 2 * number
        self._going.wait()
        with self._busy, connection.cursor() as cursor:
            self._transaction(cursor, number)
        self.acknowledged.add(number)
        self._stop.wait(PACE_S)

    def _transaction(self, cursor, number):
        cursor.execute("START TRANSACTION")
        cursor.execute(f"INSERT INTO app.{self.table} VALUES (%s, %s, 'first')", (number, number))
        if number % 2:
            cursor.execute(f"UPDATE app.{self.table} SET twice = 2 * id, note = 'second' WHERE id = %s", (number,))
        if self._updates and number % 3 == 0:
            cursor.execute("UPDATE app.chaos_counters SET n = n + 1, note = %s WHERE id = %s", (f"by {number}", number % COUNTERS + 1))
        if self._updates and number % 7 == 0:
            cursor.execute(
                "INSERT INTO app.chaos_documents VALUES (%s, JSON_OBJECT('n', %s, 'list', JSON_ARRAY(1, 2.5, NULL)))", (number, number)
            )
        cursor.execute("COMMIT")

    @contextlib.contextmanager
    def paused(self):
        """No transaction is open in here; the checker does not write either."""
        self._going.clear()
        for _ in range(self._count):
            assert self._busy.acquire(timeout=90), "a writer hangs"
        try:
            with self.checker.paused() if self.checker else contextlib.nullcontext():
                yield
        finally:
            for _ in range(self._count):
                self._busy.release()
            self._going.set()

    def forget(self):
        """While paused: the table is emptied, so that a long run does not get slower."""
        self._stack.sql("master", f"TRUNCATE app.{self.table}")
        self._stack.sql("master", "TRUNCATE app.chaos_documents")
        self.acknowledged.clear()

    def forget_lost(self):
        """While paused: the master has gone back. What it does not have is expected no more, and nobody may read it; returns how many."""
        there = {row[0] for row in self._stack.sql("master", f"SELECT id FROM app.{self.table}")}
        lost = self.acknowledged - there
        self.acknowledged -= lost
        if self.checker:
            self.checker.lost()
        return len(lost)

    def missing(self, service):
        """Acknowledged ids that the server does not have, and ids of transactions that it has in part."""
        rows = self._stack.sql(service, f"SELECT id, twice, note FROM app.{self.table}")
        torn = {row[0] for row in rows if row[1:] != ((2 * row[0], "second") if row[0] % 2 else (row[0], "first"))}
        return sorted(self.acknowledged - {row[0] for row in rows}), sorted(torn)

    def __exit__(self, *exception):
        self._going.set()
        super().__exit__(*exception)


def counter(stack):
    """A row that the load updates all the time."""
    return next(itertools.chain(*stack.sql("master", "SELECT id FROM app.chaos_counters ORDER BY n DESC LIMIT 1")))


def await_one_commit(load, deadline_s):
    goal = len(load.acknowledged) + 1
    wait_for(lambda: len(load.acknowledged) >= goal, deadline_s, f"a commit; errors: {load.errors[-2:]}")
