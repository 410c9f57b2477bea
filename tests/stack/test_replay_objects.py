"""DDL, views, routines, triggers, events, users and grants arrive on the satellites as on the master."""

import contextlib

import pymysql
import pytest

from support import compose as containers
from support.same import assert_same_account, assert_same_answer, assert_same_rows, assert_same_schema


def test_users_roles_and_grants(stack, schema, execute):
    for user in ("anna", "'o\\'brien'", "writer_role"):
        stack.sql("master", f"DROP USER IF EXISTS {user}")
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY, s INT)",
        "CREATE USER anna IDENTIFIED BY 'pass-1' REQUIRE NONE PASSWORD EXPIRE NEVER COMMENT 'a user'",
        "CREATE ROLE writer_role",
        f"GRANT SELECT, INSERT ON `{schema}`.* TO writer_role",
        "GRANT writer_role TO anna",
        "SET DEFAULT ROLE ALL TO anna",
        f"GRANT UPDATE (s) ON `{schema}`.t TO anna",
        "CREATE USER 'o\\'brien'@'10.%' IDENTIFIED BY 'pa\\'ss'",
        "RENAME USER 'o\\'brien'@'10.%' TO 'o\\'brien'@'%'",
        "ALTER USER anna IDENTIFIED BY 'pass-2' ACCOUNT LOCK",
        "GRANT PROCESS ON *.* TO anna",
        "REVOKE INSERT ON `%s`.* FROM writer_role" % schema,
    )
    for account in ("anna", "writer_role", "'o\\'brien'"):
        assert len(assert_same_account(stack, account)) >= 1
    assert_same_answer(
        stack,
        "SELECT user, host, account_locked, authentication_string FROM mysql.user WHERE user IN ('anna', 'writer_role', 'o\\'brien') ORDER BY 1",
    )
    execute("DROP USER anna", "DROP ROLE writer_role", "DROP USER 'o\\'brien'")
    stack.await_satellites()
    for service in stack.satellites:
        assert stack.sql(service, "SELECT COUNT(*) FROM mysql.user WHERE user IN ('anna', 'writer_role')") == [(0,)]


def test_set_password_by_the_user_itself(stack, schema, execute):
    stack.sql("master", "DROP USER IF EXISTS selfish")
    execute("CREATE USER selfish IDENTIFIED BY 'first'")
    with stack.gate_connect(user="selfish", password="first", database=None) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER USER USER() IDENTIFIED BY 'second'")
    assert_same_account(stack, "selfish")
    execute("DROP USER selfish")


def test_views(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))",
        "INSERT INTO t VALUES (1, 'é')",
        "CREATE VIEW plain AS SELECT id, v FROM t",
        "CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW checked AS SELECT * FROM t WHERE id > 0 WITH CHECK OPTION",
        "CREATE OR REPLACE VIEW plain AS SELECT id, CONCAT(v, ' /* quoted ''text'' */') AS w FROM t",
        "ALTER VIEW checked AS SELECT id FROM t",
        "CREATE VIEW gone AS SELECT 1",
        "DROP VIEW gone",
    )
    assert_same_schema(stack, schema)
    assert_same_answer(stack, f"SELECT * FROM `{schema}`.plain")


def test_procedures_and_functions(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(40))",
        "SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_TRANS_TABLES'",
        """CREATE PROCEDURE fill(IN n INT) COMMENT 'fills; "quoted"' BEGIN DECLARE i INT DEFAULT 0; -- a comment; with a semicolon
               WHILE i < n DO INSERT INTO "t" (v) VALUES (CONCAT('row ', UUID())); SET i = i + 1; END WHILE; END""",
        "CREATE FUNCTION twice(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN x * 2",
        "CALL fill(20)",
        "ALTER PROCEDURE fill COMMENT 'changed'",
        "CREATE FUNCTION gone() RETURNS INT DETERMINISTIC RETURN 1",
        "DROP FUNCTION gone",
    )
    assert_same_schema(stack, schema)
    assert_same_answer(stack, f"SELECT `{schema}`.twice(21)")
    assert stack.sql("satellite-1", f"SELECT COUNT(*), COUNT(DISTINCT v) FROM `{schema}`.t") == [(20, 20)]


def test_who_creates_a_function_may_use_it_on_every_server(stack, schema, execute, incarnations):
    rows = (
        f"SELECT Host, Db, User, Routine_name, Routine_type, Proc_priv FROM mysql.procs_priv WHERE Db = '{schema}' ORDER BY 1, 2, 3, 4, 5"
    )
    accounts = ("creator", "owner", "'o\\'b`r'")
    for account in accounts:
        stack.sql("master", f"DROP USER IF EXISTS {account}")
    for account in accounts:
        execute(f"CREATE USER {account} IDENTIFIED BY 'pass-1'", f"GRANT CREATE ROUTINE, SELECT ON `{schema}`.* TO {account}")
    execute(f"GRANT ALL ON `{schema}`.* TO owner")
    for user, name in (("creator", "c``f"), ("owner", "w``f"), ("o'b`r", "o``f")):
        with (
            contextlib.closing(stack.gate_connect(user=user, password="pass-1", database=schema)) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(f"CREATE FUNCTION `{name}`(a INT) RETURNS INT DETERMINISTIC RETURN a + 1")
            cursor.execute(f"CREATE FUNCTION IF NOT EXISTS `{name}`(a INT) RETURNS INT DETERMINISTIC RETURN a + 2")
            cursor.execute(f"SELECT `{name}`(1)")
            assert cursor.fetchall() == ((2,),)
            cursor.execute("CREATE PROCEDURE gone() SELECT 1")
            cursor.execute("DROP PROCEDURE gone")
    assert_same_answer(stack, rows)
    assert [row[2:4] for row in stack.sql("satellite-1", rows)] == [("creator", "c`f"), ("o'b`r", "o`f")]
    for account in accounts:
        assert_same_account(stack, account)
    for service in stack.satellites:
        options = {"user": "creator", "password": "pass-1", "ssl_disabled": True}
        with pymysql.connect(host=containers.address(service), **options) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT `{schema}`.`c``f`(1)")
            assert cursor.fetchall() == ((2,),)
    execute("DROP FUNCTION `o``f`", "DROP FUNCTION `c``f`", "DROP FUNCTION `w``f`")
    assert list(assert_same_answer(stack, rows)) == []
    execute(*(f"DROP USER {account}" for account in accounts))
    assert {service: stack.incarnation(service) for service in stack.satellites} == incarnations, "a satellite was rebuilt"


def test_what_a_trigger_does_arrives_once(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE audit (n INT AUTO_INCREMENT PRIMARY KEY, id INT, what VARCHAR(10))",
        "CREATE TRIGGER note_insert AFTER INSERT ON t FOR EACH ROW INSERT INTO audit (id, what) VALUES (NEW.id, 'insert')",
        "CREATE TRIGGER double_it BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = NEW.v * 2",
        "CREATE TRIGGER note_delete BEFORE DELETE ON t FOR EACH ROW INSERT INTO audit (id, what) VALUES (OLD.id, 'delete')",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "UPDATE t SET v = 5 WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
    )
    assert_same_rows(stack, schema)
    for service in stack.satellites:
        assert stack.sql(service, f"SELECT v FROM `{schema}`.t") == [(10,)]
        assert stack.sql(service, f"SELECT id, what FROM `{schema}`.audit ORDER BY n") == [(1, "insert"), (2, "insert"), (2, "delete")]
        assert stack.sql(service, "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema <> 'sys'") == [(0,)]
    execute("DROP TRIGGER note_insert", "INSERT INTO t VALUES (3, 3)")
    assert_same_rows(stack, schema)


def test_what_an_event_does_arrives_once(stack, schema, execute):
    execute(
        "CREATE TABLE ticks (id INT AUTO_INCREMENT PRIMARY KEY, at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6))",
        "CREATE EVENT tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO ticks () VALUES ()",
    )
    stack.wait_for(lambda: stack.sql("master", f"SELECT COUNT(*) FROM `{schema}`.ticks")[0][0] >= 2, 20, "the event to run on the master")
    execute("ALTER EVENT tick DISABLE", "ALTER EVENT tick COMMENT 'still'", "DROP EVENT tick")
    assert_same_rows(stack, schema)
    for service in stack.satellites:
        assert stack.sql(service, "SELECT COUNT(*) FROM information_schema.events") == [(0,)]


def test_ddl_text_with_quotes_comments_and_unicode(stack, schema, execute):
    execute(
        r"""CREATE TABLE `we``ird "name"` (`a'b` INT PRIMARY KEY COMMENT 'it''s "a" \\ comment; -- 日本語 😀', `ü` VARCHAR(20) DEFAULT 'x\'y' /* inner */) -- to the end
            COMMENT='/* not a comment */'""",
        "/* leading */ ALTER TABLE `we``ird \"name\"` ADD INDEX `ïndex` (`ü`(3) DESC), ADD CHECK (`ü` <> ';')",
        "# hash\nINSERT INTO `we``ird \"name\"` VALUES (1, '😀')",
        "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
        """CREATE TABLE "ansi" ("select" INT PRIMARY KEY DEFAULT 3, "s" CHAR(5) DEFAULT '\\')""",
        """INSERT INTO "ansi" () VALUES ()""",
    )
    assert_same_schema(stack, schema)


@pytest.mark.parametrize("via", ["gate", "master"])
def test_ddl_of_many_kinds(stack, schema, execute, via):
    execute(
        "CREATE TABLE a (id INT PRIMARY KEY, p INT)",
        "CREATE TABLE b LIKE a",
        "CREATE TABLE c (id INT PRIMARY KEY, a_id INT, FOREIGN KEY (a_id) REFERENCES a (id))",
        "INSERT INTO a VALUES (1, 1), (2, 2)",
        "INSERT INTO c VALUES (1, 1)",
        "RENAME TABLE b TO b2, c TO c2",
        "INSERT INTO b2 SELECT * FROM a",
        "ALTER TABLE b2 RENAME TO b3",
        "TRUNCATE TABLE b3",
        "INSERT INTO b3 VALUES (9, 9)",
        "CREATE TABLE x1 (i INT PRIMARY KEY)",
        "CREATE TABLE x2 (i INT PRIMARY KEY)",
        "DROP TABLE IF EXISTS x1, x2, never_there",
        "CREATE INDEX i ON a (p)",
        "DROP INDEX i ON a",
        "CREATE TABLE parts (id INT, y INT, PRIMARY KEY (id, y)) PARTITION BY RANGE (y) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
        "INSERT INTO parts VALUES (1, 5), (2, 50)",
        "ALTER TABLE parts TRUNCATE PARTITION p0",
        "INSERT INTO parts VALUES (3, 6)",
        "ALTER DATABASE COLLATE utf8mb4_bin",
        "CREATE TABLE inherits (v VARCHAR(5))",
        "ANALYZE TABLE a",
        "OPTIMIZE TABLE a",
        "FLUSH TABLES",
        via=via,
    )
    assert_same_schema(stack, schema)


def test_a_dropped_schema_is_gone(stack, schema, execute):
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "CREATE VIEW v AS SELECT * FROM t",
        f"DROP DATABASE `{schema}`",
        f"CREATE DATABASE `{schema}` CHARACTER SET latin1",
        f"CREATE TABLE `{schema}`.t (other VARCHAR(3) PRIMARY KEY)",
        f"INSERT INTO `{schema}`.t VALUES ('é')",
    )
    assert_same_schema(stack, schema)


def test_default_values_that_depend_on_the_session(stack, schema, execute):
    execute(
        "SET time_zone = '-03:00'",
        "SET SESSION explicit_defaults_for_timestamp = OFF, sql_mode = ''",
        "CREATE TABLE d (id INT PRIMARY KEY, ts TIMESTAMP DEFAULT '2024-01-01 00:00:00', n TIMESTAMP)",
        "INSERT INTO d (id) VALUES (1)",
        "SET SESSION default_storage_engine = InnoDB, collation_connection = 'latin1_swedish_ci'",
        "SET timestamp = 1000000000",
        "ALTER TABLE d ADD COLUMN added DATETIME DEFAULT CURRENT_TIMESTAMP",
    )
    assert_same_schema(stack, schema)


def test_a_create_table_as_select_ends_in_equal_satellites_that_serve(stack, schema, execute):
    execute(
        "CREATE TABLE source (id INT PRIMARY KEY, v VARCHAR(20))",
        "INSERT INTO source VALUES (1, 'a'), (2, 'b')",
        "CREATE TABLE copied (PRIMARY KEY (id)) AS SELECT id, v, RAND() AS r FROM source",
    )
    stack.await_satellites(deadline_s=120)
    assert_same_schema(stack, schema)
    assert stack.sql("satellite-2", f"SELECT COUNT(*) FROM `{schema}`.copied") == [(2,)]
