"""Every statement that the binlog carries as text, and every shape of transaction: the same objects, accounts and rows on satellites, without a
rebuild wherever that is certain, and which kind of record it became."""

import contextlib

import pytest

from support import changelog
from support.same import assert_same_account, assert_same_answer, assert_same_rows, assert_same_schema

ACCOUNTS = (
    "user",
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "proxies_priv",
    "role_edges",
    "default_roles",
    "global_grants",
    "password_history",
)
OWN = "('mysql.sys','mysql.session','mysql.infoschema','multimed_applier','multimed_local','root')"


@pytest.fixture
def player(stack, schema):
    with contextlib.closing(changelog.Player(stack, schema)) as opened:
        yield opened


@pytest.fixture
def became(stack, player, incarnations):
    """became(label="") -> the kinds of what was played under it; nobody was rebuilt for it unless allowed."""

    def kinds(label="", rebuilt=False):
        stack.await_satellites(deadline_s=120)
        assert rebuilt or {service: stack.incarnation(service) for service in stack.satellites} == incarnations, "a satellite was rebuilt"
        found = changelog.kinds(stack)
        return [found.get(gtid, "nothing") for gtid in player.gtids.get(label, [])]

    return kinds


def only_statements(kinds):
    return set(kinds) == {"statement"}


def test_table_ddl_of_every_algorithm(stack, schema, player, became):
    player.play(
        "rows",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20) DEFAULT 'x', g POINT NOT NULL SRID 4326, txt TEXT)",
        "INSERT INTO t (id, a, g, txt) VALUES (1, 1, ST_SRID(POINT(1, 2), 4326), 'one two'), (2, 2, ST_SRID(POINT(3, 4), 4326), 'three')",
    )
    player.play(
        "",
        "ALTER TABLE t ADD COLUMN c INT DEFAULT 7, ALGORITHM=INSTANT",
        "ALTER TABLE t DROP COLUMN a, ALGORITHM=INSTANT",
        "ALTER TABLE t RENAME COLUMN b TO bb, ALGORITHM=INSTANT",
        "ALTER TABLE t ADD COLUMN first_one INT NOT NULL DEFAULT 3 FIRST, ALGORITHM=INPLACE, LOCK=NONE",
        "ALTER TABLE t ALTER COLUMN c SET DEFAULT 9",
        "ALTER TABLE t MODIFY bb VARCHAR(300) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL, ALGORITHM=COPY",
        "ALTER TABLE t ADD INDEX i_desc (c DESC, bb(3))",
        "ALTER TABLE t ADD INDEX i_fn ((LOWER(bb)), (c * 2))",
        "ALTER TABLE t ADD FULLTEXT INDEX i_ft (txt)",
        "ALTER TABLE t ADD SPATIAL INDEX i_sp (g)",
        "ALTER TABLE t ALTER INDEX i_desc INVISIBLE",
        "ALTER TABLE t ADD CONSTRAINT positive CHECK (c > 0) NOT ENFORCED",
        "ALTER TABLE t ALTER CHECK positive ENFORCED",
        "ALTER TABLE t ALTER COLUMN bb SET INVISIBLE",
        "ALTER TABLE t COMMENT = 'it''s \"new\"', ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE=8",
        "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb3",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, c)",
        "ALTER TABLE t ENGINE=InnoDB",
        "ALTER TABLE t FORCE",
        "ALTER TABLE t DISABLE KEYS",
        "ALTER TABLE t ORDER BY c",
        "CREATE UNIQUE INDEX u ON t (c, id)",
        "DROP INDEX u ON t",
        "ALTER TABLE t DROP CHECK positive",
        "ALTER TABLE t RENAME INDEX i_desc TO i_renamed",
        "ALTER TABLE t STATS_PERSISTENT=1, AUTO_INCREMENT=50",
        "ANALYZE TABLE t",
        "ANALYZE TABLE t UPDATE HISTOGRAM ON c WITH 4 BUCKETS",
        "OPTIMIZE TABLE t",
        "TRUNCATE t",
        "ALTER TABLE t RENAME renamed",
    )
    assert only_statements(became())
    assert_same_schema(stack, schema)


def test_partitions(stack, schema, player, became):
    player.play(
        "rows",
        "CREATE TABLE p (id INT, y INT, PRIMARY KEY (id, y)) PARTITION BY RANGE (y) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
        "INSERT INTO p VALUES (1, 5), (2, 15)",
        "CREATE TABLE flat (id INT, y INT, PRIMARY KEY (id, y)) PARTITION BY LIST (y) (PARTITION a VALUES IN (1, 2), PARTITION b VALUES IN (3))",
        "CREATE TABLE other (id INT, y INT, PRIMARY KEY (id, y))",
        "INSERT INTO flat VALUES (1, 1), (3, 3)",
        "INSERT INTO other VALUES (9, 3)",
        "CREATE TABLE h (id INT PRIMARY KEY) PARTITION BY KEY (id) PARTITIONS 3",
        "INSERT INTO h VALUES (1), (2), (3)",
    )
    player.play(
        "",
        "ALTER TABLE p ADD PARTITION (PARTITION p2 VALUES LESS THAN MAXVALUE)",
        "ALTER TABLE p REORGANIZE PARTITION p2 INTO (PARTITION p2 VALUES LESS THAN (30), PARTITION p3 VALUES LESS THAN MAXVALUE)",
        "ALTER TABLE p TRUNCATE PARTITION p0",
        "ALTER TABLE p DROP PARTITION p3",
        "ALTER TABLE flat EXCHANGE PARTITION b WITH TABLE other",
        "ALTER TABLE flat REBUILD PARTITION a",
        "ALTER TABLE flat ANALYZE PARTITION a",
        "ALTER TABLE h COALESCE PARTITION 1",
        "ALTER TABLE h ADD PARTITION PARTITIONS 2",
        "ALTER TABLE h REMOVE PARTITIONING",
        "ALTER TABLE flat PARTITION BY HASH (y) PARTITIONS 2",
    )
    assert only_statements(became())
    player.play("rows", "INSERT INTO flat VALUES (7, 7)", "INSERT INTO p VALUES (3, 25)")
    assert_same_schema(stack, schema)


def test_several_tables_in_one_statement(stack, schema, player, became):
    player.play(
        "rows",
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY, v INT)",
        "INSERT INTO a VALUES (1)",
        "INSERT INTO b VALUES (2, 2)",
    )
    player.play(
        "",
        "RENAME TABLE a TO swap, b TO a, swap TO b",
        "CREATE TABLE like_a LIKE a",
        "CREATE TABLE parent (id INT PRIMARY KEY) TABLESPACE innodb_file_per_table",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL ON UPDATE CASCADE)",
        "ALTER TABLE child DROP FOREIGN KEY fk, ADD CONSTRAINT fk2 FOREIGN KEY (p) REFERENCES parent (id)",
        "SET foreign_key_checks = 0",
        "CREATE TABLE dangling (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES not_yet (id))",
        "CREATE TABLE not_yet (id INT PRIMARY KEY)",
        "TRUNCATE parent",
        "SET foreign_key_checks = 1",
        "DROP TABLE IF EXISTS like_a, never_there",
        "DROP TABLE child, parent",
        "CREATE TABLE IF NOT EXISTS a (other INT)",
    )
    assert only_statements(became())
    assert_same_schema(stack, schema)


def test_create_table_as_select(stack, schema, player, became):
    player.play(
        "rows", "CREATE TABLE s (id INT PRIMARY KEY, v VARCHAR(20), j JSON)", "INSERT INTO s VALUES (1, 'é', '{}'), (2, NULL, '[1]')"
    )
    player.play(
        "",
        "CREATE TABLE plain AS SELECT id, v, j, RAND() AS r, UUID() AS u FROM s",
        "CREATE TABLE keyed (n INT AUTO_INCREMENT PRIMARY KEY, KEY (v)) SELECT v FROM s",
        "CREATE TABLE nothing AS SELECT * FROM s WHERE id = 99",
        "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
        "CREATE TABLE \"quoted ` name\" COMMENT 'a' AS SELECT '\\' AS c",
        "SET SESSION sql_mode = DEFAULT",
        "CREATE TABLE many AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, REPEAT('x', 2000) AS filler FROM n",
        "SET SESSION cte_max_recursion_depth = 100000",
        "CREATE TABLE large AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i, REPEAT('y', 200) AS filler FROM n",
        "INSERT INTO plain SELECT * FROM plain",
    )
    assert set(became()) == {"statement, raw create_select", "statement, raw large", "raw no_key", "statement"}
    assert_same_schema(stack, schema)


@pytest.mark.parametrize(
    "charset, word",
    [
        ("latin1", "àéîõü"),
        ("gbk", "表格能"),
        ("sjis", "表能ソ"),
        ("cp1251", "таблица"),
        ("euckr", "한국어"),
        ("big5", "功能表"),
        ("gb18030", "表㐀"),
        ("greek", "πίνακας"),
    ],
    ids=lambda value: value if value.isascii() else "",
)
def test_ddl_in_another_character_set(stack, schema, player, became, charset, word):
    """Identifiers, comments and defaults, some with a second byte that looks like a backslash."""
    codec = {"sjis": "cp932", "greek": "iso8859_7", "latin1": "cp1252"}.get(charset, charset)
    # MySQL itself can't read a view again that has a text with such a second byte in it.
    text = "1" if charset == "sjis" else f"'{word}'"
    player.cursor.execute(f"SET NAMES {charset}")
    player.connection.encoding = codec
    player.play(
        "",
        f"CREATE TABLE `{word}` (`{word}1` INT PRIMARY KEY COMMENT '{word}', v VARCHAR(50) CHARACTER SET utf8mb4 DEFAULT '{word}') COMMENT='{word}'",
        f"ALTER TABLE `{word}` ADD COLUMN `{word}2` VARCHAR(20) CHARACTER SET {charset} DEFAULT '{word}', ADD INDEX `{word}i` (v)",
        f"CREATE INDEX `{word}3` ON `{word}` (`{word}2`)",
        f"CREATE TABLE other LIKE `{word}`",
        f"RENAME TABLE `{word}` TO `{word}x`",
        f"CREATE VIEW plain_name AS SELECT {text} AS a, `{word}1` FROM `{word}x`",
        f"CREATE PROCEDURE plain_procedure() SELECT '{word}'",
        f"CREATE FUNCTION plain_function(`{word}` INT) RETURNS VARCHAR(50) DETERMINISTIC RETURN CONCAT('{word}', `{word}`)",
        f"CREATE TABLE `{word}gone` (i INT)",
        f"DROP TABLE `{word}gone`",
        f"DROP DATABASE IF EXISTS `{schema}_{word}`",
        f"CREATE DATABASE `{schema}_{word}`",
        f"CREATE TABLE `{schema}_{word}`.t (i INT PRIMARY KEY)",
        f"USE `{schema}_{word}`",
        f"CREATE TABLE in_it (`{word}` INT PRIMARY KEY)",
        "INSERT INTO in_it VALUES (1)",
        f"DROP DATABASE `{schema}_{word}`",
    )
    # A table that is gone before capture asks what it computes goes raw.
    assert {kind.split()[0] for kind in became()} <= {"statement", "rows", "raw"}
    assert_same_schema(stack, schema)


def test_names_that_the_server_puts_into_the_text_end_in_equal_satellites(stack, schema, player, became):
    player.cursor.execute("SET NAMES latin1")
    player.connection.encoding = "cp1252"
    player.play("", "CREATE VIEW `é` AS SELECT 1 AS `ü`", "CREATE PROCEDURE p() COMMENT 'é' SELECT 1")
    assert all(kind.startswith("rebuild") for kind in became(rebuilt=True))
    stack.await_satellites(deadline_s=120)
    assert_same_schema(stack, schema)


SETTINGS = [
    "sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'",
    "sql_mode = 'REAL_AS_FLOAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE'",
    "sql_mode = ''",
    "time_zone = '-11:30'",
    "collation_connection = 'utf8mb4_turkish_ci'",
    "collation_server = 'latin2_hungarian_ci'",
    "character_set_server = 'ucs2'",
    "explicit_defaults_for_timestamp = OFF",
    "default_table_encryption = OFF",
    "default_collation_for_utf8mb4 = 'utf8mb4_general_ci'",
    "sql_require_primary_key = ON",
    "innodb_strict_mode = OFF",
    "div_precision_increment = 9",
    "auto_increment_increment = 7",
    "sql_generate_invisible_primary_key = ON",
    "lc_time_names = 'en_US'",
    "restrict_fk_on_non_standard_key = OFF",
    "timestamp = 981173106.789",
]


def test_the_settings_that_a_statement_was_issued_under(stack, schema, player, became):
    for number, setting in enumerate(SETTINGS):
        player.play("before", f"DROP DATABASE IF EXISTS {schema}_{number}")
        quote = '"' if "ANSI_QUOTES" in setting else "`"
        player.cursor.execute(f"SET SESSION {setting}")
        key = "PRIMARY KEY" if "invisible" not in setting else ""
        player.play(
            "",
            f"CREATE TABLE {quote}s{number}{quote} (id INT {key}, t TIMESTAMP DEFAULT '2024-01-01 12:00:00', r REAL, b VARCHAR(20) DEFAULT 'a\\\\' COLLATE utf8mb4_bin, c VARCHAR(9) DEFAULT '1', d VARCHAR(20) AS (c || '0') VIRTUAL, e DECIMAL(20, 12) AS (id / 7) VIRTUAL) ",
            f"CREATE DATABASE {schema}_{number}",
            f"CREATE TABLE {schema}_{number}.t (v VARCHAR(10), PRIMARY KEY (v))",
            f"CREATE VIEW v{number} AS SELECT 'a' || 'b' AS x, NOT 1 BETWEEN -5 AND 5 AS y, 1 / 3 AS z",
            f"CREATE PROCEDURE p{number}(INOUT a VARCHAR(10)) SET a = 'x' || a",
            f"ALTER TABLE s{number} ADD COLUMN made DATETIME(6) NOT NULL DEFAULT NOW(6)",
        )
        player.play("rows", f"INSERT INTO s{number} (id) VALUES (1), (22)")
        player.cursor.execute(f"SET SESSION {setting.split(' = ')[0]} = DEFAULT")
    assert only_statements(became())
    for suffix in ["", *(f"_{number}" for number in range(len(SETTINGS)))]:
        assert_same_schema(stack, schema + suffix)


@pytest.mark.parametrize("collation", ["utf16_general_ci", "ucs2_general_ci", "utf16le_general_ci", "utf32_general_ci"])
def test_a_connection_in_a_character_set_of_wide_characters_needs_no_clone(stack, schema, player, became, collation):
    player.play(
        "",
        f"SET SESSION collation_connection = '{collation}', time_zone = '+02:00'",
        "CREATE TABLE t (a INT PRIMARY KEY, v VARCHAR(20) DEFAULT 'x')",
        "CREATE TABLE no_key (a INT, v VARCHAR(20))",
        "CREATE TABLE computed (a INT PRIMARY KEY, s INT AS (a * 2) STORED)",
        "INSERT INTO no_key VALUES (1, 'é'), (2, 'ü')",
        "INSERT INTO computed (a) VALUES (1), (2)",
        "INSERT INTO t (a) VALUES (1), (2)",
        "UPDATE no_key SET v = 'ö' WHERE a = 1",
        "ALTER TABLE t ADD INDEX (v)",
        "ALTER TABLE computed ADD INDEX (s)",
        "CREATE TABLE selected AS SELECT * FROM t",
        "CREATE PROCEDURE p() SELECT 'é'",
        "INSERT INTO t VALUES (3, 'é')",
    )
    assert {kind.split()[0].rstrip(",") for kind in became()} <= {"statement", "rows", "raw"}
    assert_same_schema(stack, schema)


def test_a_table_that_only_a_lenient_session_may_create(stack, schema, player, became):
    player.play(
        "",
        "SET SESSION innodb_strict_mode = OFF",
        "CREATE TABLE odd (id INT PRIMARY KEY) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=9",
        "CREATE TABLE parent (id INT, KEY (id))",
        "SET SESSION restrict_fk_on_non_standard_key = OFF",
        "CREATE TABLE child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES parent (id))",
    )
    assert only_statements(became())
    assert_same_schema(stack, schema)


def test_databases(stack, schema, player, became):
    other = f"{schema}_other"
    player.play("before", f"DROP DATABASE IF EXISTS {other}")
    player.play(
        "",
        f"CREATE DATABASE {other} CHARACTER SET latin2 COLLATE latin2_czech_cs ENCRYPTION='N'",
        f"ALTER DATABASE {other} COLLATE latin2_hungarian_ci",
        f"CREATE TABLE {other}.t (id INT PRIMARY KEY)",
        f"ALTER DATABASE {other} READ ONLY = 1",
    )
    assert_same_answer(stack, f"SHOW CREATE DATABASE {other}")
    player.play("", f"ALTER DATABASE {other} READ ONLY = 0", f"CREATE DATABASE IF NOT EXISTS {other}")
    assert only_statements(became())
    assert_same_schema(stack, other)


def test_accounts_of_every_sort(stack, schema, player, became):
    people = ["ex_anna", "'ex_o''brien'@'10.0.%'", "ex_müller", "ex_miller@'%.example.org'", "ex_reader", "ex_writer"]
    player.play("before", f"DROP USER IF EXISTS {', '.join(people)}")
    player.play(
        "",
        "CREATE ROLE ex_reader, ex_writer",
        "CREATE USER ex_anna IDENTIFIED WITH caching_sha2_password BY 'pass-1' DEFAULT ROLE ex_reader REQUIRE SSL WITH MAX_QUERIES_PER_HOUR 7 PASSWORD EXPIRE INTERVAL 90 DAY PASSWORD HISTORY 3 FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2 ACCOUNT LOCK COMMENT 'it''s ü'",
        "CREATE USER 'ex_o''brien'@'10.0.%' IDENTIFIED BY 'pa''s\\\\s' ATTRIBUTE '{\"k\": [1, \"ü\"]}'",
        "CREATE USER ex_müller IDENTIFIED BY RANDOM PASSWORD",
        "CREATE TABLE t (id INT PRIMARY KEY, s INT)",
        "CREATE PROCEDURE p() SELECT 1",
        f"GRANT SELECT, INSERT ON `{schema}`.* TO ex_reader WITH GRANT OPTION",
        "GRANT UPDATE (s), SELECT ON t TO ex_writer",
        "GRANT EXECUTE ON PROCEDURE p TO ex_anna",
        "GRANT ex_reader, ex_writer TO ex_anna WITH ADMIN OPTION",
        "GRANT BACKUP_ADMIN, PROCESS ON *.* TO ex_anna",
        "SET DEFAULT ROLE ex_writer TO ex_anna",
        "ALTER USER ex_anna DEFAULT ROLE ALL",
        "ALTER USER ex_anna IDENTIFIED BY 'pass-2' RETAIN CURRENT PASSWORD",
        "ALTER USER ex_anna ACCOUNT UNLOCK COMMENT 'other'",
        "SET PASSWORD FOR 'ex_o''brien'@'10.0.%' = 'third'",
        "ALTER USER ex_anna DISCARD OLD PASSWORD",
        "REVOKE INSERT ON `%s`.* FROM ex_reader" % schema,
        "RENAME USER ex_müller TO ex_miller@'%.example.org'",
        "REVOKE IF EXISTS SELECT ON *.* FROM ex_writer IGNORE UNKNOWN USER",
        "REVOKE ex_writer FROM ex_anna",
        "ALTER USER IF EXISTS nobody_here ACCOUNT LOCK",
        "ALTER USER ex_anna ATTRIBUTE '{\"x\": null}'",
        "FLUSH PRIVILEGES",
    )
    stack.client("master", "GRANT PROXY ON ex_reader TO ex_anna")
    assert only_statements(became())
    for table in ACCOUNTS:
        person = {"role_edges": "to_user"}.get(table, "user")
        # Who issued the GRANT is the applier on a satellite.
        columns = [
            name
            for (name,) in stack.sql(
                "master",
                "SELECT column_name FROM information_schema.columns WHERE table_schema = 'mysql' AND table_name = %s "
                "AND column_name <> 'Grantor' ORDER BY ordinal_position",
                (table,),
            )
        ]
        assert_same_answer(
            stack, f"SELECT {', '.join(columns)} FROM mysql.{table} WHERE {person} NOT IN {OWN} ORDER BY {', '.join(map(str, range(1, 5)))}"
        )
    for account in ("ex_anna", "'ex_o''brien'@'10.0.%'", "ex_reader", "ex_writer", "ex_miller@'%.example.org'"):
        assert_same_account(stack, account)
    player.play("after", "DROP USER ex_anna, 'ex_o''brien'@'10.0.%', ex_miller@'%.example.org'", "DROP ROLE ex_reader, ex_writer")
    assert only_statements(became("after"))


def test_routines_and_views_keep_who_and_how(stack, schema, player, became):
    player.play(
        "",
        "CREATE USER IF NOT EXISTS ex_owner IDENTIFIED BY 'x'",
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))",
        "CREATE DEFINER=ex_owner SQL SECURITY INVOKER VIEW v AS SELECT * FROM t",
        "CREATE DEFINER=ex_owner@'%' PROCEDURE p() SQL SECURITY INVOKER MODIFIES SQL DATA BEGIN /* ; */ INSERT INTO t VALUES (1, 'é'); END",
        "CREATE FUNCTION f(a JSON) RETURNS JSON NOT DETERMINISTIC READS SQL DATA RETURN JSON_SET(a, '$.x', 1)",
        "ALTER FUNCTION f COMMENT 'c'",
        "ALTER VIEW v (a, b) AS SELECT id, v FROM t WITH LOCAL CHECK OPTION",
        "CREATE OR REPLACE VIEW v2 AS TABLE t",
        "DROP VIEW v2",
        "DROP PROCEDURE IF EXISTS never",
    )
    assert only_statements(became())
    assert_same_schema(stack, schema)
    player.play("after", "DROP VIEW v", "DROP PROCEDURE p", "DROP USER ex_owner")
    assert only_statements(became("after"))


INJECTED = "ex_injected"


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("charset, codec", [("gbk", "gbk"), ("sjis", "cp932"), ("big5", "big5"), ("gb18030", "gb18030")])
def test_the_copy_of_a_temporary_table_runs_no_other_statement_on_satellites(stack, schema, player, became, charset, codec):
    player.cursor.execute(f"SET NAMES {charset}")
    player.connection.encoding = codec
    player.play(
        "",
        f"CREATE TEMPORARY TABLE tmp (a INT COMMENT '日\\\\', b INT COMMENT ');set gtid_next=\"automatic\";create database {INJECTED};-- ')",
        "CREATE TABLE IF NOT EXISTS x LIKE tmp",
    )
    assert all(kind.startswith("rebuild") for kind in became(rebuilt=True))
    stack.await_satellites(deadline_s=120)
    assert_same_schema(stack, schema)
    assert_same_answer(stack, "SHOW DATABASES LIKE 'ex_injected'")


@pytest.fixture
def secret(player):
    """A table that a client with privileges on its own schema only can't touch."""
    player.play(
        "secret",
        "DROP DATABASE IF EXISTS ex_secret",
        "CREATE DATABASE ex_secret",
        "CREATE TABLE ex_secret.t (i INT PRIMARY KEY)",
        "INSERT INTO ex_secret.t VALUES (1)",
    )


def prepared(statement):
    """SQL that prepares these bytes, whatever the session's character set is."""
    return f"SET @s = X'{statement.hex()}'", "PREPARE s FROM @s"


def assert_secret(stack, schema):
    stack.await_satellites(deadline_s=120)
    assert_same_schema(stack, schema)
    assert_same_schema(stack, "ex_secret")
    for service in ("master", *stack.satellites):
        assert stack.sql(service, "SELECT i FROM ex_secret.t") == [(1,)]
        assert stack.sql(service, "SELECT table_name FROM information_schema.tables WHERE table_name IN ('loot', 'placed')") == []


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize(
    "charset, codec, first", [("gbk", "gbk", 0xBF), ("sjis", "cp932", 0x83), ("big5", "big5", 0xA5), ("gb18030", "gb18030", 0xBF)]
)
def test_a_statement_prepared_in_another_character_set_is_no_other_on_satellites(
    stack, schema, player, became, secret, charset, codec, first
):
    """In the character set of PREPARE the first quote behind that byte is a part of the name; in that of EXECUTE it ends the name."""
    injected = b"`%c` TO a, ex_secret.t TO loot #z`" % first
    in_latin1 = bytes([first]).decode("cp1252")
    player.play("names", f"CREATE TABLE {injected.decode(codec)} (i INT PRIMARY KEY)", f"CREATE TABLE `{in_latin1}` (i INT PRIMARY KEY)")
    player.cursor.execute(f"SET NAMES {charset}")
    player.play("", *prepared(b"RENAME TABLE " + injected + b" TO b"), "SET NAMES latin1", "EXECUTE s")
    (kind,) = became(rebuilt=True)
    assert kind.startswith("rebuild"), kind
    assert_secret(stack, schema)


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("mode, quote", [("NO_BACKSLASH_ESCAPES", "'"), ("ANSI_QUOTES", '"')])
def test_a_statement_prepared_under_another_sql_mode_is_no_other_on_satellites(stack, schema, player, became, secret, mode, quote):
    player.play("names", "CREATE TABLE mine (i INT PRIMARY KEY)")
    statement = f"ALTER TABLE mine COMMENT {quote}a\\{quote}, RENAME ex_secret.placed #{quote}"
    player.play("", *prepared(statement.encode()), f"SET SESSION sql_mode = '{mode}'", "EXECUTE s")
    (kind,) = became(rebuilt=True)
    assert kind.startswith("rebuild"), kind
    assert_secret(stack, schema)


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("clause", ["SUBJECT", "ISSUER", "CIPHER"])
def test_a_requirement_of_an_account_runs_no_other_statement_on_satellites(stack, schema, player, became, clause):
    player.play("before", "DROP USER IF EXISTS ex_required")
    value = f"x'; SET gtid_next='AUTOMATIC'; CREATE DATABASE {INJECTED}; -- "
    player.play("", f'CREATE USER ex_required REQUIRE {clause} "{value}"')
    assert all(kind.startswith("rebuild") for kind in became(rebuilt=True))
    stack.await_satellites(deadline_s=120)
    assert_same_account(stack, "ex_required")
    assert_same_answer(stack, "SHOW DATABASES LIKE 'ex_injected'")
    player.play("after", "DROP USER ex_required")


def test_an_account_of_a_latin1_client_keeps_its_name(stack, schema, player, became):
    for name in ("ex_é", "ex_ü"):
        player.play("before", f"DROP USER IF EXISTS `{name}`")
    player.cursor.execute("SET NAMES latin1")
    player.connection.encoding = "cp1252"
    player.play(
        "",
        "CREATE USER `ex_é` IDENTIFIED BY 'pass'",
        f"GRANT SELECT ON `{schema}`.* TO `ex_é`",
        "ALTER USER `ex_é` ACCOUNT LOCK",
        "CREATE ROLE `ex_ü`",
        "GRANT `ex_ü` TO `ex_é`",
        "ALTER USER `ex_é` DEFAULT ROLE ALL",
    )
    assert only_statements(became())
    for name in ("ex_é", "ex_ü"):
        assert_same_account(stack, f"`{name}`")
    player.play("after", "DROP USER `ex_é`", "DROP ROLE `ex_ü`")
    assert only_statements(became("after"))


def test_backslashes_of_mysqls_own_texts_do_not_double(stack, schema, player, became):
    player.play("before", "DROP USER IF EXISTS 'ex_\\\\'")
    player.cursor.execute("SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'")
    player.play(
        "own",
        "CREATE TEMPORARY TABLE tmp (a INT COMMENT 'a\\b')",
        "CREATE TABLE x LIKE tmp",
        "CREATE PROCEDURE p() COMMENT 'a\\b' SELECT 1",
    )
    player.play("", "CREATE USER 'ex_\\'", "CREATE TABLE y (a INT COMMENT 'a\\b')", "DROP USER 'ex_\\'")
    assert only_statements(became(rebuilt=True))
    assert all(kind.startswith("rebuild") for kind in became("own", rebuilt=True))
    stack.await_satellites(deadline_s=120)
    assert_same_schema(stack, schema)


def test_current_user_of_account_statements_is_their_client(stack, schema, player, became):
    player.play("before", "DROP USER IF EXISTS ex_self, ex_other", "DROP ROLE IF EXISTS ex_role", "CREATE ROLE ex_role")
    player.play("before", "CREATE USER ex_self IDENTIFIED BY 'p'", "GRANT ALL ON *.* TO ex_self WITH GRANT OPTION", f"USE `{schema}`")
    with contextlib.closing(changelog.Player(stack, schema)) as own:
        own.connection = stack.master_connect(user="ex_self", password="p", database=schema)
        own.cursor = own.connection.cursor()
        own.play(
            "",
            "GRANT ex_role TO CURRENT_USER() WITH ADMIN OPTION",
            "ALTER USER CURRENT_USER DEFAULT ROLE ALL",
            "ALTER USER CURRENT_USER() DEFAULT ROLE NONE",
            "REVOKE ex_role FROM CURRENT_USER()",
            "GRANT SELECT ON mysql.* TO CURRENT_USER()",
            "REVOKE SELECT ON mysql.* FROM CURRENT_USER",
            "ALTER USER CURRENT_USER() COMMENT 'mine'",
        )
        player.gtids[""] = own.gtids[""]
        assert only_statements(became())
        assert_same_account(stack, "ex_self")
        own.play("gone", "RENAME USER CURRENT_USER() TO ex_other")
        player.gtids["gone"] = own.gtids["gone"]
    assert only_statements(became("gone"))
    assert_same_account(stack, "ex_other")
    with (
        contextlib.closing(stack.master_connect(user="ex_other", password="p", database=schema)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("DROP USER CURRENT_USER()")
    became()
    assert_same_answer(stack, "SELECT user, host FROM mysql.user WHERE user LIKE 'ex\\_%' ORDER BY 1")


def test_statements_on_temporary_tables_leave_real_ones_of_the_same_name_alone(stack, schema, player, became):
    player.play("before", "CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1, 1)")
    player.cursor.execute("SET SESSION binlog_format = 'STATEMENT'")
    player.play(
        "",
        "/* c */ CREATE TEMPORARY TABLE t (a INT, b INT)",
        "CREATE INDEX i ON t (b)",
        "ALTER TABLE t ADD c INT",
        "DROP INDEX i ON t",
    )
    assert set(became()) == {"empty"}
    assert_same_rows(stack, schema)
    player.play("truncated", "/* c */ TRUNCATE TABLE t", "DROP TABLE t")
    became(rebuilt=True)
    stack.await_satellites(deadline_s=120)
    assert_same_schema(stack, schema)


def test_a_routine_that_used_a_temporary_table_still_changes_real_ones(stack, schema, player, became):
    player.play(
        "before",
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "CREATE PROCEDURE p() BEGIN CREATE TEMPORARY TABLE tmp (a INT); INSERT INTO tmp VALUES (1); TRUNCATE t; ALTER TABLE t ADD b INT;"
        " CREATE INDEX i ON t (b); CREATE TABLE u LIKE t; DROP TEMPORARY TABLE tmp; END",
    )
    player.play("", "CALL p()")
    became(rebuilt=True)
    stack.await_satellites(deadline_s=120)
    assert_same_schema(stack, schema)
