"""What a client asks about its connection, or about its statement before, has the answer that MySQL alone would give, or an error."""

import contextlib

import pymysql
import pytest

UNKNOWN = "gtid-gate"


def ask(cursor, *statements):
    for statement in statements:
        cursor.execute(statement)
    return list(cursor.fetchall())


def refused(cursor, statement):
    with pytest.raises(pymysql.err.MySQLError) as error:
        cursor.execute(statement)
    return error.value.args[0] == 1105 and UNKNOWN in error.value.args[1]


@pytest.fixture
def other(stack):
    """Another session through the gate."""
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as opened:
        yield opened


@pytest.fixture
def numbered(stack, cursor):
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.numbered (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    stack.await_satellites()
    return cursor


def read_only_on_a_satellite(cursor):
    ask(cursor, "START TRANSACTION READ ONLY")
    assert len(ask(cursor, "SELECT id FROM items WHERE id <= 3")) == 3


def test_in_a_read_only_transaction_questions_about_the_session_have_the_masters_answer(numbered, other):
    ask(numbered, "INSERT INTO numbered (v) VALUES (1)")
    about = "SELECT LAST_INSERT_ID(), CONNECTION_ID(), @@pseudo_thread_id, @@server_uuid, IS_FREE_LOCK('theirs'), IS_USED_LOCK('theirs'), USER()"
    ask(other, "SELECT GET_LOCK('theirs', 0)")
    expected = ask(numbered, about)
    assert expected[0][4] == 0
    read_only_on_a_satellite(numbered)
    assert ask(numbered, about) == expected
    assert ask(numbered, about + " FROM DUAL") == expected
    assert ask(numbered, "SELECT GET_LOCK('mine', 0)") == [(1,)]
    assert ask(other, "SELECT GET_LOCK('mine', 0)") == [(0,)]
    for beside_a_table in ("LAST_INSERT_ID()", "CONNECTION_ID()", "IS_FREE_LOCK('theirs')", "@@server_uuid", "UUID_SHORT()"):
        assert refused(numbered, f"SELECT {beside_a_table} FROM items LIMIT 1"), beside_a_table
    assert refused(numbered, "SET @n = (SELECT COUNT(*) FROM items)")
    assert ask(numbered, "COMMIT", about) == expected


def test_the_statement_before_is_asked_about_where_it_ran(numbered):
    warns = "SELECT CAST('12x' AS SIGNED) FROM items LIMIT 1"
    read_only_on_a_satellite(numbered)
    assert ask(numbered, "SELECT FOUND_ROWS()") == [(3,)]
    assert ask(numbered, warns, "SELECT @@warning_count") == [(1,)]
    assert len(ask(numbered, warns, "SHOW WARNINGS")) == 1
    assert ask(numbered, warns, "SELECT @@sql_mode", "SHOW WARNINGS") == []
    ask(numbered, warns)
    assert refused(numbered, "SELECT @@warning_count, @@sql_mode")
    assert [row[1] for row in ask(numbered, "SHOW WARNINGS")] == [1105]
    ask(numbered, "SELECT id FROM items WHERE id <= 7", "SET SESSION sort_buffer_size = 300000")
    assert ask(numbered, "SELECT ROW_COUNT()") == [(0,)]
    ask(numbered, "SELECT id FROM items WHERE id <= 7", "COMMIT")
    assert ask(numbered, "SELECT FOUND_ROWS()") == [(7,)]


def test_a_change_that_asks_about_a_read_on_a_satellite_is_refused_once(numbered):
    """From then on the session stays on the master, so that it works the next time."""
    asks = "INSERT INTO numbered (v) VALUES (FOUND_ROWS())"
    ask(numbered, "SELECT id FROM items WHERE id <= 7")
    assert refused(numbered, asks)
    ask(numbered, "SELECT id FROM items WHERE id <= 7", asks)
    assert ask(numbered, "SELECT v FROM numbered WHERE id = LAST_INSERT_ID()") == [(7,)]


@pytest.mark.parametrize(
    "question",
    [
        "SELECT ROW_COUNT()",
        "SELECT FOUND_ROWS()",
        "SHOW WARNINGS",
        "SELECT @@warning_count",
        "SELECT LAST_INSERT_ID()",
        "INSERT INTO numbered (v) VALUES (LAST_INSERT_ID())",
    ],
)
def test_no_answer_from_a_connection_to_the_master_that_was_made_anew(stack, numbered, question):
    number = ask(numbered, "INSERT INTO numbered (v) VALUES (1)", "SELECT CONNECTION_ID()")[0][0]
    ask(numbered, "INSERT INTO numbered (v) VALUES (2)")
    stack.sql("master", f"KILL {number}")
    connections = f"SELECT COUNT(*) FROM performance_schema.processlist WHERE id = {number}"
    stack.wait_for(lambda: stack.sql("master", connections) == [(0,)], 10, "the connection to be gone")
    assert refused(numbered, question)
    ask(numbered, "INSERT INTO numbered (v) VALUES (3)")
    assert ask(numbered, "SELECT v FROM numbered WHERE id = LAST_INSERT_ID()") == [(3,)]


def test_a_computed_setting_keeps_its_warnings(cursor):
    ask(cursor, "SET @old = 'utf8mb3'", "SET character_set_client = @old")
    assert [row[1] for row in ask(cursor, "SHOW WARNINGS")] == [1287]
    assert ask(cursor, "SELECT HEX('ü') AS h, n FROM items WHERE id = 1") == [("C3BC", 1)]


def test_a_new_session_has_no_statement_before(other):
    assert ask(other, "SELECT FOUND_ROWS()") == [(0,)]


def test_kill_of_the_own_connection_ends_the_session(stack):
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as opened:
        for kill in ("KILL QUERY CONNECTION_ID()", "KILL CONNECTION_ID()"):
            with pytest.raises(pymysql.err.MySQLError) as error:
                ask(opened, kill)
            assert error.value.args[0] == 1317
        with pytest.raises(pymysql.err.MySQLError):
            ask(opened, "SELECT 1")
