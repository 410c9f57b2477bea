"""What the server says of a session is what satellites are given: settings, schema, temporary tables, transactions (issue 37, section 1)."""

import contextlib
import datetime

import pymysql
import pytest

from support.gate import reads_on_a_satellite
from support.stack import ADMIN

NEVER = "SET @multimed_master_reads = 'never'"
ROUTINES = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1, 10), (2, 20)",
    "CREATE FUNCTION mk() RETURNS INT BEGIN CREATE TEMPORARY TABLE t (x INT); SET time_zone = '+03:00'; RETURN 1; END",
    "CREATE FUNCTION bad() RETURNS INT READS SQL DATA BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM t; SIGNAL SQLSTATE '45000'; RETURN 1; END",
    "CREATE TABLE tg (id INT)",
    "CREATE TRIGGER trg BEFORE INSERT ON tg FOR EACH ROW SET @w = 1",
]


@pytest.fixture
def opened(stack, schema):
    """opened() -> a cursor of a session whose reads only satellites answer; the schema has two rows in t."""
    with contextlib.ExitStack() as connections:

        def session(**options):
            connection = connections.enter_context(contextlib.closing(stack.gate_connect(user=ADMIN, database=schema, **options)))
            cursor = connections.enter_context(connection.cursor())
            cursor.execute(NEVER)
            return cursor

        first = session()
        for statement in ROUTINES:
            first.execute(statement)
        stack.await_satellites()
        reader = session()
        stack.wait_for(lambda: reads_on_a_satellite(reader, "SELECT id FROM t"), 30, "satellites read")
        yield session


@pytest.fixture
def changed_globals(stack, opened):
    """SET GLOBAL on the master, until the test ends."""
    names = ("sql_mode", "time_zone", "completion_type", "transaction_isolation")
    (before,) = stack.sql("master", "SELECT " + ", ".join(f"@@GLOBAL.{name}" for name in names))
    yield lambda name, value: stack.sql("master", f"SET GLOBAL {name} = %s", (value,))
    for name, value in zip(names, before):
        stack.sql("master", f"SET GLOBAL {name} = %s", (value,))
    begins = lambda: reads_on_a_satellite(opened(), "SELECT id FROM t")  # noqa: E731
    stack.wait_for(begins, 30, "sessions to begin as before")


def ask(cursor, *statements):
    for statement in statements:
        cursor.execute(statement)
    return list(cursor.fetchall())


def fails(cursor, code, statement):
    with pytest.raises(pymysql.err.MySQLError) as raised:
        cursor.execute(statement)
    assert raised.value.args[0] == code, statement


def is_free(stack, schema):
    """Nobody holds a lock of table t, rows and definition."""
    with contextlib.closing(stack.master_connect(user=ADMIN, database=schema)) as other, other.cursor() as cursor:
        cursor.execute("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1")
        cursor.execute("DELETE FROM t WHERE id = 77")
        cursor.execute("ALTER TABLE t COMMENT = 'changed'")


FAILING = [
    (1062, "INSERT INTO t VALUES (1, 1)"),
    (1062, "UPDATE t SET id = 1 WHERE id = 2"),
    (1242, "SELECT id FROM t WHERE (SELECT id FROM t) FOR UPDATE"),
    (1054, "SELECT nothing FROM t"),
    (1146, "DESCRIBE missing"),
    (1146, "SHOW COLUMNS FROM missing"),
    (1644, "DO bad()"),
    (1644, "SET @x = bad()"),
]


@pytest.mark.parametrize(("code", "statement"), FAILING)
@pytest.mark.parametrize("end", ["ROLLBACK", "COMMIT"])
def test_a_failing_first_statement_leaves_no_locks_behind_its_rollback(stack, schema, opened, code, statement, end):
    cursor = opened()
    cursor.execute("SET autocommit = 0")
    fails(cursor, code, statement)
    cursor.execute(end)
    is_free(stack, schema)


@pytest.mark.parametrize("failing", ["DO bad()", "SET @x = bad()"])
def test_after_a_failing_function_a_rollback_leaves_no_old_snapshot(stack, schema, opened, failing):
    cursor = opened()
    cursor.execute("SET autocommit = 0")
    fails(cursor, 1644, failing)
    cursor.execute("ROLLBACK")
    stack.sql("master", f"INSERT INTO `{schema}`.t VALUES (3, 30)")
    assert ask(cursor, "SELECT COUNT(*) FROM t") == [(3,)]


def test_nothing_is_set_for_the_next_transaction_while_one_may_be_open_after_an_error(opened):
    cursor = opened()
    cursor.execute("SET autocommit = 0")
    fails(cursor, 1062, "INSERT INTO t VALUES (1, 1)")
    fails(cursor, 1568, "SET TRANSACTION READ ONLY")
    ask(cursor, "ROLLBACK", "SET TRANSACTION READ ONLY")
    fails(cursor, 1792, "INSERT INTO t VALUES (3, 3)")


def test_a_failing_read_on_a_satellite_leaves_no_old_snapshot_there(stack, schema, opened):
    cursor = opened()
    ask(cursor, "SET SESSION TRANSACTION READ ONLY", "SET autocommit = 0")
    assert ask(cursor, "SELECT COUNT(*) FROM t") == [(2,)]
    fails(cursor, 1054, "SELECT nothing FROM t")
    cursor.execute("ROLLBACK")
    stack.sql("master", f"INSERT INTO `{schema}`.t VALUES (3, 30)")
    assert ask(cursor, "SELECT COUNT(*) FROM t") == [(3,)]


def test_no_injection_after_a_mode_without_backslashes(opened):
    cursor = opened()
    cursor.execute("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")
    evil = "nobody' union select 99, 'injected' -- "
    for between in (cursor.connection.ping, cursor.connection.commit, lambda: cursor.execute("SET TRANSACTION READ ONLY")):
        between()
        cursor.execute("SELECT id, v FROM t WHERE v = %s", (evil,))
        assert cursor.fetchall() == ()


def test_sessions_begin_with_what_set_global_has_changed(stack, opened, changed_globals):
    for name, value in (("sql_mode", "NO_BACKSLASH_ESCAPES"), ("time_zone", "+05:00"), ("completion_type", "RELEASE")):
        changed_globals(name, value)

    def ends_with_commit():
        cursor = opened()
        cursor.execute("COMMIT")
        try:
            cursor.connection.ping(reconnect=False)
        except pymysql.err.MySQLError:
            return True
        return False

    stack.wait_for(ends_with_commit, 30, "the gate to know")
    assert opened().connection.server_status & 0x200
    ask(opened(), "CREATE TABLE at (id INT, a TIMESTAMP)", "INSERT INTO at VALUES (1, '2024-01-01 00:00:00')")
    cursor = opened()
    assert ask(cursor, "SELECT a FROM at") == [(datetime.datetime(2024, 1, 1),)], "in the master's time zone"
    changed_globals("transaction_isolation", "SERIALIZABLE")
    stack.wait_for(lambda: not reads_on_a_satellite(opened(), "SELECT id FROM t"), 30, "reads of SERIALIZABLE sessions on the master")


def test_the_gates_own_packets_have_the_servers_flags(opened):
    cursor = opened()
    status = lambda: cursor.connection.server_status  # noqa: E731
    cursor.execute("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")
    cursor.connection.ping(reconnect=False)
    assert cursor.connection._result is None or status() & 0x200 == 0x200
    ask(cursor, "SET sql_mode = ''", "START TRANSACTION READ ONLY")
    assert status() & 0x2003 == 0x2003
    cursor.execute("COMMIT")
    assert status() & 0x2201 == 0


@pytest.mark.parametrize(
    "statement",
    ["USE `{other}` /*!80100 */", "/*!50000 USE `{other}` */", "USE/**/`{other}`", "USE `{other}`; SELECT 1"],
)
def test_a_schema_chosen_in_any_spelling_is_where_reads_look(stack, schema, opened, statement):
    other = f"{schema[:50]}_o"
    stack.sql("master", f"CREATE DATABASE IF NOT EXISTS `{other}`")
    stack.sql("master", f"CREATE TABLE IF NOT EXISTS `{other}`.t (id INT PRIMARY KEY)")
    stack.sql("master", f"REPLACE INTO `{other}`.t VALUES (99)")
    stack.await_satellites()
    cursor = opened(client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
    ask(cursor, statement.format(other=other))
    while cursor.nextset():
        pass
    assert ask(cursor, "SELECT id FROM t") == [(99,)]
    assert ask(cursor, "SELECT DATABASE()") == [(other,)]
    cursor.connection._execute_command(0x1F, b"")
    cursor.connection._read_ok_packet()
    cursor.execute(NEVER)
    assert ask(cursor, "SELECT id FROM t") == [(99,)], "a reset leaves the schema"


def test_schemas_of_other_letters_and_digits_are_chosen_in_any_character_set(stack, opened):
    cursor = opened()
    for name in ("x_é", "1_digits", "$dollar"):
        stack.sql("master", f"CREATE DATABASE IF NOT EXISTS `{name}`")
        stack.sql("master", f"CREATE TABLE IF NOT EXISTS `{name}`.here (id INT PRIMARY KEY)")
    stack.await_satellites()
    cursor.execute("SET NAMES latin1")
    for name in ("x_é", "1_digits", "$dollar"):
        cursor.execute(f"USE `{name}`".encode("latin1"))
        assert ask(cursor, "SELECT COUNT(*) FROM here") == [(0,)]
        assert ask(cursor, "SELECT HEX(CONVERT(DATABASE() USING utf8mb4))") == [(name.encode().hex().upper(),)]
    for name in ("x_é", "1_digits", "$dollar"):
        stack.sql("master", f"DROP DATABASE `{name}`")


def test_what_a_procedure_sets_that_is_called_in_other_letters_shapes_the_reads(opened):
    cursor = opened()
    ask(cursor, "CREATE PROCEDURE sets(word VARCHAR(9)) SET time_zone = IF(word = 'é', '+05:00', '+06:00')", "SET NAMES latin1")
    ask(cursor, "CALL sets('é')".encode("latin1"))
    assert ask(cursor, "SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP()), COUNT(*) FROM t")[0][0].total_seconds() == 5 * 3600


@pytest.mark.parametrize("statement", ["SELECT mk()", "DO mk()", "SET @x = mk()"])
def test_what_a_function_makes_in_the_session_hides_tables_and_sets_zones(opened, statement):
    cursor = opened()
    ask(cursor, statement)
    assert ask(cursor, "SELECT COUNT(*) FROM t") == [(0,)], "its temporary table hides the real one"
    assert ask(cursor, "SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())")[0][0].total_seconds() == 3 * 3600


def test_a_temporary_table_in_a_version_comment_hides_the_real_one(opened):
    cursor = opened()
    ask(cursor, "CREATE TEMPORARY TABLE t (id INT, x INT /*!80023 INVISIBLE */)")
    assert ask(cursor, "SELECT COUNT(*) FROM t") == [(0,)]


def test_a_setting_beside_a_version_comment_shapes_the_reads(opened):
    cursor = opened()
    ask(cursor, "SET time_zone = '+05:00' /*!80023 , sql_select_limit = 1 */")
    assert ask(cursor, "SELECT id FROM t ORDER BY id") == [(1,)]
    assert ask(cursor, "SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())")[0][0].total_seconds() == 5 * 3600


def test_a_trigger_that_sets_a_variable_leaves_reads_on_satellites(stack, opened, reads):
    cursor = opened()
    ask(cursor, "INSERT INTO tg VALUES (1)")
    counts = reads(lambda: [ask(cursor, "SELECT id FROM t") for _ in range(4)])
    assert set(counts) <= set(stack.satellites)


def test_a_clock_that_was_stopped_runs_again(opened):
    cursor = opened()
    assert ask(cursor, "SET timestamp = 1000000", "SELECT UNIX_TIMESTAMP(NOW()) FROM t LIMIT 1") == [(1000000,)]
    assert ask(cursor, "SET timestamp = DEFAULT", "SELECT UNIX_TIMESTAMP(NOW()) > 1000000000 FROM t LIMIT 1") == [(1,)]


def test_chained_transactions_roll_back_what_mysql_rolls_back(opened):
    cursor = opened()
    ask(cursor, "SET completion_type = 'CHAIN'", "COMMIT", "INSERT INTO t VALUES (9, 9)", "ROLLBACK")
    ask(cursor, "SET completion_type = 'NO_CHAIN'", "ROLLBACK")
    assert ask(cursor, "SELECT COUNT(*) FROM t WHERE id = 9") == [(0,)]


def test_a_commit_that_releases_ends_the_session(opened):
    cursor = opened()
    ask(cursor, "SET completion_type = 'RELEASE'", "START TRANSACTION READ ONLY", "SELECT id FROM t", "COMMIT")
    with pytest.raises(pymysql.err.MySQLError):
        ask(cursor, "SELECT 1")


SET_ROLE = f"SET DEFAULT ROLE NONE TO {ADMIN}"


@pytest.mark.parametrize(
    ("between", "is_refused"), [("SELECT 1", True), ("SELECT id FROM t", False), ("SET @x = 1", True), (SET_ROLE, False)]
)
def test_what_is_set_for_the_next_transaction_waits_for_one(opened, between, is_refused):
    """A read that touches no table begins no transaction; what changes an account commits one."""
    cursor = opened()
    ask(cursor, "SET TRANSACTION READ ONLY", between)
    if is_refused:
        fails(cursor, 1792, "INSERT INTO t VALUES (5, 5)")
    else:
        ask(cursor, "INSERT INTO t VALUES (5, 5)")
    ask(cursor, "COMMIT", "INSERT INTO t VALUES (6, 6)")


@pytest.mark.parametrize("text", ["SET SESSION TRANSACTION READ WRITE", "SET @@SESSION.transaction_read_only = 0"])
def test_what_is_set_for_the_session_holds_for_the_next_transaction(opened, text):
    cursor = opened()
    ask(cursor, "SET TRANSACTION READ ONLY", text, "BEGIN", "INSERT INTO t VALUES (7, 7)", "COMMIT")


def test_the_current_schema_that_was_dropped_is_none(stack, schema, opened):
    cursor = opened()
    other = f"{schema[:50]}_d"
    ask(
        cursor,
        f"CREATE DATABASE `{other}`",
        f"USE `{other}`",
        "SELECT DATABASE()",
        f"DROP DATABASE `{other}`",
        f"CREATE DATABASE `{other}`",
    )
    assert ask(cursor, "SELECT DATABASE()") == [(None,)]
    ask(cursor, f"DROP DATABASE `{other}`")


def test_a_switch_of_the_optimizer_keeps_the_others(opened):
    cursor = opened()
    ask(cursor, "SET optimizer_switch = 'mrr=off'", "SET optimizer_switch = 'index_merge=off'")
    switches = ask(cursor, "SELECT @@optimizer_switch")[0][0]
    assert "mrr=off" in switches and "index_merge=off" in switches
    assert ask(cursor, "SELECT COUNT(*) FROM t") == [(2,)]


def test_a_statement_prepared_on_another_server_reads_its_text_as_when_it_was_prepared(stack, schema):
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema, client="connector")) as connection:
        plain = connection.cursor()
        plain.execute(NEVER)
        prepared = connection.cursor(prepared=True)
        statement = "SELECT 'a' || 'b', COLLATION('x')"
        prepared.execute(statement)
        before = prepared.fetchall()
        plain.execute("SET sql_mode = 'PIPES_AS_CONCAT'")
        plain.execute("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        plain.execute("SELECT GET_LOCK('prepared', 0)")
        plain.fetchall()
        prepared.execute(statement)
        assert prepared.fetchall() == before


def test_what_was_prepared_in_information_schema_is_asked_of_the_master_whatever_the_schema_is_later(stack, schema, opened):
    """Satellites have no triggers."""
    opened()
    with contextlib.closing(stack.gate_connect(user=ADMIN, database="information_schema", client="connector")) as connection:
        plain, prepared = connection.cursor(), connection.cursor(prepared=True)
        plain.execute(NEVER)
        for _ in range(3):
            prepared.execute("SELECT COUNT(*) FROM triggers WHERE trigger_schema = %s", (schema,))
            assert prepared.fetchall() == [(1,)]
            plain.execute(f"USE `{schema}`")


def test_a_password_is_set_inside_a_read_only_transaction_as_mysql_does(stack, schema, opened):
    def outcome(cursor):
        try:
            ask(cursor, "START TRANSACTION READ ONLY", "SELECT COUNT(*) FROM t", "SET PASSWORD FOR set_inside = 'other'", "COMMIT")
        except pymysql.err.MySQLError as error:
            return error.args[0]

    stack.sql("master", "CREATE USER IF NOT EXISTS set_inside IDENTIFIED BY 'one'")
    with contextlib.closing(stack.master_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as master:
        expected = outcome(master)
    assert outcome(opened()) == expected
    stack.sql("master", "DROP USER set_inside")


@pytest.mark.parametrize("statement", ["SELECT GET_LOCK('state', 0)", "SELECT @x := 5", "GET DIAGNOSTICS @n = NUMBER"])
def test_a_read_only_transaction_asks_the_master_though_the_session_was_never_there(stack, schema, statement):
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as cursor:
        ask(cursor, "START TRANSACTION READ ONLY", statement, "COMMIT", "SELECT 1")


@pytest.mark.parametrize("beside", ["SHOW COLUMNS FROM t", "EXPLAIN SELECT * FROM t FOR UPDATE"])
def test_what_runs_beside_a_read_only_transaction_leaves_no_locks_on_the_master(stack, schema, opened, beside):
    cursor = opened()
    ask(cursor, "SET autocommit = 0", "START TRANSACTION READ ONLY", "SELECT id FROM t", beside, "COMMIT")
    is_free(stack, schema)


def test_in_a_read_only_transaction_no_satellite_answers_about_itself(opened):
    cursor = opened()
    ask(cursor, "START TRANSACTION READ ONLY", "SELECT id FROM t", "USE performance_schema")
    fails(cursor, 1105, "SELECT variable_value FROM global_variables WHERE variable_name = 'server_uuid'")


def test_isolation_that_is_set_for_a_read_only_transaction_holds_where_it_runs(stack, schema, opened):
    cursor = opened()
    ask(cursor, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION READ ONLY", "SELECT COUNT(*) FROM t FOR SHARE")
    with contextlib.closing(stack.master_connect(user=ADMIN, database=schema)) as other, other.cursor() as writes:
        writes.execute("SET innodb_lock_wait_timeout = 1")
        writes.execute("INSERT INTO t VALUES (3, 30)")
    assert ask(cursor, "SELECT COUNT(*) FROM t FOR SHARE") == [(3,)]
    cursor.execute("COMMIT")


def test_a_setting_beside_reports_that_are_switched_off_shapes_the_reads(opened):
    cursor = opened()
    ask(cursor, "SET session_track_system_variables = '', time_zone = '+05:00'")
    assert ask(cursor, "SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP()) FROM t LIMIT 1")[0][0].total_seconds() == 5 * 3600


def test_a_kill_in_a_text_of_other_letters_runs_nothing_else_than_the_text(stack, opened):
    """What stood behind it was cut out at the wrong byte."""
    victim = opened()
    cursor = opened(charset="latin1", client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
    text = f"SELECT 'éééé'; KILL {victim.connection.thread_id()}; EXPLAIN DELETE FROM t"
    with pytest.raises(pymysql.err.MySQLError):
        cursor.execute(text)
        while cursor.nextset():
            pass
    assert ask(cursor, "SELECT COUNT(*) FROM t") == [(2,)]


def test_questions_of_the_gates_own_have_answers_whatever_the_session_limits(opened):
    cursor = opened()
    ask(cursor, "SET sql_select_limit = 0", "SET @c = 'latin1'", "SET character_set_client = @c, collation_connection = 'latin1_bin'")
    assert ask(cursor, "SELECT COLLATION('a') FROM t LIMIT 1") == [("latin1_bin",)]
