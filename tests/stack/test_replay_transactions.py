"""Transactions of every shape arrive whole, once, and exactly."""

import pymysql
import pytest

from support.same import assert_same_rows, assert_same_schema


@pytest.mark.parametrize("via", ["gate", "master"])
def test_a_changed_primary_key(stack, schema, execute, via):
    execute(
        "CREATE TABLE k (a INT, b VARCHAR(10), v INT, PRIMARY KEY (a, b))",
        "INSERT INTO k VALUES (1, 'x', 1), (2, 'x', 2), (3, 'x', 3)",
        "UPDATE k SET a = a + 10 WHERE a = 1",
        "UPDATE k SET a = a + 1 ORDER BY a DESC",
        "UPDATE k SET b = 'X', v = v + 1 WHERE a = 3",
        via=via,
    )
    assert_same_rows(stack, schema)


def test_a_key_that_differs_only_in_case_or_trailing_space(stack, schema, execute):
    execute(
        "CREATE TABLE k (s VARCHAR(10) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, v INT)",
        "INSERT INTO k VALUES ('abc', 1), ('ü', 2)",
        "UPDATE k SET s = 'ABC' WHERE v = 1",
        "UPDATE k SET s = 'u', v = 3 WHERE v = 2",
    )
    assert_same_rows(stack, schema)


def test_foreign_key_cascades(stack, schema, execute):
    execute(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE orphan (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL)",
        "CREATE TABLE grandchild (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES child (id) ON DELETE CASCADE)",
        "INSERT INTO parent VALUES (1), (2), (3)",
        "INSERT INTO child VALUES (10, 1), (20, 2), (30, 3)",
        "INSERT INTO orphan VALUES (1, 2)",
        "INSERT INTO grandchild VALUES (100, 10), (200, 20)",
        "DELETE FROM parent WHERE id = 1",
        "UPDATE parent SET id = 33 WHERE id = 3",
        "DELETE FROM parent WHERE id = 2",
    )
    assert_same_rows(stack, schema)


def test_rows_that_foreign_key_checks_off_let_in(stack, schema, execute):
    execute(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
        "SET foreign_key_checks = 0",
        "INSERT INTO child VALUES (1, 99)",
        "SET foreign_key_checks = 1",
        "DELETE FROM child WHERE id = 1",
        "SET foreign_key_checks = 0",
        "INSERT INTO child VALUES (2, 99)",
        "DROP TABLE parent",
    )
    assert_same_rows(stack, schema)


def test_savepoints(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "START TRANSACTION",
        "INSERT INTO t VALUES (1)",
        "SAVEPOINT one",
        "INSERT INTO t VALUES (2)",
        "ROLLBACK TO SAVEPOINT one",
        "INSERT INTO t VALUES (3)",
        "SAVEPOINT `two 2`",
        "RELEASE SAVEPOINT one",
        "COMMIT",
        "START TRANSACTION",
        "INSERT INTO t VALUES (4)",
        "ROLLBACK",
    )
    assert_same_rows(stack, schema)
    assert stack.sql("satellite-1", f"SELECT id FROM `{schema}`.t ORDER BY 1") == [(1,), (3,)]


def test_xa_transactions_committed_and_rolled_back(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "XA START 'one'",
        "INSERT INTO t VALUES (1)",
        "XA END 'one'",
        "XA COMMIT 'one' ONE PHASE",
        "XA START 'two'",
        "INSERT INTO t VALUES (2)",
        "XA END 'two'",
        "XA PREPARE 'two'",
        "XA ROLLBACK 'two'",
    )
    stack.await_satellites(deadline_s=120)
    assert_same_rows(stack, schema)
    execute(
        "XA START X'03FF', 'b', 5",
        "INSERT INTO t VALUES (3)",
        "XA END X'03FF', 'b', 5",
        "XA PREPARE X'03FF', 'b', 5",
        "XA COMMIT X'03FF', 'b', 5",
        "INSERT INTO t VALUES (4)",
    )
    stack.await_satellites(deadline_s=120)
    assert_same_rows(stack, schema)
    assert stack.sql("satellite-1", f"SELECT id FROM `{schema}`.t ORDER BY 1") == [(1,), (3,), (4,)]


def test_statement_format_of_a_session(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50), at TIMESTAMP NULL)",
        "SET SESSION binlog_format = STATEMENT",
        "SET @x = 'ü\\'x'",
        "INSERT INTO t (v, at) VALUES (@x, NOW())",
        "INSERT INTO t (v) VALUES (LAST_INSERT_ID()), (RAND(5))",
        "UPDATE t SET v = CONCAT(v, id)",
        "START TRANSACTION",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO t (v) VALUES ('last')",
        "COMMIT",
        via="master",
    )
    stack.await_satellites(deadline_s=120)
    assert_same_rows(stack, schema)


def test_minimal_row_image_of_a_session(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20) DEFAULT 'd', c JSON)",
        "SET SESSION binlog_row_image = MINIMAL",
        "INSERT INTO t (id, a) VALUES (1, 1), (2, 2)",
        "UPDATE t SET b = 'x' WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
        "SET SESSION binlog_row_image = NOBLOB",
        "UPDATE t SET a = 5",
        via="master",
    )
    stack.await_satellites(deadline_s=120)
    assert_same_rows(stack, schema)


def test_temporary_tables_stay_on_the_master(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY)",
        "INSERT INTO tmp VALUES (1), (2)",
        "INSERT INTO t SELECT * FROM tmp",
        "CREATE TEMPORARY TABLE t (shadow INT)",
        "INSERT INTO t VALUES (77)",
        "DROP TEMPORARY TABLE t",
        "DROP TEMPORARY TABLE tmp",
    )
    assert_same_schema(stack, schema)
    assert stack.sql("satellite-1", f"SELECT id FROM `{schema}`.t ORDER BY 1") == [(1,), (2,)]


def test_several_tables_in_one_transaction_and_upserts(stack, schema, execute):
    execute(
        "CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v INT UNIQUE)",
        "CREATE TABLE b (id INT PRIMARY KEY, a INT)",
        "START TRANSACTION",
        "INSERT INTO a (v) VALUES (1), (2), (3)",
        "INSERT INTO b SELECT id, v FROM a",
        "REPLACE INTO a (v) VALUES (2)",
        "INSERT INTO a (v) VALUES (3) ON DUPLICATE KEY UPDATE v = 30",
        "INSERT IGNORE INTO a (v) VALUES (30)",
        "UPDATE a JOIN b ON a.id = b.id SET a.v = a.v + 100, b.a = 0",
        "DELETE a FROM a JOIN b ON a.id = b.id WHERE b.id = 1",
        "COMMIT",
    )
    assert_same_rows(stack, schema)


def test_swapping_unique_values_in_one_transaction(stack, schema, execute):
    execute(
        "CREATE TABLE u (id INT PRIMARY KEY, v INT UNIQUE)",
        "INSERT INTO u VALUES (1, 1), (2, 2)",
        "START TRANSACTION",
        "UPDATE u SET v = 0 WHERE id = 1",
        "UPDATE u SET v = 1 WHERE id = 2",
        "UPDATE u SET v = 2 WHERE id = 1",
        "COMMIT",
    )
    assert_same_rows(stack, schema)


def test_an_empty_transaction_moves_the_position_on(stack, schema, execute):
    uuid = stack.sql("master", "SELECT @@server_uuid")[0][0]
    with stack.admin_connect("master") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT MAX(CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(@@global.gtid_executed, ':', -1), '-', -1) AS UNSIGNED))")
        cursor.execute("SET gtid_next = %s", ("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee:1",))
        cursor.execute("BEGIN")
        cursor.execute("COMMIT")
        cursor.execute("SET gtid_next = AUTOMATIC")
    assert uuid
    execute("CREATE TABLE after_it (id INT PRIMARY KEY)")
    stack.await_satellites(deadline_s=120)
    assert stack.contains("satellite-1", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee:1")


def test_tagged_gtids(stack, schema, execute):
    stack.sql("master", f"CREATE TABLE `{schema}`.t (id INT PRIMARY KEY)")
    with stack.admin_connect("master") as connection, connection.cursor() as cursor:
        cursor.execute("SET gtid_next = 'AUTOMATIC:blue'")
        cursor.execute(f"INSERT INTO `{schema}`.t VALUES (1)")
        cursor.execute("SET gtid_next = 'AUTOMATIC'")
        cursor.execute(f"INSERT INTO `{schema}`.t VALUES (2)")
    stack.await_satellites(deadline_s=120)
    assert "blue" in stack.gtid("satellite-1")
    assert_same_rows(stack, schema)


def test_load_data_local(stack, schema, execute):
    stack.sql("master", "SET GLOBAL local_infile = ON")
    try:
        stack.compose("exec", "-T", "master", "sh", "-c", "printf '1\\tplain\\n2\\twith\\\\ttab\\n3\\t\\\\N\\n' > /tmp/rows.txt")
        stack.client(
            "master",
            f"CREATE TABLE `{schema}`.t (id INT PRIMARY KEY, v VARCHAR(20)); LOAD DATA LOCAL INFILE '/tmp/rows.txt' INTO TABLE `{schema}`.t",
            "--local-infile=1",
        )
    finally:
        stack.sql("master", "SET GLOBAL local_infile = OFF")
    assert_same_rows(stack, schema)
    assert stack.sql("satellite-2", f"SELECT v FROM `{schema}`.t ORDER BY id") == [("plain",), ("with\ttab",), (None,)]


def test_a_failed_statement_leaves_nothing(stack, schema, execute):
    execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with pytest.raises(pymysql.err.IntegrityError):
        execute("INSERT INTO t VALUES (2), (1)")
    assert_same_rows(stack, schema)
