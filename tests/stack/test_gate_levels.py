"""What each consistency level sees while satellites stand still, and what comes when nothing is fresh enough."""

import concurrent.futures
import contextlib
import time

import pymysql
import pytest

from support import compose as containers
from support.gate import reads_on_a_satellite
from support.stack import USER

READ = "SELECT v FROM levels WHERE id = 1"
APPLIERS = ("applier-1", "applier-2")


def ask(cursor, *statements):
    for statement in statements:
        cursor.execute(statement)
    return list(cursor.fetchall())


def read(cursor, *hints):
    return ask(cursor, f"{READ} {''.join(f'/* multimed: {hint} */' for hint in hints)}")[0][0]


@pytest.fixture(scope="module")
def register(stack, table):
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.levels (id INT PRIMARY KEY, v INT)")
    stack.sql("master", "REPLACE INTO app.levels VALUES (1, 0), (2, 0)")
    stack.await_satellites()


class Frozen:
    """Satellites that stand still: `old` is what they have, `new` what was acknowledged on the master at `since`."""

    def __init__(self, stack):
        self.stack = stack
        self.old = int(time.time() * 1000) % 1_000_000_000
        self.new = self.old + 1

    @contextlib.contextmanager
    def __call__(self):
        self.stack.sql("master", "UPDATE app.levels SET v = %s", (self.old,))
        self.stack.await_satellites()
        with contextlib.ExitStack() as stopped:
            for applier in APPLIERS:
                stopped.enter_context(self.stack.paused(applier, "java"))
            self.stack.sql("master", "UPDATE app.levels SET v = %s", (self.new,))
            self.since = time.monotonic()
            yield self
        self.stack.await_satellites()


@pytest.fixture
def frozen(stack, register):
    with Frozen(stack)() as frozen:
        yield frozen


@pytest.fixture
def session(stack, register):
    """session(): a new session through the gate; its cursor."""
    with contextlib.ExitStack() as opened:

        def connect(**options):
            connection = opened.enter_context(contextlib.closing(stack.gate_connect(**options)))
            return opened.enter_context(connection.cursor())

        yield connect


def test_every_level_sees_what_it_was_promised(frozen, session):
    assert read(session()) == frozen.new, "strong is the default"
    assert read(session(), "consistency=eventual") == frozen.old
    assert read(session(), "consistency=session") == frozen.old, "of another session's write nothing was promised"
    assert read(session(), "consistency=bounded:60000") == frozen.old
    assert read(session(), "consistency=bounded:0") == frozen.new


@pytest.mark.parametrize("level,sees_own", [("session", True), ("strong", True), ("eventual", False), ("bounded:60000", False)])
@pytest.mark.parametrize(
    "write",
    [("UPDATE levels SET v = v + 5 WHERE id = 1",), ("BEGIN", "UPDATE levels SET v = v + 5 WHERE id = 1", "COMMIT")],
    ids=["alone", "transaction"],
)
def test_own_writes(frozen, session, level, sees_own, write):
    cursor = session()
    ask(cursor, f"SET @multimed_consistency = '{level}'", *write)
    assert read(cursor) == (frozen.new + 5 if sees_own else frozen.old)
    assert read(session(), "consistency=session") == frozen.old, "another session's"


@pytest.mark.parametrize(
    "begin,commit",
    [
        ("SET autocommit = 0", "SET autocommit = 1"),
        ("BEGIN", "START TRANSACTION READ ONLY"),
        ("BEGIN", "SET PASSWORD TO RANDOM"),
        ("BEGIN", "CREATE TABLE IF NOT EXISTS levels_ddl (id INT PRIMARY KEY)"),
    ],
)
def test_a_commit_that_is_not_called_so_counts_as_an_own_change(stack, register, begin, commit):
    """Somebody else's strong read has the master asked between the change and its commit."""
    stack.make_user("changing", db=USER)
    with Frozen(stack)() as frozen, contextlib.ExitStack() as opened:

        def connect(user):
            connection = opened.enter_context(contextlib.closing(stack.gate_connect(user=user, database=USER)))
            return opened.enter_context(connection.cursor())

        cursor, other = connect("changing"), connect(USER)
        ask(cursor, "SET @multimed_consistency = 'session'", begin, "UPDATE levels SET v = v + 5 WHERE id = 1")
        assert read(other) == frozen.new, "not committed yet"
        ask(cursor, commit)
        assert read(cursor) == frozen.new + 5
    stack.sql("master", "DROP USER changing")


def test_another_login_on_the_same_connection_keeps_what_was_written(stack, frozen):
    with contextlib.closing(stack.gate_connect(client="connector")) as connection:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE levels SET v = v + 5 WHERE id = 1")
        connection.cmd_change_user(USER, stack.password(USER), USER)
        with connection.cursor() as cursor:
            cursor.execute(READ + " /* multimed: consistency=session */")
            assert cursor.fetchall() == [(frozen.new + 5,)]


@pytest.mark.parametrize("level", ["session", "bounded:60000"])
@pytest.mark.parametrize("transaction", [False, True])
def test_a_session_never_sees_less_than_before(frozen, session, level, transaction):
    cursor = session()
    assert read(cursor, "consistency=strong") == frozen.new, "answered by the master"
    if transaction:
        ask(cursor, f"SET @multimed_consistency = '{level}'", "START TRANSACTION READ ONLY")
    assert read(cursor, f"consistency={level}") == frozen.new
    if transaction:
        ask(cursor, "COMMIT")
    assert read(cursor, "consistency=eventual") == frozen.old, "eventual promises no such thing"
    assert read(cursor, f"consistency={level}") == frozen.new, "and does not make the session forget"


def test_a_bound_is_kept(frozen, session):
    """Old values as long as they may be seen, then the master's."""
    cursor, bound, old = session(), 3.0, 0
    while True:
        sent = time.monotonic()
        seen = read(cursor, f"consistency=bounded:{bound * 1000:.0f}")
        if seen == frozen.new:
            break
        old += 1
        assert sent < frozen.since + bound, "older than the bound"
    assert old > 0 and sent > frozen.since + bound / 4, "satellites were within the bound"


def test_with_an_error_after_the_wait_the_master_is_left_alone(frozen, session):
    cursor = session()
    ask(cursor, "SET @multimed_after_wait = 'error', @multimed_wait_ms = 300")
    for level in ("strong", "bounded:100"):
        since = time.monotonic()
        with pytest.raises(pymysql.err.MySQLError) as refused:
            read(cursor, f"consistency={level}")
        assert refused.value.args[0] == 1105 and level in refused.value.args[1] and "300 ms" in refused.value.args[1]
        assert 0.3 <= time.monotonic() - since < 5
    assert read(cursor, "consistency=strong after_wait=master") == frozen.new
    assert read(cursor, "consistency=eventual") == frozen.old, "the session goes on"


def test_a_longer_wait_is_answered_by_a_satellite_once_it_is_there(stack, frozen, session):
    cursor = session()
    before = stack.server("master")["reads"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waits = stack.metrics().total("gtid_gate_waits_total")
        answer = pool.submit(read, cursor, "consistency=strong wait_ms=30000 after_wait=error")
        stack.wait_for(lambda: stack.metrics().total("gtid_gate_waits_total") > waits, 20, "the read to wait")
        for applier in APPLIERS:
            stack.resume(applier, "java")
        assert answer.result(60) == frozen.new
    assert stack.server("master")["reads"] == before


def test_the_level_of_a_transaction_is_that_of_its_beginning_or_first_read(frozen, session):
    cursor = session()
    ask(cursor, "SET @multimed_consistency = 'eventual'", "START TRANSACTION READ ONLY")
    assert read(cursor) == frozen.old
    ask(cursor, "SET @multimed_consistency = 'strong'")
    assert read(cursor, "consistency=strong") == frozen.old, "one snapshot throughout"
    ask(cursor, "COMMIT")
    assert read(cursor) == frozen.new
    ask(cursor, "START TRANSACTION READ ONLY /* multimed: consistency=eventual */")
    assert read(cursor) == frozen.old
    ask(cursor, "COMMIT", "START TRANSACTION READ ONLY")
    assert read(cursor, "consistency=eventual") == frozen.old
    ask(cursor, "COMMIT", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY /* multimed: consistency=eventual */")
    assert read(cursor) == frozen.old
    ask(cursor, "COMMIT")


def test_a_hint_is_for_one_statement_or_transaction(frozen, session):
    cursor = session()
    ask(cursor, "START TRANSACTION READ ONLY")
    assert read(cursor, "consistency=eventual") == frozen.old
    ask(cursor, "COMMIT AND CHAIN")
    assert read(cursor) == frozen.new
    ask(cursor, "COMMIT", "START TRANSACTION READ ONLY", "SHOW WARNINGS /* multimed: consistency=eventual */")
    assert read(cursor) == frozen.new
    ask(cursor, "COMMIT", "START TRANSACTION READ ONLY", "SET @multimed_consistency = 'eventual'")
    assert read(cursor) == frozen.old, "the session's level may change until the snapshot is chosen"
    ask(cursor, "COMMIT")


def test_a_bound_of_nothing_is_still_answered_by_satellites(cursor, reads):
    counts = reads(lambda: [ask(cursor, "SELECT COUNT(*) FROM items /* multimed: consistency=bounded:0 */") for _ in range(4)])
    assert counts and all(name.startswith("satellite") for name in counts), counts


def test_a_read_that_waits_can_be_killed(stack, frozen, session):
    cursor = session()
    waits = stack.metrics().total("gtid_gate_waits_total")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(read, cursor, "wait_ms=60000 after_wait=error")
        stack.wait_for(lambda: stack.metrics().total("gtid_gate_waits_total") > waits, 20, "the read to wait")
        ask(session(), f"KILL {cursor.connection.thread_id()}")
        with pytest.raises(pymysql.err.OperationalError):
            answer.result(20)


def test_variables_hold_for_the_session_until_taken_back(stack, frozen, session):
    cursor = session()
    ask(cursor, "SET @multimed_consistency = 'eventual'")
    assert read(cursor) == frozen.old
    assert ask(cursor, "SELECT @multimed_consistency") == [("eventual",)], "as on a bare MySQL"
    ask(cursor, "SET @multimed_consistency = NULL")
    assert read(cursor) == frozen.new
    ask(cursor, "SET @multimed_consistency = LOWER('EVENTUAL'), @other = 1")
    assert read(cursor) == frozen.old
    assert ask(cursor, "SELECT @multimed_consistency, @other") == [("eventual", 1)]
    with contextlib.closing(stack.gate_connect(client="connector")) as connection, connection.cursor(prepared=True) as prepared:
        prepared.execute("SET @multimed_consistency = ?", ("eventual",))
        prepared.execute(READ)
        assert prepared.fetchall() == [(frozen.old,)]
        prepared.execute(READ + " /* multimed: consistency=strong */")
        assert prepared.fetchall() == [(frozen.new,)]
        connection.cmd_reset_connection()
        with connection.cursor(prepared=True) as again:
            again.execute(READ)
            assert again.fetchall() == [(frozen.new,)]


@pytest.mark.parametrize(
    "statement",
    [
        "SET @multimed_consistency = 'stong'",
        "SET @multimed_wait_ms = 'soon'",
        "SET @multimed_after_wait = 'retry', @multimed_wait_ms = 1",
        "SET @multimed_wait_ms = 60001",
        "SELECT 1 /* multimed: consistency=bounded */",
        "SELECT 1 /* multimed: eventual */",
    ],
)
def test_a_choice_that_is_not_understood_is_refused_and_changes_nothing(frozen, session, statement):
    cursor = session()
    ask(cursor, "SET @multimed_consistency = 'eventual'")
    with pytest.raises(pymysql.err.MySQLError) as refused:
        ask(cursor, statement)
    assert refused.value.args[0] == 1231 and "gtid-gate" in refused.value.args[1]
    assert read(cursor) == frozen.old
    assert ask(cursor, "SELECT @multimed_wait_ms, @multimed_after_wait") == [(None, None)]


def test_behind_a_proxy_nobody_can_speak_for_the_others(stack, frozen):
    connection = stack._connect(containers.address("gate"), 6035, USER, ..., True, "pymysql", ..., {})
    with contextlib.closing(connection), connection.cursor() as cursor:
        ask(cursor, "SET @multimed_consistency = 'eventual'")
        assert read(cursor) == frozen.new, "the next statement may be another client's"
        assert read(cursor, "consistency=session") == frozen.new, "sessions are invisible here: strong"
        assert read(cursor, "consistency=eventual") == frozen.old, "what a statement says of itself counts"


def test_users_have_levels_of_their_own(stack, register):
    stack.make_user("reporting", db=USER)
    stack.recreate("gate", GATE_CONSISTENCY="session", GATE_USERS="reporting: consistency=eventual after_wait=error; other: wait_ms=1")
    try:
        with contextlib.closing(stack.gate_connect(user="reporting", database=USER)) as connection, connection.cursor() as cursor:
            stack.wait_for(lambda: reads_on_a_satellite(cursor, "SELECT v FROM levels"), 30, "the new gate to know the definitions")
        with Frozen(stack)() as frozen, contextlib.ExitStack() as opened:

            def session(user):
                connection = opened.enter_context(contextlib.closing(stack.gate_connect(user=user, database=USER)))
                return opened.enter_context(connection.cursor())

            reporting, app = session("reporting"), session(USER)
            assert read(reporting) == frozen.old and read(app) == frozen.old
            ask(app, "UPDATE levels SET v = v + 7")
            ask(reporting, "UPDATE levels SET v = v + 7")
            assert read(app) == frozen.new + 14
            # Now and then a busy machine proves too late what a satellite's answer rests on, and the master answers.
            stack.wait_for(lambda: read(reporting) == frozen.old, 10, "a satellite to answer")
            assert read(reporting, "consistency=strong after_wait=master") == frozen.new + 14
    finally:
        stack.recreate("gate")


@pytest.mark.fault
def test_without_a_master_each_level_does_what_it_can(stack, session):
    """mysqld of the master stands still: it accepts connections and answers nothing."""
    readers = {level: session() for level in ("strong", "session", "bounded:4000", "eventual")}
    for level, cursor in readers.items():
        ask(cursor, f"SET @multimed_consistency = '{level}'")
        read(cursor)
    with stack.paused("master", "mysqld"):
        since = time.monotonic()
        assert read(readers["eventual"]) is not None
        assert read(readers["bounded:4000"]) is not None
        with pytest.raises(pymysql.err.MySQLError, match="master"):
            read(readers["strong"])
        assert time.monotonic() - since < 5

        def refused(level):
            try:
                read(readers[level])
                return False
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 1105, error
                return True

        for level in ("session", "bounded:4000"):
            stack.wait_for(lambda level=level: refused(level), 20, f"{level} to be refused")
        assert read(readers["eventual"]) is not None, "served all the while"
    for level, cursor in readers.items():
        stack.wait_for(lambda cursor=cursor: not failed(cursor), 60, f"{level} to be served again")


def failed(cursor):
    try:
        return read(cursor) is None
    except pymysql.err.MySQLError:
        return True
