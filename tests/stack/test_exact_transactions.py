"""Transactions that need more than rows: exact without a rebuild wherever that is certain, and what they became in the log."""

import contextlib

import pymysql
import pytest

from support import changelog
from support.same import assert_same_rows, assert_same_schema


@pytest.fixture
def player(stack, schema):
    with contextlib.closing(changelog.Player(stack, schema)) as opened:
        yield opened


@pytest.fixture
def became(stack, player, incarnations):
    """became(label="") -> the kinds of what was played under it, once the satellites have it; nobody was rebuilt for it."""

    def kinds(label=""):
        stack.await_satellites(deadline_s=120)
        assert {service: stack.incarnation(service) for service in stack.satellites} == incarnations, "a satellite was rebuilt"
        found = changelog.kinds(stack)
        return [found.get(gtid, "nothing") for gtid in player.gtids.get(label, [])]

    return kinds


def test_compressed_transactions(stack, schema, player, became):
    player.play("ddl", "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200))", "CREATE TABLE j (id INT PRIMARY KEY, j JSON)")
    player.cursor.execute("SET SESSION binlog_transaction_compression = ON, cte_max_recursion_depth = 1000000")
    player.play("rows", "INSERT INTO t VALUES (1, 'a'), (2, 'ü')", "UPDATE t SET v = 'b' WHERE id = 1")
    player.play("raw", "INSERT INTO j VALUES (1, '{}')")
    player.play(
        "large",
        "INSERT INTO t WITH RECURSIVE s (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM s WHERE i < 40000) SELECT i, REPEAT('x', 150) FROM s",
    )
    player.play("created", "CREATE TABLE made AS SELECT * FROM t WHERE id < 3")
    assert set(became("raw")) == {"raw type"} and set(became("large")) == {"raw large"}
    assert set(became("created")) == {"statement, raw create_select"}
    assert set(became("rows")) <= {"rows", "raw catching_up"}
    assert_same_schema(stack, schema)


def test_many_changes(stack, schema, player, became):
    """100 go as rows; one more makes the transaction raw, whatever statements and tables they are spread over."""
    numbers = "WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {}) SELECT i, 'é' FROM s"
    player.play("ddl", *(f"CREATE TABLE {name} (id INT PRIMARY KEY, v VARCHAR(20))" for name in "tu"))
    became("ddl")
    player.play("rows", f"INSERT INTO t {numbers.format(100)}", "UPDATE t SET v = 'ü'")
    player.play("raw", f"INSERT INTO u {numbers.format(101)}", "UPDATE u SET v = 'ü'")
    player.play("spread", "BEGIN", "DELETE FROM t WHERE id > 40", "DELETE FROM u WHERE id > 60", "COMMIT")
    assert set(became("rows")) <= {"rows", "raw catching_up"}
    assert set(became("raw")) | set(became("spread")) == {"raw many_rows"}
    assert_same_rows(stack, schema, "t", "u")


def test_xa_prepared_in_one_session_and_ended_in_another(stack, schema, player, became):
    player.play(
        "",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE made (id INT PRIMARY KEY, ts TIMESTAMP NULL, d DATE AS (DATE(ts)) STORED)",
    )
    player.play(
        "prepared",
        "SET time_zone = '+09:00'",
        "XA START 'kept','b',7",
        "INSERT INTO made (id, ts) VALUES (1, '2024-01-02 01:00:00')",
        "INSERT INTO t VALUES (1, 1)",
        "UPDATE t SET v = 2 WHERE id = 1",
        "XA END 'kept','b',7",
        "XA PREPARE 'kept','b',7",
    )
    player.close()
    with contextlib.closing(changelog.Player(stack, schema)) as other:
        player.gtids.update(other.gtids)
        other.gtids = player.gtids
        other.play("meanwhile", "INSERT INTO t VALUES (5, 5)")
        other.play("gone", "XA START 'gone'", "INSERT INTO t VALUES (2, 2)", "XA END 'gone'", "XA PREPARE 'gone'")
        other.play("gone", "XA ROLLBACK 'gone'")
        other.play("committed", "XA COMMIT 'kept','b',7")
        other.play("one", "XA START 'one'", "INSERT INTO t VALUES (3, 3)", "XA END 'one'", "XA COMMIT 'one' ONE PHASE")
        other.play("nothing", "XA START 'none'", "SELECT * FROM t", "XA END 'none'", "XA PREPARE 'none'", "XA COMMIT 'none'")
    assert set(became("prepared")) == {"empty"} == set(became("gone"))
    assert became("committed") == ["raw xa"] and became("one") == ["raw xa"]
    assert_same_schema(stack, schema)
    assert stack.sql("satellite-1", f"SELECT id, v FROM `{schema}`.t ORDER BY 1") == [(1, 2), (3, 3), (5, 5)]


def test_stored_generated_columns_that_depend_on_the_session(stack, schema, player, became):
    """MySQL computes them anew from a row event."""
    player.play(
        "ddl",
        "CREATE TABLE g (id INT PRIMARY KEY, ts TIMESTAMP NULL, d DATE AS (DATE(ts)) STORED, n VARCHAR(30) AS (DATE_FORMAT(ts, '%W %H')) STORED, KEY (n))",
    )
    player.cursor.execute("SET SESSION time_zone = '+05:30', lc_time_names = 'de_DE'")
    player.play(
        "",
        "INSERT INTO g (id, ts) VALUES (1, '2024-01-02 01:00:00'), (2, '2024-06-01 00:10:00')",
        "UPDATE g SET ts = ts + INTERVAL 1 DAY WHERE id = 2",
    )
    player.cursor.execute("SET SESSION time_zone = '+00:00', lc_time_names = 'en_US'")
    player.play("", "INSERT INTO g (id, ts) VALUES (3, '2024-01-02 01:00:00')")
    assert set(became()) == {"raw computes"}
    assert stack.sql("satellite-1", f"SELECT n FROM `{schema}`.g WHERE id = 1") == [("Dienstag 01",)]
    assert_same_rows(stack, schema)


def test_tables_and_sessions_whose_changes_go_raw(stack, schema, player, became):
    """Each reason that LOG.md names, with inserts, updates, changed keys and deletes."""
    keyed = {
        "no_key": "a INT, b VARCHAR(20)",
        "computes": "a INT PRIMARY KEY, b VARCHAR(20), v INT AS (a + 1) VIRTUAL, s INT AS (a * 2) STORED UNIQUE",
    }
    for reason, columns in keyed.items():
        player.play("ddl", f"CREATE TABLE t_{reason} ({columns})")
        player.play(
            reason,
            f"INSERT INTO t_{reason} (a, b) VALUES (1, 'x'), (2, 'x'), (3, NULL)",
            f"UPDATE t_{reason} SET b = 'y' WHERE a = 1",
            f"UPDATE t_{reason} SET a = 10 WHERE a = 2",
            f"DELETE FROM t_{reason} WHERE a = 3",
        )
    player.play(
        "ddl",
        "CREATE TABLE prefixed (a TEXT, b INT, PRIMARY KEY (a(3)))",
        "CREATE TABLE descending (a INT, b VARCHAR(5), PRIMARY KEY (a DESC, b))",
        "CREATE TABLE functional (a INT PRIMARY KEY, b VARCHAR(9), UNIQUE ((LOWER(b))))",
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
    )
    player.play(
        "no_key",
        "INSERT INTO prefixed VALUES ('abc', 1), ('xyz', 2)",
        "UPDATE prefixed SET a = 'ABCD' WHERE b = 1",
        "DELETE FROM prefixed WHERE b = 2",
    )
    player.play(
        "descending",
        "INSERT INTO descending VALUES (1, 'a'), (2, 'b')",
        "UPDATE descending SET a = 9 WHERE b = 'a'",
        "DELETE FROM descending WHERE a = 2",
    )
    player.play(
        "functional",
        "INSERT INTO functional VALUES (1, 'A'), (2, 'b')",
        "UPDATE functional SET b = 'C' WHERE a = 2",
        "DELETE FROM functional WHERE a = 1",
    )
    player.play(
        "cascade", "INSERT INTO parent VALUES (1), (2)", "INSERT INTO child VALUES (1, 1), (2, 2)", "DELETE FROM parent WHERE id = 1"
    )
    player.play("flags", "SET foreign_key_checks = 0", "INSERT INTO child VALUES (7, 77)", "SET foreign_key_checks = 1")
    player.play("row_image", "SET binlog_row_image = MINIMAL", "UPDATE child SET p = NULL WHERE id = 2", "SET binlog_row_image = FULL")
    player.play("one", "SET unique_checks = 0", "INSERT INTO parent VALUES (5)", "SET unique_checks = 1")
    for reason in ("no_key", "computes", "flags", "row_image"):
        assert set(became(reason)) <= {f"raw {reason}", "raw key_change"}, (reason, became(reason))
    assert_same_schema(stack, schema)


def test_replace_into_a_parent_keeps_its_children_and_both_tables_in_one_change_cost_no_clone(stack, schema, player, became):
    """The master logs what its foreign keys change; satellites neither repeat that, nor stumble over what is logged twice."""
    numbers = "WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 60)"
    player.play(
        "",
        "CREATE TABLE p (id INT PRIMARY KEY, j JSON)",
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, v INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE n (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE CASCADE)",
        "CREATE TABLE t (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)",
        f"INSERT INTO p {numbers} SELECT i, '1' FROM s",
        f"INSERT INTO c {numbers} SELECT i, (i + 2) DIV 3, 0 FROM s",
        "INSERT INTO n SELECT id, p FROM c",
        "INSERT INTO t VALUES (1, 1), (2, 1), (3, NULL)",
        "REPLACE INTO p VALUES (1, '{}')",
        f"REPLACE INTO p {numbers} SELECT i, '[]' FROM s",
        "UPDATE p JOIN c ON c.p = p.id SET p.id = p.id + 100, c.v = 7 WHERE p.id < 4",
        "DELETE p, c FROM p JOIN c ON c.p = p.id WHERE p.id < 8",
        "DELETE p, c FROM p JOIN c ON c.p = p.id WHERE p.id = 9 AND c.id = 25",
        "DELETE FROM t",
    )
    assert not [kind for kind in became() if kind.startswith("rebuild")]
    assert stack.sql("satellite-1", f"SELECT COUNT(*) FROM `{schema}`.n WHERE p IS NOT NULL") != [(0,)]
    assert_same_rows(stack, schema)


def test_sessions_in_statement_format_end_in_equal_satellites(stack, schema, player):
    """What is not certain to do the same is not tried: satellites clone again."""
    player.play(
        "",
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50))",
        "SET SESSION binlog_format = STATEMENT",
        "INSERT INTO t (v) VALUES (UUID()), (RAND())",
        "CREATE TABLE made AS SELECT UUID() AS u",
    )
    stack.await_satellites(deadline_s=180)
    assert any(kind.startswith("rebuild") for kind in (changelog.kinds(stack).get(gtid, "") for gtid in player.gtids[""]))
    assert_same_schema(stack, schema)


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("killed", [None, "capture"])
def test_a_rebuild_leaves_a_satellite_serving(stack, schema, player, incarnations, killed):
    """One clones after the other: what the others have is old, not wrong. Capture, which gives the turns, begins anew meanwhile."""
    serving = []

    def all_are_new():
        now = {}
        for service in stack.satellites:
            with contextlib.suppress(pymysql.err.Error):
                now[service] = stack.incarnation(service)
        serving.append(len(now))
        return len(now) == len(incarnations) and not set(now.values()) & set(incarnations.values())

    player.play("", "CREATE TABLE t (v INT)", "SET SESSION binlog_format = STATEMENT", "INSERT INTO t VALUES (1)")
    if killed:
        stack.wait_for(lambda: not all_are_new() and serving[-1] < len(incarnations), 60, "one to clone")
        stack.kill_process(killed, "java")
    stack.wait_for(all_are_new, 240, "every satellite to have cloned again")
    assert min(serving) >= len(stack.satellites) - 1
    assert_same_rows(stack, schema)


def test_rows_numbered_in_the_order_of_their_insertion_end_in_equal_satellites(stack, schema, player, incarnations):
    player.play("ddl", "CREATE TABLE t (v INT)", "INSERT INTO t VALUES (3), (1), (2)")
    player.play("", "ALTER TABLE t ADD id INT AUTO_INCREMENT PRIMARY KEY")
    stack.await_satellites(deadline_s=180)
    assert changelog.kinds(stack)[player.gtids[""][0]] == "statement"
    assert not set(incarnations.values()) & {stack.incarnation(service) for service in stack.satellites}, "they have cloned again"
    assert_same_schema(stack, schema)


def test_rows_with_a_key_are_numbered_without_a_clone(stack, schema, player, incarnations):
    player.play("ddl", "CREATE TABLE t (v INT PRIMARY KEY, id INT NOT NULL DEFAULT 0)", "INSERT INTO t (v) VALUES (3), (1), (2)")
    player.play("", "ALTER TABLE t MODIFY id INT AUTO_INCREMENT, ADD KEY (id)", "ALTER TABLE t ADD more SERIAL, MODIFY id INT")
    stack.await_satellites()
    assert_same_schema(stack, schema)
    assert incarnations == {service: stack.incarnation(service) for service in stack.satellites}


def test_values_that_depend_on_what_the_binlog_does_not_have_end_in_equal_satellites(stack, schema, player):
    """Under the settings of a client, which no satellite knows."""
    player.play("ddl", "CREATE TABLE t (id INT PRIMARY KEY, d DATE)", "INSERT INTO t VALUES (1, '2026-01-01'), (3, '2026-12-31')")
    for setting in ("default_week_format = 3", "div_precision_increment = 9"):
        player.cursor.execute(f"SET SESSION {setting}")
    player.play(
        "",
        "ALTER TABLE t ADD w INT AS (WEEK(d)) STORED, ADD part DECIMAL(20, 12) AS (id / 7) STORED",
        "ALTER TABLE t ADD thread BIGINT DEFAULT (ps_current_thread_id())",
    )
    stack.await_satellites(deadline_s=180)
    assert all(changelog.kinds(stack)[gtid].startswith("rebuild") for gtid in player.gtids[""])
    assert_same_schema(stack, schema)


def test_what_a_table_computes_of_its_rows_is_computed_under_the_transactions_settings(stack, schema, player, became, incarnations):
    """Stored columns, what indexes hold, and CHECKs that the master has passed."""
    player.play(
        "ddl",
        "CREATE TABLE likes (id INT PRIMARY KEY, c VARCHAR(9), g INT AS (c LIKE '%\\\\%') STORED, v INT AS (c LIKE '%\\\\%'), KEY (v))",
        "CREATE TABLE hours (id INT PRIMARY KEY, ts TIMESTAMP NULL, KEY by_hour ((HOUR(ts))))",
        "CREATE TABLE mornings (id INT PRIMARY KEY, ts TIMESTAMP NULL, CHECK (HOUR(ts) < 12))",
        "CREATE TABLE padded (id INT PRIMARY KEY, c CHAR(5), n INT AS (LENGTH(c)) STORED, KEY by_length ((LENGTH(c))))",
        "CREATE TABLE less (id INT PRIMARY KEY, u INT UNSIGNED, s BIGINT AS (u - 5) STORED)",
    )
    for setting in ("time_zone = '+05:30'", "sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,NO_UNSIGNED_SUBTRACTION'"):
        player.cursor.execute(f"SET SESSION {setting}")
    player.play(
        "",
        "INSERT INTO likes (id, c) VALUES (1, 'a%'), (2, 'b'), (3, 'c\\\\')",
        "INSERT INTO hours VALUES (1, '2026-01-01 05:10:00'), (2, '2026-01-01 23:10:00')",
        "INSERT INTO mornings VALUES (1, '2026-01-02 03:10:00')",
        "UPDATE mornings SET ts = ts + INTERVAL 1 DAY",
        "INSERT INTO padded (id, c) VALUES (1, 'ab')",
        "INSERT INTO less (id, u) VALUES (1, 3)",
    )
    assert set(became()) == {"raw computes"}
    stack.await_satellites()
    by_index = {
        "likes": "SELECT COUNT(*) FROM {}.likes FORCE INDEX (v) WHERE v = 1",
        "hours": "SELECT COUNT(*) FROM {}.hours FORCE INDEX (by_hour) WHERE HOUR(ts) = 5",
        "padded": "SELECT COUNT(*) FROM {}.padded FORCE INDEX (by_length) WHERE LENGTH(c) = 5",
    }
    for name, query in by_index.items():
        found = {service: stack.sql(service, query.format(schema)) for service in ("master", *stack.satellites)}
        assert set(map(tuple, found.values())) == {((1,),)}, (name, found)
    assert_same_rows(stack, schema)
    assert incarnations == {service: stack.incarnation(service) for service in stack.satellites}
