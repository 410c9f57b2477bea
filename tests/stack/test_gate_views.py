"""Views that ask about the session are read on the master, whoever may answer else; all others on satellites."""

import contextlib
import json
import threading
import time

import pymysql
import pytest

from support.gate import operate
from support.stack import ADMIN
from support.wait import wait_for

NEVER = "SET @multimed_master_reads = 'never'"
ASKS = "view that may ask about the session"

DEFINITIONS = (
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
    "INSERT INTO t (v) VALUES (10), (20), (30)",
    "CREATE FUNCTION p() RETURNS INT NO SQL RETURN @p",
    "CREATE FUNCTION outer_p(a INT) RETURNS INT NO SQL RETURN p() + a",
    "CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC BEGIN DECLARE n INT DEFAULT 2; SET n = n * a; RETURN n; END",
    "CREATE FUNCTION top() RETURNS INT READS SQL DATA RETURN (SELECT MAX(v) FROM t)",
    "CREATE FUNCTION shares(a INT) RETURNS INT READS SQL DATA BEGIN DECLARE n INT; SELECT v INTO n FROM t WHERE id = a FOR SHARE; RETURN n; END",
    "CREATE VIEW pv AS SELECT * FROM t WHERE id = p()",
    "CREATE VIEW of_pv AS SELECT v FROM pv",
    "CREATE VIEW nested AS SELECT * FROM t WHERE id = outer_p(0)",
    "CREATE VIEW inserted AS SELECT LAST_INSERT_ID() AS n",
    "CREATE VIEW lock_of AS SELECT GET_LOCK('gate_views', 0) AS n",
    "CREATE VIEW released AS SELECT RELEASE_LOCK('gate_views') AS n",
    "CREATE VIEW changed AS SELECT ROW_COUNT() AS n",
    "CREATE VIEW me AS SELECT CONNECTION_ID() AS n, USER() AS u",
    "CREATE VIEW threads AS SELECT COUNT(*) AS n FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID()",
    "CREATE VIEW sharing AS SELECT id, shares(id) AS n FROM t",
    "CREATE VIEW plain AS SELECT id, v FROM t",
    "CREATE VIEW over_plain AS SELECT SUM(v) AS n, NOW() AS at FROM plain",
    "CREATE VIEW calls AS SELECT id, twice(v) AS n, top() AS m FROM t",
)


@contextlib.contextmanager
def session_of(stack, schema, never=True):
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as cursor:
        if never:
            cursor.execute(NEVER)
        yield cursor


def ask(cursor, *statements):
    for statement in statements:
        cursor.execute(statement)
    return list(cursor.fetchall())


def explained(cursor, statement):
    return dict(ask(cursor, f"EXPLAIN MULTIMED {statement}"))


def runs_on(cursor, statement):
    ask(cursor, statement)
    return ask(cursor, "SHOW MULTIMED LAST READ")[0][0]


@pytest.fixture
def views(stack, schema):
    with contextlib.closing(stack.master_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as cursor:
        for statement in DEFINITIONS:
            cursor.execute(statement)
    stack.await_satellites()
    with session_of(stack, schema) as cursor:
        wait_for(lambda: explained(cursor, "SELECT * FROM calls")["Runs_on"] in stack.satellites, 20, "the gate to have the definitions")
    return schema


@pytest.mark.parametrize("never", [True, False])
def test_a_view_that_reads_a_variable_is_never_empty(stack, views, never):
    with session_of(stack, views, never) as cursor:
        ask(cursor, "SET @p = 2")
        for view, expected in (("pv", [(2, 20)]), ("of_pv", [(20,)]), ("nested", [(2, 20)])):
            assert [ask(cursor, f"SELECT * FROM {view}") for _ in range(60)] == [expected] * 60, view


@pytest.mark.parametrize("never", [True, False])
def test_a_view_tells_of_the_session_that_reads_it(stack, views, never):
    with session_of(stack, views, never) as cursor, session_of(stack, views, never) as other:
        for _ in range(20):
            (last,), *_ = ask(cursor, "INSERT INTO t (v) VALUES (1)", "SELECT LAST_INSERT_ID()")
            assert ask(cursor, "SELECT n FROM inserted") == [(last,)]
            assert ask(cursor, "UPDATE t SET v = v + 1 WHERE v < 10", "SELECT n FROM changed")[0][0] > 0
            assert ask(cursor, "SELECT n FROM me") == ask(cursor, "SELECT CONNECTION_ID()")
            assert ask(cursor, "SELECT n FROM threads") == [(1,)]
        for _ in range(20):
            assert ask(cursor, "SELECT n FROM lock_of") == [(1,)]
            assert ask(other, "SELECT n FROM lock_of") == [(0,)]
            assert ask(cursor, "SELECT n FROM released") == [(1,)]


NOT_BUILT_IN = ("md5", "sha", "sha1")


def test_a_stored_function_with_the_name_of_a_components_is_one(stack, schema):
    """MD5, SHA and SHA1 are no functions of the server's own any more, since 9.6."""
    for name in NOT_BUILT_IN:
        stack.sql("master", f"CREATE FUNCTION `{schema}`.{name}(a INT) RETURNS INT NO SQL RETURN @p")
    stack.await_satellites()
    with session_of(stack, schema) as cursor:
        ask(cursor, "SET @p = 2")
        for name in NOT_BUILT_IN:
            assert ask(cursor, f"SELECT {name}(1)") == [(2,)], name
            assert ask(cursor, f"SELECT {name.upper()} (1)") == [(2,)], name


def test_other_views_are_read_on_satellites(stack, views):
    with session_of(stack, views, never=False) as cursor:
        for statement in ("SELECT * FROM plain", "SELECT * FROM over_plain", "SELECT * FROM calls", "SELECT v FROM t", "SELECT 1"):
            assert runs_on(cursor, statement) in stack.satellites, statement


def test_explain_names_what_asks(stack, views):
    with session_of(stack, views) as cursor:
        found = explained(cursor, "SELECT * FROM nested")
        assert found["Runs_on"] == "master" and found["Reason"] == ASKS and "Asks" in found["Advice"]
        assert found["Asks"] == f"function `{views}`.`p`: user variable"
        assert explained(cursor, "SELECT * FROM inserted")["Asks"] == f"view `{views}`.`inserted`: LAST_INSERT_ID()"
        assert explained(cursor, "SELECT * FROM sharing")["Asks"] == f"function `{views}`.`shares`: locking read"
        assert explained(cursor, "SELECT * FROM calls")["Asks"] is None


def test_the_page_says_why_such_a_view_is_the_masters_and_what_to_change(stack, views):
    with session_of(stack, views) as cursor:
        ask(cursor, f"SELECT id FROM `{views}`.nested")
    [row] = [row for row in json.loads(operate("statements")[1])["statements"] if f"{views}.nested" in row["text"]]
    [why] = row["why"]
    assert (why["reason"], why["on_master"]) == (ASKS, True) and "Asks" in why["advice"]


def test_a_read_only_transaction_reads_such_a_view_on_the_master_or_not_at_all(stack, views):
    with session_of(stack, views) as cursor:
        ask(cursor, "SET @p = 2", "START TRANSACTION READ ONLY")
        assert ask(cursor, "SELECT v FROM pv") == [(20,)]
        assert ask(cursor, "SELECT COUNT(*) FROM sharing") == [(3,)]
        ask(cursor, "COMMIT", "START TRANSACTION READ ONLY")
        assert ask(cursor, "SELECT COUNT(*) FROM plain") == [(3,)]
        for view in ("pv", "sharing"):
            with pytest.raises(pymysql.err.MySQLError, match=ASKS):
                ask(cursor, f"SELECT * FROM {view}")
        assert ask(cursor, "SELECT COUNT(*) FROM over_plain") == [(1,)]
        ask(cursor, "COMMIT")


@pytest.mark.parametrize("never", [True, False])
def test_a_view_that_is_replaced_all_the_time_never_gives_another_sessions_answer(stack, views, never):
    """Now it is plain, now it reads @p: session-dependent or not, row 2 is in it, and in every session that has set @p."""
    ended = time.monotonic() + 10
    replaced = []

    def replace():
        with contextlib.closing(stack.master_connect(user=ADMIN, database=views)) as connection, connection.cursor() as cursor:
            while time.monotonic() < ended:
                for condition in ("id = 2", "id = p()"):
                    cursor.execute(f"CREATE OR REPLACE VIEW swapped AS SELECT id FROM t WHERE {condition}")
                    replaced.append(condition)
                    time.sleep(0.05)

    stack.sql("master", f"CREATE VIEW `{views}`.swapped AS SELECT id FROM `{views}`.t WHERE id = 2")
    thread = threading.Thread(target=replace)
    thread.start()
    try:
        with session_of(stack, views, never) as cursor:
            ask(cursor, "SET @p = 2")
            seen = []
            while time.monotonic() < ended:
                seen.append(ask(cursor, "SELECT id FROM swapped"))
    finally:
        thread.join()
    assert len(replaced) > 10 and len(seen) > 100
    assert [rows for rows in seen if rows != [(2,)]] == []
