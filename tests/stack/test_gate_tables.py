"""Freshness by table: a strong read waits for the writers of its tables alone, as capture's table stream tells them."""

import contextlib

import mysql.connector
import pymysql
import pytest

from support.stack import ADMIN
from support.wait import wait_for

WAIT = "/* multimed: after_wait=error wait_ms=2000 */"
SHORTLY = "/* multimed: after_wait=error wait_ms=50 */"
NOT_FRESH = "no satellite"


@pytest.fixture
def tables(stack, schema):
    """Tables `quiet` and `busy`, which satellites have; a view, a view of that view, and one that calls a function; a child
    whose rows change with its parent's."""
    for statement in (
        "CREATE TABLE {}.quiet (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE {}.busy (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE {}.child (id INT PRIMARY KEY, parent INT,"
        " FOREIGN KEY (parent) REFERENCES {}.busy (id) ON UPDATE CASCADE ON DELETE SET NULL)",
        "CREATE VIEW {}.of_busy AS SELECT id, v FROM {}.busy",
        "CREATE VIEW {}.of_both AS SELECT q.v AS q, b.v AS b FROM {}.quiet q JOIN {}.of_busy b USING (id)",
        "CREATE VIEW {}.of_quiet AS SELECT v FROM {}.quiet",
        "CREATE FUNCTION {}.newest() RETURNS INT READS SQL DATA RETURN (SELECT MAX(v) FROM {}.busy)",
        "CREATE VIEW {}.calls AS SELECT {}.newest() AS v FROM {}.quiet",
        "INSERT INTO {}.quiet VALUES (1, 1)",
        "INSERT INTO {}.busy VALUES (1, 1), (2, 2)",
        "INSERT INTO {}.child VALUES (1, 1)",
    ):
        stack.sql("master", statement.replace("{}", f"`{schema}`"))
    stack.await_satellites()
    return schema


@contextlib.contextmanager
def session_of(stack, schema, **options):
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema, **options)) as connection, connection.cursor() as cursor:
        yield cursor


@pytest.fixture
def session(stack, tables):
    """Through the gate, in that schema."""
    with session_of(stack, tables) as cursor:
        yield cursor


def on_master(stack, schema, statement):
    with contextlib.closing(stack.master_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as cursor:
        cursor.execute(statement)


def read(cursor, sql, hint=WAIT):
    cursor.execute(f"{sql} {hint}")
    return list(cursor.fetchall())


def is_late(cursor, sql):
    """Whether the gate finds no satellite fresh enough for it."""
    try:
        read(cursor, sql, SHORTLY)
    except pymysql.err.MySQLError as error:
        assert NOT_FRESH in str(error), error
        return True
    return False


@contextlib.contextmanager
def behind(stack, schema, cursor, *changes):
    """Satellites stand still while the master changes."""
    with contextlib.ExitStack() as all_paused:
        for applier in ("applier-1", "applier-2"):
            all_paused.enter_context(stack.paused(applier, "java"))
        for change in changes or ("UPDATE busy SET v = v + 10",):
            on_master(stack, schema, change)
        wait_for(lambda: not is_late(cursor, "SELECT v FROM quiet"), 20, "the gate to know who wrote what")
        yield


def test_a_read_of_quiet_tables_does_not_wait_for_writes_of_others(stack, tables, session):
    with behind(stack, tables, session):
        before = stack.metrics().total("gtid_gate_table_reads_total")
        assert read(session, "SELECT v FROM quiet") == [(1,)]
        assert read(session, f"SELECT v FROM `{tables}`.`quiet`") == [(1,)]
        assert read(session, "SELECT v FROM of_quiet") == [(1,)]
        assert stack.metrics().total("gtid_gate_table_reads_total") >= before + 3
        for late in ("SELECT v FROM busy", "SELECT q.v FROM quiet q JOIN busy b USING (id)"):
            assert is_late(session, late), late
    assert read(session, "SELECT v FROM busy WHERE id = 1") == [(11,)]


def test_what_a_view_reads_is_waited_for(stack, tables, session):
    with behind(stack, tables, session):
        for late in ("SELECT v FROM of_busy", "SELECT q FROM of_both", "SELECT v FROM calls"):
            assert is_late(session, late), late


def test_what_a_foreign_key_changes_is_waited_for(stack, tables, session):
    with behind(stack, tables, session, "UPDATE busy SET id = 7 WHERE id = 1"):
        assert is_late(session, "SELECT parent FROM child")
    assert read(session, "SELECT parent FROM child") == [(7,)]


def test_what_a_trigger_writes_is_waited_for(stack, tables, session):
    trigger = "CREATE TRIGGER writes AFTER INSERT ON busy FOR EACH ROW UPDATE child SET id = id + 100"
    on_master(stack, tables, trigger)
    stack.await_satellites()
    with behind(stack, tables, session, "INSERT INTO busy VALUES (3, 3)"):
        assert is_late(session, "SELECT id FROM child")
    assert read(session, "SELECT id FROM child") == [(101,)]


def test_everything_waits_for_a_definition(stack, tables, session):
    with contextlib.ExitStack() as all_paused:
        for applier in ("applier-1", "applier-2"):
            all_paused.enter_context(stack.paused(applier, "java"))
        on_master(stack, tables, "CREATE OR REPLACE VIEW of_quiet AS SELECT v FROM busy")
        for late in ("SELECT v FROM of_quiet", "SELECT v FROM quiet", "SHOW TABLES", "SELECT 1 FROM information_schema.views"):
            assert is_late(session, late), late
    assert read(session, "SELECT v FROM of_quiet ORDER BY v") == [(1,), (2,)]


def test_a_prepared_statement_is_read_as_its_text(stack, tables):
    with (
        session_of(stack, tables, client="connector") as plain,
        contextlib.closing(stack.gate_connect(user=ADMIN, database=tables, client="connector")) as connection,
    ):
        prepared = connection.cursor(prepared=True)
        with session_of(stack, tables) as cursor, behind(stack, tables, cursor):
            prepared.execute(f"SELECT v FROM quiet WHERE id = %s {WAIT}", (1,))
            assert prepared.fetchall() == [(1,)]
            plain.execute(f"SELECT v FROM quiet {WAIT}")
            assert plain.fetchall() == [(1,)]


def test_without_autocommit_the_whole_set_is_waited_for(stack, tables, session):
    with behind(stack, tables, session), session_of(stack, tables) as other:
        other.execute("SET SESSION TRANSACTION READ ONLY")
        other.execute("SET autocommit = 0")
        assert is_late(other, "SELECT v FROM quiet")


class TestDeclaredTransactions:
    BEGIN = "START TRANSACTION READ ONLY /* multimed: tables=quiet,of_quiet after_wait=error wait_ms=2000 */"

    def test_a_transaction_that_names_its_tables_waits_for_these(self, stack, tables, session):
        with behind(stack, tables, session):
            session.execute(self.BEGIN)
            session.execute("SELECT q.v FROM quiet q JOIN of_quiet USING (v)")
            assert list(session.fetchall()) == [(1,)]
            with pytest.raises(pymysql.err.MySQLError, match="`busy`"):
                session.execute("SELECT v FROM busy")
            with pytest.raises(pymysql.err.MySQLError, match="others"):
                session.execute("SHOW TABLES")
            session.execute("SELECT v FROM quiet")
            session.execute("COMMIT")
            session.execute("START TRANSACTION READ ONLY")
            assert is_late(session, "SELECT v FROM quiet")
            session.execute("ROLLBACK")

    @pytest.mark.parametrize("late", [True, False])
    def test_another_table_is_refused_from_the_first_statement_on(self, stack, tables, session, late):
        # Then the gate knows what tables there are; without that it refuses none, and the snapshot has all.
        with behind(stack, tables, session):
            pass
        with behind(stack, tables, session) if late else contextlib.nullcontext():
            session.execute(self.BEGIN)
            for sql in ("SELECT v FROM busy", "SELECT v FROM of_busy", f"SELECT v FROM `{tables}`.busy"):
                with pytest.raises(pymysql.err.MySQLError, match="busy`"):
                    session.execute(sql)
            session.execute("SELECT v FROM quiet")
            with pytest.raises(pymysql.err.MySQLError, match="`busy`"):
                session.execute("SELECT v FROM busy")
            session.execute("ROLLBACK")
        session.execute("SELECT v FROM busy")

    def test_a_list_of_tables_belongs_to_the_begin_of_a_transaction(self, session):
        for sql, what in (
            ("SELECT 1 /* multimed: tables=quiet */", "START TRANSACTION"),
            ("START TRANSACTION READ ONLY /* multimed: tables= */", "tables"),
            ("START TRANSACTION READ ONLY /* multimed: tables=a;b */", "tables"),
        ):
            with pytest.raises(pymysql.err.MySQLError, match=what):
                session.execute(sql)
        session.execute("SELECT v FROM quiet")

    def test_its_list_ends_with_the_transaction(self, session):
        session.execute(self.BEGIN)
        session.execute("SELECT v FROM quiet")
        session.execute("COMMIT AND CHAIN")
        session.execute("SELECT v FROM busy")
        session.execute("COMMIT")
        session.execute("SELECT v FROM busy")

    def test_a_prepared_statements_tables_are_those_of_the_schema_it_was_prepared_in(self, stack, tables, session):
        other = f"{tables}_other"[:64]
        stack.sql("master", f"DROP DATABASE IF EXISTS `{other}`")
        stack.sql("master", f"CREATE DATABASE `{other}`")
        stack.sql("master", f"CREATE TABLE `{other}`.busy (id INT PRIMARY KEY, v INT)")
        stack.await_satellites()
        with behind(stack, tables, session):
            pass
        with contextlib.closing(stack.gate_connect(user=ADMIN, database=tables, client="connector")) as connection:
            plain, prepared = connection.cursor(), connection.cursor(prepared=True)
            prepared.execute("SELECT v FROM busy WHERE id = %s", (1,))
            assert prepared.fetchall() == [(11,)]
            plain.execute(f"USE `{other}`")
            plain.execute("START TRANSACTION READ ONLY /* multimed: tables=busy */")
            with pytest.raises(mysql.connector.Error, match=f"`{tables}`.`busy`"):
                prepared.execute("SELECT v FROM busy WHERE id = %s", (1,))

    def test_its_list_ends_with_a_transaction_that_the_master_answered(self, stack, tables, session):
        with (
            behind(stack, tables, session),
            contextlib.closing(stack.gate_connect(user=ADMIN, database=tables, client="connector")) as connection,
        ):
            plain, prepared = connection.cursor(), connection.cursor(prepared=True)
            plain.execute("START TRANSACTION READ ONLY /* multimed: tables=busy wait_ms=0 */")
            plain.execute("SELECT v FROM busy WHERE id = 1")
            assert plain.fetchall() == [(11,)]
            with pytest.raises(mysql.connector.Error, match="`quiet`"):
                plain.execute("SELECT v FROM quiet")
            plain.execute("COMMIT")
            prepared.execute("SELECT v FROM quiet WHERE id = %s", (1,))
            assert prepared.fetchall() == [(1,)]


@pytest.mark.parametrize("client", ["pymysql", "connector"])
def test_a_session_waits_for_its_own_commit_and_asks_the_master_nothing(stack, tables, client):
    with session_of(stack, tables, client=client) as cursor:
        cursor.execute("SET @multimed_consistency = 'session'")
        before = stack.metrics().total("gtid_gate_master_questions_total")
        for n in range(100):
            cursor.execute(f"UPDATE busy SET v = {n} WHERE id = 2")
            cursor.execute(f"SELECT v FROM busy WHERE id = 2 {WAIT}")
            assert list(cursor.fetchall()) == [(n,)]
        asked = stack.metrics().total("gtid_gate_master_questions_total") - before
        assert asked < 50, "only what keeps the connection alive"


@pytest.mark.fault
def test_without_the_stream_all_is_waited_for_and_with_it_again_it_is_used(stack, tables, session):
    stack.kill_container("capture")
    wait_for(lambda: stack.metrics().total("gtid_gate_table_stream_up") == 0, 20, "the gate to miss the stream")
    on_master(stack, tables, "UPDATE busy SET v = 5")
    assert is_late(session, "SELECT v FROM quiet")
    wait_for(lambda: stack.metrics().total("gtid_gate_table_stream_up") == 1, 60, "the stream to be back")
    stack.await_satellites()
    with behind(stack, tables, session):
        assert read(session, "SELECT v FROM quiet") == [(1,)]
