"""What a session has built keeps its meaning, wherever its statements run."""

import contextlib
import threading
import time

import pymysql
import pytest


def ask(cursor, *statements):
    for statement in statements:
        cursor.execute(statement)
    return list(cursor.fetchall())


def test_use_reaches_the_server_that_reads(stack, cursor):
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.only_here (id INT PRIMARY KEY)")
    stack.make_user("app", db="app_other")
    ask(
        cursor,
        "CREATE TABLE IF NOT EXISTS app_other.there (id INT PRIMARY KEY)",
        "REPLACE INTO app_other.there VALUES (9)",
        "USE app_other",
    )
    assert ask(cursor, "SELECT id FROM there") == [(9,)]
    assert ask(cursor, "SELECT DATABASE()") == [("app_other",)]
    ask(cursor, "USE app")
    assert ask(cursor, "SELECT COUNT(*) FROM only_here") == [(0,)]
    cursor.connection.select_db("app_other")
    assert ask(cursor, "SELECT id FROM there") == [(9,)]


def test_session_variables_shape_the_reads(stack, cursor, reads):
    assert ask(cursor, "SET SESSION sql_mode = 'ANSI_QUOTES'", 'SELECT "n" FROM items WHERE id = 3') == [(3,)]
    assert ask(cursor, "SET sql_mode = ''", 'SELECT "n" FROM items WHERE id = 3') == [("n",)]
    assert ask(cursor, "SET SESSION sql_select_limit = 2", "SELECT id FROM items ORDER BY id") == [(1,), (2,)]
    ask(cursor, "SET SESSION sql_select_limit = DEFAULT")
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.stamps (id INT PRIMARY KEY, ts TIMESTAMP NULL)")
    stack.sql("master", "REPLACE INTO app.stamps VALUES (1, FROM_UNIXTIME(86400))")
    assert str(ask(cursor, "SET time_zone = '+02:00'", "SELECT ts FROM stamps")[0][0]) == "1970-01-02 02:00:00"
    assert str(ask(cursor, "SET time_zone = '-02:00'", "SELECT ts FROM stamps")[0][0]) == "1970-01-01 22:00:00"
    assert ask(cursor, "SET group_concat_max_len = 5", "SELECT GROUP_CONCAT(id ORDER BY id) FROM items WHERE id < 20") == [("1,2,3",)]
    stack.await_satellites()
    counts = reads(lambda: [ask(cursor, "SELECT COUNT(*) FROM items") for _ in range(8)])
    assert any(name.startswith("satellite") for name in counts), "a session with settings still reads on satellites"


def test_character_sets_of_the_connection(stack, cursor):
    ask(cursor, "SET NAMES latin1")
    cursor.execute(b"SELECT HEX('\xfc') AS h, n FROM items WHERE id = 1")
    assert cursor.fetchall() == (("FC", 1),)
    assert ask(cursor, "SET NAMES utf8mb4", "SELECT HEX('ü') AS h, v FROM items WHERE id = 1") == [("C3BC", "item ü 1")]
    with contextlib.closing(stack.gate_connect(charset="latin1")) as other, other.cursor() as latin:
        assert ask(latin, "SELECT v, HEX('ü') AS h FROM items WHERE id = 1") == [("item ü 1", "FC")]


def test_user_variables(cursor):
    ask(cursor, "SET @a = 5, @b = 'text'")
    assert ask(cursor, "SELECT n FROM items WHERE id = @a") == [(5,)]
    assert ask(cursor, "SELECT @b, @a + 1") == [("text", 6)]
    ask(cursor, "SELECT id INTO @c FROM items WHERE id = 8")
    assert ask(cursor, "SELECT @c") == [(8,)]


def test_temporary_tables(cursor):
    ask(cursor, "CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY)", "INSERT INTO tmp VALUES (1), (2)")
    assert ask(cursor, "SELECT COUNT(*) FROM tmp") == [(2,)]
    assert ask(cursor, "SELECT COUNT(*) FROM items JOIN tmp USING (id)") == [(2,)]
    ask(cursor, "CREATE TEMPORARY TABLE items (id INT PRIMARY KEY)")
    assert ask(cursor, "SELECT COUNT(*) FROM items") == [(0,)], "a temporary table hides the real one"
    ask(cursor, "DROP TEMPORARY TABLE items")
    assert ask(cursor, "SELECT COUNT(*) FROM items")[0][0] >= 1000


def test_last_insert_id_found_rows_row_count_and_warnings(cursor):
    ask(cursor, "CREATE TABLE IF NOT EXISTS counted (id INT AUTO_INCREMENT PRIMARY KEY, v TINYINT)", "INSERT INTO counted (v) VALUES (1)")
    last = cursor.lastrowid
    assert last > 0
    assert ask(cursor, "SELECT LAST_INSERT_ID()") == [(last,)]
    assert ask(cursor, "SELECT 1 FROM items LIMIT 1", "SELECT LAST_INSERT_ID()") == [(last,)]
    assert ask(cursor, "SELECT SQL_CALC_FOUND_ROWS id FROM items WHERE id <= 50 LIMIT 3", "SELECT FOUND_ROWS()") == [(50,)]
    assert ask(cursor, "UPDATE counted SET v = 2", "SELECT ROW_COUNT()")[0][0] >= 1
    warnings = ask(cursor, "SELECT CAST('12x' AS SIGNED)", "SHOW WARNINGS")
    assert [row[1] for row in warnings] == [1292]
    ask(cursor, "DROP TABLE counted")


def test_lock_tables_holds_until_unlock(stack, cursor):
    ask(cursor, "CREATE TABLE IF NOT EXISTS locked (id INT PRIMARY KEY)", "LOCK TABLES locked WRITE")
    ask(cursor, "REPLACE INTO locked VALUES (1)")
    with contextlib.closing(stack.gate_connect()) as other, other.cursor() as second:
        ask(second, "SET SESSION lock_wait_timeout = 1")
        with pytest.raises(pymysql.err.OperationalError) as refused:
            ask(second, "INSERT INTO locked VALUES (2)")
        assert refused.value.args[0] == 1205
        ask(cursor, "UNLOCK TABLES")
        ask(second, "INSERT INTO locked VALUES (3)")
    assert ask(cursor, "SELECT COUNT(*) FROM locked") == [(2,)]
    ask(cursor, "DROP TABLE locked")


def test_user_locks_belong_to_the_session(stack, cursor):
    assert ask(cursor, "SELECT GET_LOCK('mine', 0)") == [(1,)]
    ask(cursor, "SELECT COUNT(*) FROM items")
    with contextlib.closing(stack.gate_connect()) as other, other.cursor() as second:
        assert ask(second, "SELECT GET_LOCK('mine', 0)") == [(0,)]
        assert ask(cursor, "SELECT RELEASE_LOCK('mine')") == [(1,)]
        assert ask(second, "SELECT GET_LOCK('mine', 0)") == [(1,)]


@pytest.mark.parametrize(
    "slow",
    [
        "SELECT SLEEP(30)",
        "SELECT SUM(a.n * b.n * c.n * d.n) FROM items a, items b, items c, items d",
        "UPDATE items SET n = n WHERE id = 1 AND SLEEP(30) = 0",
    ],
)
def test_kill_query_ends_the_statement_and_not_the_session(stack, cursor, slow):
    answer = {}
    number = cursor.connection.thread_id()

    def run():
        try:
            answer["rows"] = ask(cursor, slow)
        except pymysql.err.MySQLError as error:
            answer["error"] = error.args[0]

    thread = threading.Thread(target=run)
    since = time.monotonic()
    thread.start()
    with contextlib.closing(stack.gate_connect()) as other, other.cursor() as killer:

        def killed():
            ask(killer, f"KILL QUERY {number}")
            thread.join(0.2)
            return not thread.is_alive()

        stack.wait_for(killed, 20, "the statement to end")
    assert time.monotonic() - since < 25
    assert answer.get("error") in (1317, None) and (answer.get("error") or answer.get("rows") in ([(1,)], [])), answer
    assert ask(cursor, "SELECT 1") == [(1,)]


def test_kill_ends_the_session(stack, table):
    victim = stack.gate_connect()
    with contextlib.closing(stack.gate_connect()) as other, other.cursor() as killer:
        ask(killer, f"KILL {victim.thread_id()}")
    stack.wait_for(lambda: not alive(victim), 10, "the session to be gone")


def test_kill_query_with_what_connection_id_says_ends_a_statement_on_the_master(stack, cursor):
    """CONNECTION_ID() is the master's number; KILL with it acts on the session's connection there."""
    ask(cursor, "START TRANSACTION")
    number = ask(cursor, "SELECT CONNECTION_ID()")[0][0]
    answer = []
    thread = threading.Thread(target=lambda: answer.append(ask(cursor, "SELECT SLEEP(30)")))
    thread.start()
    with contextlib.closing(stack.gate_connect()) as other, other.cursor() as killer:

        def killed():
            ask(killer, f"KILL QUERY {number}")
            thread.join(0.2)
            return not thread.is_alive()

        stack.wait_for(killed, 20, "the statement to end")
    assert answer == [[(1,)]]
    ask(cursor, "ROLLBACK")


def test_what_connection_id_says_can_be_killed(stack, table):
    with contextlib.closing(stack.gate_connect()) as victim, contextlib.closing(stack.gate_connect()) as other:
        with victim.cursor() as cursor, other.cursor() as killer:
            number = ask(cursor, "SELECT CONNECTION_ID()")[0][0]
            ask(killer, f"KILL {number}")
            stack.wait_for(lambda: not alive(victim), 10, "the session to be gone")


def alive(connection):
    try:
        connection.ping(reconnect=False)
        return True
    except pymysql.err.MySQLError:
        return False


def test_reset_connection_forgets_the_session(stack, table):
    with contextlib.closing(stack.gate_connect(client="connector")) as connection:
        cursor = connection.cursor()
        for statement in ("SET @a = 1, SESSION sql_select_limit = 1", "CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY)"):
            cursor.execute(statement)
        connection.cmd_reset_connection()
        cursor.execute("SELECT @a")
        assert cursor.fetchall() == [(None,)]
        cursor.execute("SELECT id FROM items WHERE id < 4")
        assert len(cursor.fetchall()) == 3
        with pytest.raises(Exception, match="1146"):
            cursor.execute("SELECT * FROM tmp")


def test_change_user(stack, table):
    stack.make_user("second_app")
    with contextlib.closing(stack.gate_connect(client="connector")) as connection:
        connection.cmd_change_user("second_app", stack.password("second_app"), "second_app")
        cursor = connection.cursor()
        cursor.execute("SELECT CURRENT_USER(), DATABASE()")
        assert cursor.fetchall() == [("second_app@%", "second_app")]
        with pytest.raises(Exception, match="1142|1044"):
            cursor.execute("SELECT * FROM app.items")


def test_several_statements_in_one_packet(stack, table):
    from pymysql.constants import CLIENT

    with contextlib.closing(stack.gate_connect(client_flag=CLIENT.MULTI_STATEMENTS)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1; CREATE TABLE IF NOT EXISTS multi (id INT PRIMARY KEY); REPLACE INTO multi VALUES (7); SELECT id FROM multi"
        )
        results = [cursor.fetchall()]
        while cursor.nextset():
            results.append(cursor.fetchall())
        assert results[0] == ((1,),) and results[-1] == ((7,),)
        assert ask(cursor, "SELECT id FROM multi") == [(7,)]
        ask(cursor, "DROP TABLE multi")


def test_a_procedure_with_several_results(stack, cursor):
    ask(
        cursor,
        "DROP PROCEDURE IF EXISTS results",
        "CREATE PROCEDURE results(OUT total INT) BEGIN SELECT 1; SELECT 2, 'b'; SELECT COUNT(*) INTO total FROM items; END",
    )
    cursor.execute("CALL results(@total)")
    results = [cursor.fetchall()]
    while cursor.nextset():
        results.append(cursor.fetchall())
    assert results[:2] == [((1,),), ((2, "b"),)]
    assert ask(cursor, "SELECT @total")[0][0] >= 1000


def test_prepare_and_execute_as_text(cursor):
    ask(cursor, "PREPARE s FROM 'SELECT n FROM items WHERE id = ?'", "SET @id = 4")
    assert ask(cursor, "EXECUTE s USING @id") == [(4,)]
    ask(cursor, "DEALLOCATE PREPARE s")


def test_commit_and_chain_and_release(cursor):
    ask(cursor, "START TRANSACTION READ ONLY", "SELECT COUNT(*) FROM items", "COMMIT AND CHAIN")
    with pytest.raises(pymysql.err.MySQLError) as refused:
        ask(cursor, "UPDATE items SET n = 0")
    assert refused.value.args[0] == 1792
    ask(cursor, "ROLLBACK", "START TRANSACTION", "UPDATE items SET n = 2 WHERE id = 2", "COMMIT RELEASE")
    with pytest.raises(pymysql.err.MySQLError):
        ask(cursor, "SELECT 1")


def test_savepoints_of_a_transaction(cursor):
    ask(
        cursor,
        "START TRANSACTION",
        "UPDATE items SET n = 50 WHERE id = 5",
        "SAVEPOINT s",
        "UPDATE items SET n = 51 WHERE id = 5",
        "ROLLBACK TO s",
    )
    assert ask(cursor, "SELECT n FROM items WHERE id = 5") == [(50,)]
    ask(cursor, "ROLLBACK")


def test_an_application_user_may_create_what_make_user_grants(stack, cursor):
    """Views, procedures, functions, triggers and events of its own schema."""
    ask(
        cursor,
        "DROP TABLE IF EXISTS owned",
        "CREATE TABLE owned (id INT PRIMARY KEY)",
        "CREATE TRIGGER owned_trigger BEFORE INSERT ON owned FOR EACH ROW SET NEW.id = NEW.id + 1",
        "DROP FUNCTION IF EXISTS owned_function",
        "CREATE FUNCTION owned_function() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM owned)",
        "DROP EVENT IF EXISTS owned_event",
        "CREATE EVENT owned_event ON SCHEDULE EVERY 1 DAY STARTS NOW() + INTERVAL 1 DAY DO DELETE FROM owned",
        "CREATE OR REPLACE VIEW owned_view AS SELECT id FROM owned",
        "INSERT INTO owned VALUES (1)",
    )
    assert ask(cursor, "SELECT owned_function()") == [(1,)]
    assert ask(cursor, "SELECT id FROM owned_view") == [(2,)]
    ask(cursor, "DROP EVENT owned_event", "DROP VIEW owned_view", "DROP FUNCTION owned_function", "DROP TABLE owned")
