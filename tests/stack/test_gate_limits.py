"""What a server gets at most: statements at a time, in the order of their arrival, and connections, shared once there are no more."""

import contextlib
import threading
import time

import pymysql
import pytest

from support import compose as containers
from support.gate import operate as gate
from support.stack import USER

SESSIONS = 12


@pytest.fixture
def limit(stack):
    """limit(server, running=…, connections=…): until the end of the test."""

    def set_limits(name, **limits):
        gate("limit", name, *(f"{what}={number}" for what, number in limits.items()))

    yield set_limits
    for server in ("master", *stack.satellites):
        gate("limit", server, "running=default", "connections=default")


@pytest.fixture
def sessions(stack, table):
    """sessions(count, **options): that many connections through the gate, one cursor each."""
    with contextlib.ExitStack() as opened:

        def connect(count, prepared=False, **options):
            connections = [opened.enter_context(contextlib.closing(stack.gate_connect(**options))) for _ in range(count)]
            return [c.cursor(prepared=True) if prepared else c.cursor() for c in connections]

        yield connect


def ask(cursor, *statements):
    for statement in statements:
        cursor.execute(statement)
    return list(cursor.fetchall())


def at_once(cursors, action):
    """Runs action(cursor) in a thread each; the errors, by cursor."""
    errors = {}

    def one(cursor):
        try:
            action(cursor)
        except Exception as error:  # a thread's error must reach the test
            errors[cursor] = error

    threads = [threading.Thread(target=one, args=(c,)) for c in cursors]
    for thread in threads:
        thread.start()
    return threads, errors


@contextlib.contextmanager
def keep_busy(stack, cursors, killer):
    """Until the end of the block each of these sessions runs one statement on a satellite, or waits for its turn there; then SLEEP is killed.
    Eventual: for a satellite that lags just now, the master would have to answer."""
    threads, errors = at_once(cursors, lambda c: ask(c, "SELECT /* multimed: consistency=eventual */ SLEEP(300), COUNT(*) FROM items"))
    try:
        stack.wait_for(lambda: all(stack.server(name)["load"] == 1 for name in stack.satellites), 10, "all satellites are busy")
        yield
    finally:
        for cursor in cursors:
            ask(killer, f"KILL QUERY {cursor.connection.thread_id()}")
        left(threads)
    # A SLEEP() that is killed is 1, and no error.
    assert not errors


def queued(stack):
    return sum(server["queued"] for server in stack.servers())


def processes(stack, server, where="TRUE"):
    """Connections of the application's user there."""
    return stack.sql(server, f"SELECT COUNT(*) FROM performance_schema.processlist WHERE USER = '{USER}' AND {where}")[0][0]


def left(threads):
    for thread in threads:
        thread.join()


def test_no_more_statements_run_at_a_time_than_the_limit(stack, sessions, limit):
    for name in stack.satellites:
        limit(name, running=2)
    threads, errors = at_once(sessions(SESSIONS), lambda c: ask(c, "SELECT SLEEP(0.4), COUNT(*) FROM items"))
    most, waited = 0, 0
    while any(t.is_alive() for t in threads):
        # One whose answer has been sent shows its statement for a moment longer.
        most = max(most, *(processes(stack, name, "INFO LIKE 'SELECT SLEEP%' AND STATE = 'User sleep'") for name in stack.satellites))
        waited = max(waited, queued(stack))
    assert not errors
    assert most == 2 and waited > 0
    assert all(s["load"] == s["queued"] == 0 for s in stack.servers() if s["role"] == "satellite")


def test_a_raised_limit_lets_those_that_wait_run(stack, sessions, limit):
    for name in stack.satellites:
        limit(name, running=1)
    *waiting, killer = sessions(7)
    with keep_busy(stack, waiting, killer):
        stack.wait_for(lambda: queued(stack) == 4, 10, "four wait")
        for name in stack.satellites:
            limit(name, running=10)
        stack.wait_for(lambda: queued(stack) == 0, 10, "nobody waits")
        stack.wait_for(lambda: sum(stack.server(name)["load"] for name in stack.satellites) == 6, 10, "all run")


def test_a_number_fixes_the_limit_until_it_is_to_be_found_again(stack, limit):
    name = stack.satellites[0]

    def shown():
        limits = stack.server(name)["limits"]
        return limits["running"], limits["auto"]

    limit(name, running="auto")
    running, found = shown()
    assert found and 2 <= running <= 64
    limit(name, running=7)
    assert shown() == (7, False)


def test_overload_is_a_clear_error_and_nobody_elses_trouble(stack, sessions, limit):
    """Those in the queue are refused when their time is up; those that run go on; then all is as before."""
    for name in stack.satellites:
        limit(name, running=1)
    *slow, waiting, killer = sessions(4)
    master = stack.server("master")["reads"]
    refused = r"satellite-. is overloaded: not this statement's turn within 5000 ms \(1 run at a time"
    with keep_busy(stack, slow, killer):
        with pytest.raises(pymysql.err.MySQLError, match=refused):
            ask(waiting, "SELECT /* multimed: consistency=eventual */ COUNT(*) FROM items")
        assert stack.server("master")["reads"] == master, "overload is not passed on to the master"
    for cursor in (*slow, waiting):
        assert ask(cursor, "SELECT COUNT(*) FROM items") == [(1000,)]


def test_a_client_that_does_not_take_its_answer_does_not_keep_its_turn(stack, sessions, limit):
    for name in stack.satellites:
        limit(name, running=1)
    lazy = [stack.gate_connect(cursorclass=pymysql.cursors.SSCursor) for _ in range(4)]
    with contextlib.ExitStack() as closing:
        for connection in lazy:
            closing.enter_context(contextlib.closing(connection))
            # 200 MB, of which nothing is taken beyond the first rows.
            connection.cursor().execute("SELECT REPEAT('x', 200000) FROM items")
        for cursor in sessions(4):
            assert ask(cursor, "SELECT COUNT(*) FROM items") == [(1000,)]
        for connection in lazy:
            connection._force_close()


def test_on_the_master_who_holds_a_lock_is_never_kept_waiting(stack, sessions, limit):
    """The only turn is taken by a statement that waits for a lock of somebody else: that one must get on, and end it."""
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.turns (id INT PRIMARY KEY, n INT)")
    stack.sql("master", "REPLACE INTO app.turns VALUES (1, 0)")
    limit("master", running=1)
    holder, *others = sessions(4)
    ask(holder, "BEGIN", "UPDATE turns SET n = n + 1 WHERE id = 1")
    threads, errors = at_once(others, lambda c: ask(c, "UPDATE turns SET n = n + 1 WHERE id = 1"))
    stack.wait_for(lambda: stack.server("master")["queued"] == 2, 10, "one runs, two wait for their turn")
    ask(holder, "UPDATE turns SET n = n + 1 WHERE id = 1", "COMMIT")
    left(threads)
    assert not errors
    assert stack.sql("master", "SELECT n FROM app.turns") == [(5,)]


def test_kill_query_reaches_a_statement_that_waits_for_its_turn(stack, sessions, limit):
    for name in stack.satellites:
        limit(name, running=1)
    *busy, waiting, killer = sessions(4)
    with keep_busy(stack, busy, killer):
        caught, errors = at_once([waiting], lambda c: ask(c, "SELECT /* multimed: consistency=eventual */ COUNT(*) FROM items"))
        stack.wait_for(lambda: queued(stack) == 1, 10, "one waits")
        ask(killer, f"KILL QUERY {waiting.connection.thread_id()}")
        left(caught)
        assert [error.args[0] for error in errors.values()] == [1317]
    assert ask(waiting, "SELECT 1") == [(1,)], "only the statement was killed"


def test_sessions_share_the_masters_connections_and_keep_what_is_theirs(stack, sessions, limit):
    """Settings, database, the last insert id, isolation, autocommit: all as on connections of their own."""
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.ids (id INT AUTO_INCREMENT PRIMARY KEY, who INT)")
    cursors = sessions(SESSIONS)
    for number, cursor in enumerate(cursors):
        ask(cursor, f"SET SESSION lock_wait_timeout = {1000 + number}", f"SET NAMES {'utf8mb4' if number % 2 else 'latin1'}")
        ask(cursor, f"SET SESSION TRANSACTION ISOLATION LEVEL {'READ COMMITTED' if number % 3 else 'REPEATABLE READ'}")
        ask(cursor, f"SET autocommit = {int(number % 4 != 0)}")
    limit("master", connections=3)
    stack.wait_for(lambda: processes(stack, "master") <= 3, 10, "idle sessions to give their connections back")
    mine = {}
    for turn in range(3):
        for number, cursor in enumerate(cursors):
            ask(cursor, f"INSERT INTO ids (who) VALUES ({number})")
            mine[number] = cursor.lastrowid
            ask(cursor, "COMMIT")
            assert processes(stack, "master") <= 3
        for number, cursor in enumerate(cursors):
            expected = (
                mine[number],
                1000 + number,
                "latin1" if number % 2 == 0 else "utf8mb4",
                "REPEATABLE-READ" if number % 3 == 0 else "READ-COMMITTED",
                int(number % 4 != 0),
                "app",
            )
            assert ask(
                cursor,
                "SELECT LAST_INSERT_ID(), @@lock_wait_timeout, @@character_set_client, @@transaction_isolation, @@autocommit, DATABASE()",
            ) == [expected], (turn, number)
            ask(cursor, "ROLLBACK")
    stack.sql("master", "DROP TABLE app.ids")


def test_what_lives_on_a_connection_keeps_it(stack, sessions, limit):
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.kept (id INT PRIMARY KEY, n INT)")
    stack.sql("master", "REPLACE INTO app.kept VALUES (1, 0), (2, 0)")
    limit("master", connections=5)
    transaction, variable, temporary, locked, *others = sessions(9)
    ask(transaction, "BEGIN", "UPDATE kept SET n = 7 WHERE id = 1")
    ask(variable, "SET @mine = 42")
    ask(temporary, "CREATE TEMPORARY TABLE here (a INT)", "INSERT INTO here VALUES (9)")
    ask(locked, "SELECT GET_LOCK('kept', 5)")
    for number, cursor in enumerate(others * 3):
        ask(cursor, f"UPDATE kept SET n = {number} WHERE id = 2")
        assert ask(cursor, "SELECT @mine, IS_FREE_LOCK('kept')") == [(None, 0)]
        assert processes(stack, "master") <= 5
    assert ask(transaction, "SELECT n FROM kept WHERE id = 1") == [(7,)]
    ask(transaction, "ROLLBACK")
    assert ask(variable, "SELECT @mine") == [(42,)]
    assert ask(temporary, "SELECT a FROM here") == [(9,)]
    assert ask(locked, "SELECT RELEASE_LOCK('kept')") == [(1,)]


def test_with_all_connections_bound_more_are_refused_clearly(stack, sessions, limit):
    cursors = sessions(4)
    for cursor in cursors[:2]:
        ask(cursor, "SET @bound = 1")
    limit("master", connections=2)
    stack.wait_for(lambda: processes(stack, "master") == 2, 10, "idle sessions to give their connections back")
    with pytest.raises(pymysql.err.MySQLError, match="master is overloaded: all of its 2 connections are in use"):
        ask(cursors[2], "DELETE FROM items WHERE id < 0")
    assert ask(cursors[2], "SELECT COUNT(*) FROM items") == [(1000,)], "reads do not need the master"
    assert ask(cursors[0], "SELECT @bound") == [(1,)]
    ask(cursors[0], "SELECT 1")
    cursors[0].connection._force_close()
    ask(cursors[3], "DELETE FROM items WHERE id < 0")


def test_nobody_waits_for_a_connection_while_its_owner_waits_for_a_turn(stack, sessions, limit):
    """One connection, one turn on each satellite. Who has the turn but no connection must not hold up who has the connection."""
    *owners, third = sessions(3)
    for name in stack.satellites:
        limit(name, running=1, connections=1)
    for owner in owners:
        ask(owner, "START TRANSACTION READ ONLY", "SELECT COUNT(*) FROM items")
    threads, errors = at_once([third], lambda c: ask(c, "SELECT COUNT(*) FROM items"))
    stack.wait_for(lambda: sum(stack.server(name)["load"] for name in stack.satellites) == 1, 10, "the third to wait for a connection")
    since = time.monotonic()
    for owner in owners:
        assert ask(owner, "SELECT COUNT(*) FROM items") == [(1000,)]
    assert time.monotonic() - since < 4.5
    for owner in owners:
        ask(owner, "COMMIT")
    left(threads)
    assert not errors


def test_who_asks_about_the_statement_before_is_told_if_its_connection_is_gone(stack, sessions, limit):
    cursors = sessions(4)
    limit("master", connections=2)
    stack.wait_for(lambda: processes(stack, "master") <= 2, 10, "idle sessions to give their connections back")
    first = cursors[0]
    ask(first, "DELETE FROM items WHERE id < 0")
    with pytest.raises(pymysql.err.MySQLError, match="handed over"):
        ask(first, "SELECT ROW_COUNT()")
    ask(first, "DELETE FROM items WHERE id < 0")
    for other in cursors[1:]:
        ask(other, "DELETE FROM items WHERE id < 0")
    assert ask(first, "SELECT ROW_COUNT()") == [(0,)], "from then on it keeps its own"


def test_warnings_keep_the_connection_until_somebody_needs_it(stack, sessions, limit):
    first, *others = sessions(4)
    for name in stack.satellites:
        limit(name, connections=1)
    for _ in range(2):
        ask(first, "SELECT 1 / 0 FROM items LIMIT 1")
        assert [row[1] for row in ask(first, "SHOW WARNINGS")] == [1365]


def test_warnings_that_are_gone_are_an_error_not_an_empty_list(stack, sessions, limit):
    first, *others = sessions(4)
    for name in stack.satellites:
        limit(name, connections=1)
    ask(first, "SELECT 1 / 0 FROM items LIMIT 1")
    transaction = ("START TRANSACTION READ ONLY", "SELECT SLEEP(1), COUNT(*) FROM items", "COMMIT")
    threads, errors = at_once(others, lambda c: ask(c, *transaction))
    left(threads)
    assert not errors, "a transaction got the connection that had warnings"
    with pytest.raises(pymysql.err.MySQLError, match="handed over"):
        ask(first, "SHOW WARNINGS")


@pytest.mark.parametrize("prepared", [False, True])
def test_readers_share_the_satellites_connections(stack, sessions, limit, prepared):
    cursors = sessions(SESSIONS, client="connector", prepared=prepared) if prepared else sessions(SESSIONS)
    for name in stack.satellites:
        limit(name, connections=2)
    over, wrong, most = threading.Event(), [], [0]

    def read(cursor):
        number = cursors.index(cursor)
        while not over.is_set():
            for key in (number + 1, number + 501):
                if prepared:
                    cursor.execute("SELECT id, n FROM items WHERE id = %s", (key,))
                else:
                    cursor.execute(f"SELECT id, n FROM items WHERE id = {key}")
                if list(cursor.fetchall()) != [(key, key % 10)]:
                    wrong.append(key)

    threads, errors = at_once(cursors, read)
    handed = stack.metrics().total("gtid_gate_handed_over_total")

    def shared():
        most[0] = max(most[0], *(processes(stack, name) for name in stack.satellites))
        return errors or wrong or stack.metrics().total("gtid_gate_handed_over_total") > handed + 500

    stack.wait_for(shared, 60, "connections that pass from session to session")
    over.set()
    left(threads)
    assert not errors and not wrong and most[0] <= 2
    for cursor in cursors:
        cursor.execute("SELECT 1")
        cursor.fetchall()
    stack.wait_for(lambda: all(stack.server(name)["sessions"] <= 2 for name in stack.satellites), 10, "no more than before")


def test_connections_that_nobody_needs_any_more_are_closed(stack, table, limit):
    for name in ("master", *stack.satellites):
        limit(name, connections=2)
    with contextlib.ExitStack() as opened:
        connections = [opened.enter_context(contextlib.closing(stack.gate_connect())) for _ in range(6)]
        for connection in connections * 2:
            with connection.cursor() as cursor:
                ask(cursor, "SELECT COUNT(*) FROM items", "DELETE FROM items WHERE id < 0")
    stack.wait_for(lambda: not any(s["sessions"] for s in stack.servers()), 30, "all connections closed")


def test_another_user_never_gets_a_connection_of_the_first(stack, sessions, limit):
    stack.make_user("neighbour", db="neighbour")
    mine = sessions(2)
    theirs = sessions(2, user="neighbour")
    limit("master", connections=1)
    for name in stack.satellites:
        limit(name, connections=1)
    for _ in range(5):
        for cursor in mine:
            assert ask(cursor, "SELECT CURRENT_USER(), DATABASE()") == [("app@%", "app")]
            assert ask(cursor, "SELECT SUBSTRING_INDEX(USER(), '@', 1)") == [("app",)]
        for cursor in theirs:
            assert ask(cursor, "SELECT CURRENT_USER(), DATABASE()") == [("neighbour@%", "neighbour")]
            assert ask(cursor, "SELECT SUBSTRING_INDEX(USER(), '@', 1)") == [("neighbour",)]
            with pytest.raises(pymysql.err.MySQLError, match="denied"):
                ask(cursor, "SELECT COUNT(*) FROM app.items")


@pytest.mark.parametrize(
    "command,said",
    [
        (("limit", "nobody", "running=1"), "no satellite"),
        (("limit", "master", "running=0"), "from 1 to"),
        (("limit", "master", "walking=3"), "expected"),
        (("limit", "master"), "usage"),
        (("limit", "master", "running=many"), "usage"),
        (("limit", "master", "running=auto"), "the master's limit is a number"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(stack, command, said):
    before = [s["limits"] for s in stack.servers()]
    status, output = gate(*command, check=False)
    assert status in (1, 64) and said in output
    assert [s["limits"] for s in stack.servers()] == before


def resident(stack):
    """KiB of memory that the gate's process keeps, without its program, whose pages come and go with the machine's need of memory."""
    status = containers.compose("exec", "-T", "gate", "cat", "/proc/1/status").stdout
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return int(fields["RssAnon"].split()[0])


def test_an_idle_connection_costs_little_and_nothing_is_left_of_it(stack, table):
    """Less than docs/operations.md states, as after small answers, also after many sessions have come and gone."""
    count, empty, most = 400, resident(stack), 0
    others = stack.metrics().total("gtid_gate_sessions")
    for _ in range(5):
        with contextlib.ExitStack() as opened:
            for _ in range(count):
                connection = opened.enter_context(contextlib.closing(stack.gate_connect()))
                with connection.cursor() as cursor:
                    ask(cursor, "SELECT COUNT(*) FROM items", "DELETE FROM items WHERE id < 0")
            most = max(most, resident(stack))
        stack.wait_for(lambda: stack.metrics().total("gtid_gate_sessions") <= others + 5, 20, "all have left")
    assert (most - empty) / count <= 48, (empty, most)


def test_a_session_finds_nothing_of_another_on_a_shared_connection(stack, sessions, limit):
    """What a stored function leaves, by way of a view: each session keeps its connection to the master from then on."""
    stack.sql("master", "DROP FUNCTION IF EXISTS app.leaves")
    stack.sql(
        "master",
        "CREATE FUNCTION app.leaves() RETURNS INT BEGIN "
        "SET @left_behind = CONCAT(IFNULL(@left_behind, ''), 'x'); RETURN LENGTH(@left_behind); END",
    )
    stack.sql("master", "CREATE OR REPLACE VIEW app.leaving AS SELECT app.leaves() AS n")
    stack.await_satellites()
    cursors = sessions(4)
    for name in stack.satellites:
        limit(name, connections=1)
    assert [ask(cursor, "SELECT n FROM leaving") for cursor in cursors] == [[(1,)]] * 4


def test_a_shared_connection_keeps_the_clients_character_set(stack, sessions, limit):
    cursors = sessions(4, charset="latin1")
    for name in stack.satellites:
        limit(name, connections=1)
    for cursor in cursors * 2:
        assert ask(cursor, "SELECT v, CHARSET('x') FROM items WHERE id = 1") == [("item ü 1", "latin1")]
