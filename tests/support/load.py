"""Writers that know what was acknowledged to them.

In: the stack, how they connect. Out: ids whose commit was acknowledged. Must never: call a commit acknowledged whose
answer did not arrive, or end silently on an error that a fault does not explain.
"""

import contextlib
import itertools
import threading

import pymysql

from .wait import wait_for

# What a client may see while a server or the gate is away: lost, refused, and the gate's own clear errors.
LOST = (pymysql.err.OperationalError, pymysql.err.InterfaceError, pymysql.err.InternalError, ConnectionError, OSError)


class Writers:
    """Threads that insert one row per transaction, half of them with a second statement, into app.writes."""

    table = "writes"
    _ids = itertools.count(1)

    def __init__(self, stack, connect, threads, pace_s=0.0):
        self.acknowledged, self.errors = set(), []
        self._stack, self._connect, self._pace_s = stack, connect, pace_s
        self._stop = threading.Event()
        stack.sql("master", f"CREATE TABLE IF NOT EXISTS app.{self.table} (id BIGINT PRIMARY KEY, twice BIGINT NOT NULL, note VARCHAR(64))")
        last = stack.sql("master", f"SELECT COALESCE(MAX(id), 0) FROM app.{self.table}")[0][0]
        self._next = itertools.count(last + 1)
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def _run(self):
        connection = None
        while not self._stop.is_set():
            try:
                connection = connection or self._connect()
                self._write(connection, next(self._next))
                self._stop.wait(self._pace_s)
            except LOST as error:
                self.errors.append(error)
                if connection is not None:
                    with contextlib.suppress(Exception):
                        connection.close()
                connection = None
                self._stop.wait(0.05)

    def _write(self, connection, number):
        with connection.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            cursor.execute(f"INSERT INTO app.{self.table} VALUES (%s, %s, 'first')", (number, number))
            if number % 2:
                cursor.execute(f"UPDATE app.{self.table} SET twice = 2 * id, note = 'second' WHERE id = %s", (number,))
            cursor.execute("COMMIT")
        self.acknowledged.add(number)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=70)
        assert not any(thread.is_alive() for thread in self._threads), "a writer hangs"

    def await_commits(self, count, deadline_s=60):
        goal = len(self.acknowledged) + count
        wait_for(lambda: len(self.acknowledged) >= goal, deadline_s, f"{count} more commits; errors: {self.errors[-3:]}")

    def assert_all_acknowledged_are_there(self, *services):
        """No acknowledged commit is lost, on any of these servers; and none is there in part."""
        self._stack.await_satellites()
        for service in services:
            rows = self._stack.sql(service, f"SELECT id, twice, note FROM app.{self.table}")
            missing = self.acknowledged - {row[0] for row in rows}
            assert not missing, f"{len(missing)} acknowledged commits are not on {service}: {sorted(missing)[:5]}"
            torn = [row for row in rows if (row[1:] != (2 * row[0], "second") if row[0] % 2 else row[1:] != (row[0], "first"))]
            assert not torn, f"transactions in part on {service}: {torn[:5]}"
