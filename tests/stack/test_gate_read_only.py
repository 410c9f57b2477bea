"""What is no plain read inside a read-only transaction that has read on a satellite."""

import contextlib

import pymysql
import pytest

from support.stack import ADMIN

COMMENTS = ["", "/* load one.two.Three */ ", "-- app:web\n"]
BESIDE = [
    "DESC t",
    "SHOW COLUMNS FROM t",
    "SHOW TABLE STATUS",
    "EXPLAIN SELECT * FROM t FOR UPDATE",
    "SELECT GET_LOCK('read_only', 0)",
    "SELECT @x := 5",
    "SELECT @@sql_mode, CONNECTION_ID()",
    "PREPARE s FROM 'SELECT 1'",
]
REFUSED = [
    "SELECT f(), t.* FROM t FOR SHARE",
    "SELECT t.* FROM t FOR SHARE",
    "SELECT p()",
    "SELECT f() INTO @x",
    "DO f()",
    "CALL c()",
    "SELECT id FROM t WHERE id = @x",
]
CHANGES = ["INSERT INTO t VALUES (9)", "UPDATE t SET id = 8", "EXPLAIN DELETE FROM t", "CREATE TEMPORARY TABLE u (id INT)"]


@pytest.fixture
def session(stack, schema):
    for statement in (
        "CREATE TABLE {}.t (id INT PRIMARY KEY)",
        "INSERT INTO {}.t VALUES (1)",
        "CREATE FUNCTION {}.f() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM {}.t)",
        "CREATE FUNCTION {}.p() RETURNS INT NO SQL RETURN @p",
        "CREATE FUNCTION {}.w() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO {}.t VALUES (7); RETURN 1; END",
        "CREATE PROCEDURE {}.c() SELECT 1",
    ):
        stack.sql("master", statement.replace("{}", f"`{schema}`"))
    stack.await_satellites()
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as cursor:
        cursor.execute("SET @multimed_master_reads = 'never'")

        def is_for_satellites():
            """Once the gate knows the new definitions."""
            cursor.execute("EXPLAIN MULTIMED SELECT id FROM t")
            return dict(cursor.fetchall())["Runs_on"].startswith("satellite")

        stack.wait_for(is_for_satellites, 20, "the gate to know what the schema has")
        yield cursor


def begin_on_satellite(cursor):
    cursor.execute("ROLLBACK")
    cursor.execute("START TRANSACTION READ ONLY")
    cursor.execute("SELECT id FROM t")
    assert list(cursor.fetchall()) == [(1,)]


def outcome(cursor, sql):
    try:
        cursor.execute(sql)
        cursor.fetchall()
    except pymysql.err.MySQLError as error:
        return error.args[0]
    return None


@pytest.mark.parametrize("comment", COMMENTS, ids=["plain", "hibernate", "marginalia"])
def test_what_is_no_plain_read_never_reaches_the_transactions_satellite(session, comment):
    for statements, expected in ((REFUSED, 1105), (CHANGES, 1792)):
        for sql in statements:
            begin_on_satellite(session)
            assert outcome(session, comment + sql) == expected, sql
            assert outcome(session, "SELECT id FROM t") is None, f"after {sql}"


def test_what_reads_no_rows_runs_beside_a_read_only_transaction(session):
    for sql in BESIDE:
        begin_on_satellite(session)
        assert outcome(session, "/* app */ " + sql) is None, sql


NOT_UNDERSTOOD = [
    "ALTER TABLE t NOSUCH x",
    "(LOCK TABLES t READ)",
    "DROP TABLE t t",
    "SET PASSWORD",
    "ANALYZE t",
    "CREATE TABLE u (id NOSUCH)",
]


@pytest.mark.parametrize("first", ["SELECT id FROM t", "SELECT @x"])
def test_what_mysql_does_not_understand_ends_no_read_only_transaction(session, first):
    for sql in NOT_UNDERSTOOD:
        begin_on_satellite(session)
        session.execute("ROLLBACK")
        session.execute("START TRANSACTION READ ONLY")
        session.execute(first)
        assert outcome(session, sql) == 1064, sql
        session.connection.ping()
        assert session.connection.server_status & 0x2001 == 0x2001, f"after {sql}: in a read-only transaction"
        assert outcome(session, "INSERT INTO t VALUES (3)") == 1792, f"after {sql}"
        assert outcome(session, "SELECT id FROM t") is None, f"after {sql}"


@pytest.mark.parametrize("read", ["SELECT id FROM t", "DO 0"])
def test_switching_autocommit_ends_a_read_only_transaction_as_mysql_does(session, read):
    """One that was ended so refuses changes still, until COMMIT (measured)."""
    for begin, ends, code in (
        (("START TRANSACTION READ ONLY", read), ("SET autocommit = 0, autocommit = 1",), 1792),
        (("START TRANSACTION READ ONLY", read), ("SET autocommit = 0", "SET autocommit = 1"), 1792),
        (("SET autocommit = 0", "START TRANSACTION READ ONLY", read), ("SET autocommit = 1",), 1792),
    ):
        for statement in begin + ends:
            session.execute(statement)
        assert session.connection.server_status & 1 == 0, "no transaction is open"
        assert outcome(session, "INSERT INTO t VALUES (5)") == code
        session.execute("COMMIT")
        assert outcome(session, "INSERT INTO t VALUES (6)") is None
        assert outcome(session, "SELECT id FROM t WHERE id = 6") is None and session.rowcount == 1, "its own change is seen"
        assert outcome(session, "DELETE FROM t WHERE id = 6") is None


def test_what_ends_no_transaction_runs_inside_a_read_only_one(session):
    for sql in ("UNLOCK TABLES", "XA RECOVER"):
        begin_on_satellite(session)
        assert outcome(session, sql) is None, sql
        session.connection.ping()
        assert session.connection.server_status & 0x2001 == 0x2001, sql
        assert outcome(session, "SELECT id FROM t") is None


def test_what_fails_after_it_has_committed_ends_a_read_only_transaction(session):
    for sql in ("DROP TABLE nosuch", "LOCK TABLES nosuch READ", "TRUNCATE nosuch", "SET DEFAULT ROLE nosuch TO nosuch"):
        begin_on_satellite(session)
        assert outcome(session, sql) not in (None, 1064, 1105, 1792), sql
        session.connection.ping()
        assert session.connection.server_status & 0x2001 == 0, sql
        assert outcome(session, "INSERT INTO t VALUES (4)") is None, sql
        assert outcome(session, "DELETE FROM t WHERE id = 4") is None, sql


def test_a_definition_and_begin_end_a_read_only_transaction(session):
    begin_on_satellite(session)
    assert outcome(session, "/* app */ CREATE TABLE u (id INT)") is None
    begin_on_satellite(session)
    assert outcome(session, "BEGIN") is None
    assert outcome(session, "INSERT INTO t VALUES (2)") == 1792, "as MySQL, which lets the access mode last"
    assert outcome(session, "START TRANSACTION READ WRITE") is None
    assert outcome(session, "INSERT INTO t VALUES (2)") is None
    session.execute("ROLLBACK")


def test_a_text_of_hundreds_of_joins_kills_nobody(stack, session):
    joins = " JOIN t".join(["SELECT 1 FROM t"] + [f" t{n}" for n in range(300)])
    assert outcome(session, joins) == 1116
    assert outcome(session, "EXPLAIN MULTIMED " + joins) is None
    assert outcome(session, f"PREPARE s FROM '{joins}'") == 1116
    assert outcome(session, "SELECT 1") is None


def test_what_is_no_valid_sql_has_mysqls_own_error(stack, schema, session):
    """Nothing in such a text could write: a satellite refuses it with the error that the master has."""
    with contextlib.closing(stack.master_connect(user=ADMIN, database=schema)) as connection, connection.cursor() as master:
        for sql in (
            "SELECT FROM t",
            "SELECT 1 1 GROUP",
            "TABLE",
            "SELECT * FROM t AS OF TIMESTAMP 1",
            "SELECT id FROM t WHERE",
            "(SELECT 1",
        ):
            assert error_of(session, sql) == error_of(master, sql), sql


def error_of(cursor, sql):
    with pytest.raises(pymysql.err.MySQLError) as failed:
        cursor.execute(sql)
    return failed.value.args


@pytest.mark.parametrize("text", ["SET @x = w()", "SET time_zone = CONCAT('+0', w(), ':00')", "DO w()"])
def test_a_function_that_writes_is_refused_in_one_that_has_read_nothing(session, text):
    session.execute("START TRANSACTION READ ONLY")
    with pytest.raises(pymysql.err.MySQLError) as refused:
        session.execute(text)
    assert refused.value.args[0] == 1792
    session.execute("ROLLBACK")
    session.execute("SELECT id FROM t")
    assert list(session.fetchall()) == [(1,)]
