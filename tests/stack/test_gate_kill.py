"""KILL with the id of the handshake, in every form in which MySQL takes one, and of sessions of other accounts."""

import contextlib

import pymysql
import pytest
from pymysql.constants.SERVER_STATUS import SERVER_STATUS_IN_TRANS

from support.stack import ADMIN
from support.wait import wait_for

OTHER = "kill_other"


ROUTINES = {
    "kill_it": "PROCEDURE kill_it(i BIGINT) KILL i",
    "kill_query": "PROCEDURE kill_query(i BIGINT) BEGIN KILL QUERY i; END",
    "kill_and_go_on": "PROCEDURE kill_and_go_on(i BIGINT) BEGIN KILL i; SELECT 5; END",
    "no_such_thread": "FUNCTION no_such_thread(i BIGINT) RETURNS INT NO SQL BEGIN "
    "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1094, MESSAGE_TEXT = 'Unknown thread id: {}'; RETURN 1; END",
    "kill_in_function": "FUNCTION kill_in_function(i BIGINT) RETURNS INT NO SQL BEGIN KILL i; RETURN 1; END",
}


@pytest.fixture(scope="module", autouse=True)
def routines(stack):
    stack.make_user(OTHER)
    with contextlib.closing(stack.master_connect()) as connection, connection.cursor() as cursor:
        for name, routine in ROUTINES.items():
            cursor.execute(f"DROP {routine.split()[0]} IF EXISTS {name}")
            cursor.execute(f"CREATE {routine}")


@pytest.fixture
def session(stack):
    with contextlib.ExitStack() as opened:

        def connect(user="app", **options):
            connection = stack.gate_connect(user=user, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS, **options)
            opened.callback(lambda: connection.open and connection.close())
            return connection

        yield connect


def run(connection, *texts):
    """All results of the last text: its rows, or nothing where it has none."""
    with connection.cursor() as cursor:
        for text in texts:
            results = []
            cursor.execute(text)
            while True:
                results.append(tuple(cursor.fetchall()))
                if not cursor.nextset():
                    break
        return results


def alive(connection):
    try:
        connection.ping(reconnect=False)
        return True
    except pymysql.err.MySQLError:
        return False


@pytest.mark.parametrize(
    "texts,results",
    [
        (["KILL CONNECTION {}"], [()]),
        (["KILL 0x{:x}"], [()]),
        (["KILL {} + 0"], [()]),
        (["SET @i = {}", "KILL @i"], [()]),
        (["SELECT 1; KILL {}"], [((1,),), ()]),
        (["KILL {}; SELECT 'ü;'; SELECT 2"], [(), (("ü;",),), ((2,),)]),
        (["SET @i = {}; KILL @i; KILL QUERY CONNECTION_ID() - CONNECTION_ID() + @i"], None),
        (["PREPARE s FROM 'KILL {}'", "EXECUTE s"], [()]),
        (["SET @i = {}", "PREPARE s FROM 'KILL @i'", "EXECUTE s"], [()]),
        (["CALL kill_it({})"], [()]),
        (["/*!80000 KILL {} */"], [()]),
        (["SELECT 1; /*!80000 KILL */ {}"], [((1,),), ()]),
    ],
)
def test_the_id_of_the_handshake_kills_in_every_form(session, texts, results):
    victim, killer = session(), session()
    texts = [text.format(victim.thread_id()) for text in texts]
    if results is None:
        with pytest.raises(pymysql.err.MySQLError) as gone:
            run(killer, *texts)
        assert gone.value.args[0] == 1094, "the second KILL finds nobody"
    else:
        assert run(killer, *texts) == results
    wait_for(lambda: not alive(victim), 10, "the session to be gone")
    assert run(killer, "SELECT 1") == [((1,),)]


def test_a_kill_within_a_text_shows_the_transaction_in_its_flags(session):
    victim, killer = session(), session()
    with killer.cursor() as cursor:
        cursor.execute(f"BEGIN; KILL {victim.thread_id()}; SELECT 1")
        of_begin = killer._result.server_status
        assert cursor.nextset()
        of_kill = killer._result.server_status
    assert of_begin & of_kill & SERVER_STATUS_IN_TRANS


def test_a_statement_that_is_prepared_kills(stack):
    for text in ("KILL {}", "KILL {} + 0"):
        victim = stack.gate_connect()
        with contextlib.closing(stack.gate_connect(client="connector")) as killer, killer.cursor(prepared=True) as cursor:
            cursor.execute(text.format(victim.thread_id()))
        wait_for(lambda v=victim: not alive(v), 10, "the session to be gone")


@pytest.mark.parametrize(
    "text",
    [
        "CALL kill_and_go_on({})",
        "SELECT kill_in_function({})",
        "CALL kill_it({0}); SELECT 1",
        "/*! /* é */ KILL CONNECTION {} */",
    ],
)
def test_what_follows_a_kill_and_did_not_run_is_no_success(session, text):
    victim, killer = session(), session()
    with pytest.raises(pymysql.err.MySQLError):
        run(killer, text.format(victim.thread_id()))
    wait_for(lambda: not alive(victim), 10, "the session to be gone")
    assert run(killer, "SELECT 1") == [((1,),)]


@pytest.mark.parametrize("text", ["KILL QUERY {}", "KILL QUERY {} + 0", "SELECT 1; KILL QUERY {}", "CALL kill_query({})"])
def test_kill_query_leaves_the_session(session, text):
    victim, killer = session(), session()
    run(killer, text.format(victim.thread_id()))
    assert run(victim, "SELECT 1") == [((1,),)]


@pytest.mark.parametrize(
    "text",
    [
        "EXPLAIN FOR CONNECTION {}",
        "SELECT 1; EXPLAIN FOR CONNECTION {}",
        "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1094, MESSAGE_TEXT = 'Unknown thread id: {}'",
        "SELECT no_such_thread({})",
    ],
)
def test_whose_error_is_that_of_kill_kills_nobody(stack, session, text):
    victim, asking = session(), session()
    name = f"no_such_thread_{victim.thread_id()}"
    if "no_such_thread" in text:
        stack.sql(
            "master", "CREATE FUNCTION app." + ROUTINES["no_such_thread"][9:].replace("no_such_thread", name).format(victim.thread_id())
        )
        text = text.replace("no_such_thread", name)
    with pytest.raises(pymysql.err.MySQLError) as failed:
        run(asking, text.format(victim.thread_id()))
    assert failed.value.args == (1094, f"Unknown thread id: {victim.thread_id()}")
    assert run(victim, "SELECT 1") == run(asking, "SELECT 1") == [((1,),)]


def test_who_may_kill_others_sessions_is_for_the_master(stack, session):
    """CONNECTION_ADMIN may, others may not: 1095."""
    for victim, text in ((session(), "KILL {}"), (session(), "KILL {} + 0")):
        run(victim, "SELECT 1")
        with pytest.raises(pymysql.err.MySQLError) as refused:
            run(session(OTHER), text.format(victim.thread_id()))
        assert refused.value.args == (1095, f"You are not owner of thread {victim.thread_id()}")
        assert run(victim, "SELECT 1") == [((1,),)]
        run(session(ADMIN, database="app"), text.format(victim.thread_id()))
        wait_for(lambda v=victim: not alive(v), 10, "the session to be gone")


@pytest.mark.parametrize("text", ["KILL {}", "SELECT 1; KILL {}", "KILL {} + 0"])
def test_the_roles_that_a_session_has_now_decide(stack, session, text):
    """Not those of its account's logins."""
    stack.sql("master", "CREATE ROLE kills")
    try:
        for sql in ("GRANT CONNECTION_ADMIN, SYSTEM_USER ON *.* TO kills", f"GRANT kills TO {OTHER}", f"SET DEFAULT ROLE kills TO {OTHER}"):
            stack.sql("master", sql)
        victim, killer = session(), session(OTHER)
        text = text.format(victim.thread_id())
        with pytest.raises(pymysql.err.MySQLError) as refused:
            run(killer, "SET ROLE NONE", text)
        assert refused.value.args == (1095, f"You are not owner of thread {victim.thread_id()}")
        assert run(victim, "SELECT 1") == [((1,),)]
        stack.sql("master", f"SET DEFAULT ROLE NONE TO {OTHER}")
        run(killer, "SET ROLE kills", text)
        wait_for(lambda: not alive(victim), 10, "the session to be gone")
    finally:
        stack.sql("master", "DROP ROLE kills")


def test_sessions_of_an_account_that_is_locked_can_be_killed(stack, session):
    victim = session(OTHER)
    stack.sql("master", f"ALTER USER {OTHER}@'%' ACCOUNT LOCK")
    try:
        run(session(ADMIN, database="app"), f"KILL {victim.thread_id()}")
        wait_for(lambda: not alive(victim), 10, "the session to be gone")
    finally:
        stack.sql("master", f"ALTER USER {OTHER}@'%' ACCOUNT UNLOCK")


def test_an_id_of_the_processlist_kills_the_session_of_another_account(stack, session):
    victim = session(OTHER)
    number = run(victim, "SELECT CONNECTION_ID()")[0][0][0]
    run(session(ADMIN, database="app"), f"KILL {number}")
    wait_for(lambda: not alive(victim), 10, "the session to be gone")
