"""`make import` of what mysqldump writes by default: every row reaches the satellites."""

from support import compose as containers
from support.same import assert_same_schema


def test_a_default_dump_reaches_the_satellites(stack, schema, execute):
    """With GTID_PURGED and SQL_LOG_BIN lines, routines, triggers and events, quotes and bytes."""
    source, target = schema, schema + "_2"
    execute(
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(100), b VARBINARY(300), j JSON, KEY (v))",
        r"INSERT INTO t (v, b, j) VALUES ('SET @@SESSION.SQL_LOG_BIN= 0;', X'000A0D275C22', '{}'), ('line\nSET @@GLOBAL.GTID_PURGED=''x'';\n', NULL, NULL), ('é😀', '', '[1]')",
        "CREATE TABLE log (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20))",
        "CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log (what) VALUES ('once')",
        "CREATE PROCEDURE p() BEGIN\nSET @x = 1;\nSELECT 1;\nEND",
        "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1",
        "CREATE VIEW w AS SELECT v FROM t",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM log",
    )
    dump = stack.compose(
        "exec",
        "-T",
        "master",
        "mysqldump",
        "--defaults-file=/run/multimed/client.cnf",
        "--routines",
        "--triggers",
        "--events",
        "--databases",
        source,
    ).stdout
    assert "GTID_PURGED" in dump and "SQL_LOG_BIN= 0" in dump
    file = stack.state / "dump.sql"
    file.write_text(dump.replace(f"`{source}`", f"`{target}`"))
    stack.sql("master", f"DROP DATABASE IF EXISTS `{target}`")
    before = stack.gtid("master")
    done = containers.run("make", "-s", "import", env={"FILE": str(file), "DB": ""})
    assert "loaded" in done.stderr
    assert stack.gtid("master") != before, "the import has GTIDs of its own"
    assert_same_schema(stack, target)
    assert stack.sql("satellite-1", f"SELECT COUNT(*) FROM `{target}`.t") == [(3,)]
    assert stack.sql("satellite-1", f"SELECT COUNT(*) FROM `{target}`.log") == [(0,)], "the trigger came after its table's rows in the dump"
    assert stack.sql("master", "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema=%s", (target,)) == [(1,)]
    assert stack.sql("master", "SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'multimed_import%%'") == [(0,)]


def test_a_dump_without_a_schema_into_a_named_one(stack, schema, execute):
    file = stack.state / "plain.sql"
    file.write_text("CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1),(2);\n")
    containers.run("make", "-s", "import", env={"FILE": str(file), "DB": schema})
    assert_same_schema(stack, schema)
    assert stack.sql("satellite-2", f"SELECT COUNT(*) FROM `{schema}`.t") == [(2,)]


def test_a_dump_that_would_bypass_the_binlog_is_refused(stack, schema, execute):
    file = stack.state / "bypass.sql"
    file.write_text("/* hidden */ SET SQL_LOG_BIN=0;\nCREATE TABLE never (id INT PRIMARY KEY);\n")
    done = containers.run("make", "-s", "import", env={"FILE": str(file), "DB": schema}, check=False)
    assert done.returncode != 0 and "1227" in done.stderr
    assert stack.sql("master", "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=%s", (schema,)) == [(0,)]
