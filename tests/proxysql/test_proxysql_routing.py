"""Which server each kind of statement reaches. A row of d.whoami names the server that answered.

The server behind the reader hostgroup stands where the gate stands; that the gate itself then sends what must not run on a
satellite to the master is tested with the gate.
"""

import pytest

import frontdoor

pymysql = pytest.importorskip("pymysql")

READ = "SELECT name FROM whoami"


def one(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
        return row[0] if row else None


def run(connection, *statements):
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        READ,
        "select\n name from whoami",
        f"  {READ}",
        f"/* hint */ {READ}",
        f"({READ})",
        f"({READ}) UNION ({READ})",
        f"WITH w AS ({READ}) SELECT name FROM w",
        f"{READ} WHERE name <> 'for update'",
        f"{READ} WHERE name <> '@x'",
        f"{READ} WHERE name <> 'GET_LOCK('",
        f"{READ};",
        f"-- note\n{READ}",
    ],
)
def test_plain_reads_reach_the_gate(session, statement):
    assert one(session, statement) == "gate"


@pytest.mark.parametrize(
    "statement",
    [
        f"{READ} FOR UPDATE",
        f"{READ} for  update skip locked",
        f"{READ} FOR SHARE NOWAIT",
        f"{READ} LOCK IN SHARE MODE",
        f"({READ} FOR UPDATE)",
        f"{READ} WHERE name <> '{'x' * 9000}' FOR UPDATE",
        f"SELECT name{', 1 AS c' * 900} FROM whoami FOR UPDATE",
        "SELECT name FROM whoami WHERE GET_LOCK('l', 0) = 1",
        "SELECT name FROM whoami WHERE RELEASE_LOCK('l') IS NOT NULL OR 1",
        "SELECT name FROM whoami WHERE is_free_lock('l') >= 0",
        "SELECT name FROM whoami WHERE LAST_INSERT_ID() >= 0",
        "SELECT SQL_CALC_FOUND_ROWS name FROM whoami",
        "SELECT name FROM whoami WHERE ROW_COUNT() IS NOT NULL",
        "SELECT name FROM whoami WHERE @@server_id > 0",
        "SELECT name FROM whoami WHERE @a IS NULL",
        "SELECT name FROM whoami WHERE (@`a b`) IS NULL",
        "SELECT name FROM whoami, information_schema.schemata LIMIT 1",
        "SELECT name FROM whoami, `information_schema`.`schemata` LIMIT 1",
    ],
)
def test_reads_that_need_the_master_reach_it(session, statement):
    assert one(session, statement) == "master"


@pytest.mark.parametrize("statement", ["/* x */ SHOW MULTIMED STATUS", "explain multimed SELECT @a FROM whoami FOR UPDATE"])
def test_questions_about_the_gate_tie_the_session_to_nothing(session, statement):
    """A MySQL stands for the gate here, and takes them for syntax errors."""
    with pytest.raises(pymysql.err.MySQLError) as refused:
        run(session, statement)
    assert refused.value.args[0] == 1064
    assert one(session, READ) == "gate" and one(session, f"{READ} FOR UPDATE") == "master"


def test_writes_reach_the_master_alone(session, servers):
    master, gate = servers
    run(
        session,
        "INSERT INTO t (v) VALUES ('w1'), ('w2')",
        "UPDATE t SET v = 'w3' WHERE v = 'w1'",
        "DELETE FROM t WHERE v = 'w2'",
        "WITH w AS (SELECT 'w3' AS v) UPDATE t SET v = 'w4' WHERE v IN (SELECT v FROM w)",
        "REPLACE INTO t SELECT id, v FROM t WHERE v = 'w4'",
        "CREATE TABLE made (a INT)",
        "DROP TABLE made",
    )
    assert master.sql("SELECT GROUP_CONCAT(v) FROM d.t WHERE v LIKE 'w%'") == "w4"
    assert gate.sql("SELECT COUNT(*) FROM d.t WHERE v LIKE 'w%'") == "0"


def test_several_statements_in_one_reach_the_master(door):
    connection = door.connect(client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
    with connection.cursor() as cursor:
        cursor.execute(f"{READ}; INSERT INTO t (v) VALUES ('multi'); {READ}")
        assert cursor.fetchone() == ("master",)


@pytest.mark.parametrize(
    "begin", ["BEGIN", "START TRANSACTION", "START TRANSACTION READ WRITE", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]
)
def test_a_transaction_that_may_write_stays_on_the_master(session, begin):
    run(session, begin)
    assert [one(session, READ) for _ in range(3)] == ["master"] * 3
    run(session, "COMMIT")
    assert one(session, READ) == "gate"


@pytest.mark.parametrize(
    "begin",
    [
        "START TRANSACTION READ ONLY",
        "start  transaction\n read only",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        "START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT",
        "START TRANSACTION /* why */ READ ONLY",
    ],
)
def test_a_read_only_transaction_stays_on_one_connection_of_the_gate(session, servers, begin):
    run(session, begin)
    assert one(session, READ) == "gate"
    thread = one(session, "SELECT @@pseudo_thread_id")
    before = one(session, "SELECT COUNT(*) FROM t")
    servers[1].sql("INSERT INTO d.t (v) VALUES ('later')")
    assert one(session, "SELECT COUNT(*) FROM t") == before
    # Locking reads and functions would have a rule of their own outside.
    assert one(session, "SELECT name FROM whoami WHERE LAST_INSERT_ID() >= 0") == "gate"
    with pytest.raises(pymysql.err.MySQLError) as refused:
        run(session, "INSERT INTO t (v) VALUES ('no')")
    assert refused.value.args[0] == 1792
    assert one(session, "SELECT @@pseudo_thread_id") == thread
    run(session, "COMMIT")
    assert one(session, "SELECT COUNT(*) FROM t") == before + 1


def test_autocommit_off_a_transaction_that_begins_with_a_read_is_whole_and_the_gate_knows_it(manual, servers):
    """The gate sees autocommit=0 before the first SELECT, so it takes the transaction to the master itself."""
    assert one(manual, READ) == "gate"
    assert one(manual, "SELECT @@autocommit") == 0
    before = one(manual, "SELECT COUNT(*) FROM t")
    servers[1].sql("INSERT INTO d.t (v) VALUES ('later')")
    assert one(manual, "SELECT COUNT(*) FROM t") == before, "the reads do not share a snapshot"
    run(manual, "INSERT INTO t (v) VALUES ('manual')")
    assert one(manual, f"{READ} FOR UPDATE") == "gate", "the transaction changed its connection"
    manual.rollback()
    assert servers[0].sql("SELECT COUNT(*) FROM d.t WHERE v = 'manual'") == "0"
    assert servers[1].sql("SELECT COUNT(*) FROM d.t WHERE v = 'manual'") == "0"


def test_autocommit_off_a_transaction_that_begins_with_a_write_stays_on_the_master(manual, servers):
    run(manual, "INSERT INTO t (v) VALUES ('begun')")
    assert one(manual, READ) == "master"
    assert one(manual, "SELECT COUNT(*) FROM t WHERE v = 'begun'") == 1
    manual.commit()
    assert servers[0].sql("SELECT COUNT(*) FROM d.t WHERE v = 'begun'") == "1"


def test_autocommit_off_and_a_declared_read_only_transaction(manual):
    run(manual, "START TRANSACTION READ ONLY")
    assert one(manual, READ) == "gate"
    manual.commit()


def test_a_session_declared_read_only_tells_the_gate(manual):
    """What JDBC's setReadOnly(true) sends is replayed in front of the first read, with autocommit off as well."""
    run(manual, "SET SESSION TRANSACTION READ ONLY")
    assert one(manual, READ) == "gate"
    assert (one(manual, "SELECT @@transaction_read_only"), one(manual, "SELECT @@autocommit")) == (1, 0)
    manual.commit()
    run(manual, "SET SESSION TRANSACTION READ WRITE")
    run(manual, "INSERT INTO t (v) VALUES ('writable')")
    manual.rollback()


def test_autocommit_is_back_on_for_the_next_session_on_that_connection(door, manual):
    one(manual, READ)
    manual.commit()
    for _ in range(5):
        connection = door.connect()
        assert one(connection, "SELECT COUNT(*) FROM t") >= 0
        assert not connection.server_status & 1, "a read left a transaction open"
        connection.close()


def test_prepared_statements_follow_the_same_rules(session, manual, servers):
    assert frontdoor.execute_prepared(session, READ) == ["gate"]
    assert frontdoor.execute_prepared(session, f"{READ} FOR UPDATE") == ["master"]
    assert frontdoor.execute_prepared(session, "INSERT INTO t (v) VALUES ('prepared')")
    assert servers[0].sql("SELECT COUNT(*) FROM d.t WHERE v = 'prepared'") == "1"
    run(session, "START TRANSACTION READ ONLY")
    assert frontdoor.execute_prepared(session, f"{READ} WHERE @@server_id > 0") == ["gate"]
    run(session, "COMMIT", "BEGIN")
    assert frontdoor.execute_prepared(session, READ) == ["master"]
    run(session, "COMMIT")
    assert frontdoor.execute_prepared(manual, READ) == ["gate"]
    assert one(manual, "SELECT @@autocommit") == 0
    assert one(manual, f"{READ} FOR UPDATE") == "gate"
    manual.rollback()


def test_last_insert_id_after_reads(session):
    run(session, "INSERT INTO t (v) VALUES ('id')")
    inserted = one(session, "SELECT LAST_INSERT_ID()")
    one(session, READ)
    assert one(session, f"SELECT v FROM t WHERE id = {inserted} FOR UPDATE") == "id"


def test_variables_set_by_the_client_have_their_value_everywhere(session):
    """Such a session is tied to the gate, which keeps its state: no error, no NULL."""
    run(session, "SET @x = 5, @y = 'a'")
    assert one(session, "SELECT CONCAT(name, @x, @y) FROM whoami") == "gate5a"
    assert one(session, READ) == "gate"
    run(session, "BEGIN", "INSERT INTO t (v) VALUES (@y)", "COMMIT")
    assert one(session, "SELECT @x + 1") == 6
    run(session, "SET @x = @x + 1")
    assert one(session, "SELECT @x FROM whoami FOR UPDATE") == 6


def test_settings_that_proxysql_does_not_know_hold_for_reads_and_writes(session):
    run(session, "SET SESSION div_precision_increment = 2")
    assert str(one(session, "SELECT 1/3 FROM whoami")) == "0.33"
    assert str(one(session, "SELECT 1/3 FROM whoami FOR UPDATE")) == "0.33"


def test_settings_that_proxysql_knows_hold_on_both_servers(session):
    run(session, "SET time_zone = '+03:00', sql_mode = 'ANSI_QUOTES'")
    for statement in ('SELECT @@time_zone FROM "whoami"', 'SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP()) FROM "whoami"'):
        assert str(one(session, statement)) in ("+03:00", "3:00:00")
    assert one(session, 'SELECT "name" FROM "whoami"') == "gate"
    assert one(session, 'SELECT "name" FROM "whoami" FOR UPDATE') == "master"


@pytest.mark.parametrize("assign", ["SELECT @v := 7", "SELECT 7 INTO @v", "SELECT COUNT(*) * 0 + 7 FROM t INTO @v"])
def test_variables_assigned_by_a_select_keep_the_session_on_the_master(session, assign):
    run(session, assign)
    assert (one(session, "SELECT @v"), one(session, READ)) == (7, "master")
    run(session, "SET @w = @v + 1")
    assert (one(session, "SELECT @w"), one(session, READ)) == (8, "master")
    run(session, "START TRANSACTION READ ONLY")
    assert one(session, "SELECT @v + @w") == 15
    run(session, "COMMIT")


def test_a_variable_used_in_a_transaction_keeps_the_session_on_the_master(session):
    run(session, "BEGIN", "SET @id = 3", "INSERT INTO t (v) VALUES (@id)", "COMMIT")
    assert (one(session, "SELECT @id"), one(session, READ)) == (3, "master")


def test_a_variable_set_in_a_transaction_and_not_used_there_gives_an_error_not_a_wrong_answer(session):
    """ProxySQL has tied the session to the master and no rule can know it: a plain read is refused, the rest works."""
    run(session, "BEGIN", "SET @id = 4", "COMMIT")
    with pytest.raises(pymysql.err.MySQLError) as refused:
        one(session, READ)
    assert refused.value.args[0] in (9005, 9006)
    assert one(session, "SELECT @id") == 4
    assert one(session, READ) == "master"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TEMPORARY TABLE whoami (name VARCHAR(20)) SELECT 'temporary' AS name",
        "create  temporary table if not exists whoami select 'temporary' as name",
    ],
)
def test_a_temporary_table_is_seen_by_the_reads_that_follow(session, statement):
    run(session, statement)
    assert one(session, READ) == "temporary"
    run(session, "START TRANSACTION READ ONLY")
    assert one(session, READ) == "temporary"
    run(session, "COMMIT", "DROP TEMPORARY TABLE whoami")
    assert one(session, READ) == "master"


def test_table_locks_and_handlers_and_xa_stay_where_they_are(session):
    run(session, "LOCK TABLES whoami READ")
    assert one(session, READ) == "master"
    run(session, "UNLOCK TABLES", "HANDLER whoami OPEN")
    assert one(session, "HANDLER whoami READ FIRST") == "master"
    run(
        session,
        "HANDLER whoami CLOSE",
        "XA START 'x'",
        "INSERT INTO t (v) VALUES ('xa')",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA ROLLBACK 'x'",
    )


def test_a_named_lock_is_held_by_the_session(session, door):
    assert one(session, "SELECT GET_LOCK('mine', 0)") == 1
    assert one(session, READ) == "gate"
    other = door.connect()
    assert one(other, "SELECT GET_LOCK('mine', 0)") == 0
    assert one(session, "SELECT RELEASE_LOCK('mine')") == 1
    assert one(other, "SELECT GET_LOCK('mine', 0)") == 1
    other.close()


def test_account_names_are_not_user_variables(session, servers):
    with pytest.raises(pymysql.err.MySQLError):
        run(session, "GRANT SELECT ON d.t TO `app`@`%`")
    with pytest.raises(pymysql.err.MySQLError):
        run(session, "GRANT SELECT ON d.t TO 'app'@'%'")
    assert one(session, READ) == "gate"


def test_asking_for_system_variables_does_not_hold_a_connection(door, servers):
    """Connector/J asks for twenty of them when it connects."""
    sessions = [door.connect() for _ in range(20)]
    for each in sessions:
        one(each, "SELECT @@session.auto_increment_increment AS a, @@net_write_timeout AS b, @@max_allowed_packet AS c")
    held = servers[0].sql("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'")
    for each in sessions:
        each.close()
    assert int(held) < 20


def test_a_statement_on_a_broken_connection_is_not_sent_twice(door, servers):
    """ProxySQL's default would send it again, though it may have been committed."""
    connection = door.connect(read_timeout=60)
    connection._execute_command(0x03, "INSERT INTO t (v) SELECT CONCAT('twice', SLEEP(30))")
    find = "SELECT id FROM information_schema.processlist WHERE info LIKE 'INSERT INTO t (v) SELECT%'"
    servers[0].sql(f"KILL {frontdoor.until(lambda: servers[0].sql(find), 20, 'the statement runs')}")
    with pytest.raises(pymysql.err.MySQLError):
        connection._read_query_result()
    assert servers[0].sql(find) == ""
