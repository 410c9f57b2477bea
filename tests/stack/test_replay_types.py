"""Values of every type are on the satellites byte for byte as on the master."""

import pytest

from support.same import assert_same_rows, assert_same_schema

VIA = pytest.mark.parametrize("via", ["gate", "master"])

NUMBERS = """CREATE TABLE numbers (id INT PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED, s SMALLINT, su SMALLINT UNSIGNED,
    m MEDIUMINT, mu MEDIUMINT UNSIGNED, i INT, iu INT UNSIGNED, b BIGINT, bu BIGINT UNSIGNED, z INT(8) ZEROFILL,
    d DECIMAL(65,30), du DECIMAL(10,0) UNSIGNED, f FLOAT, g DOUBLE, fu FLOAT UNSIGNED, bo BOOLEAN)"""


@VIA
def test_numbers(stack, schema, execute, via):
    execute(
        NUMBERS,
        """INSERT INTO numbers VALUES
        (1, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 0, -12345678901234567890123456789012345.123456789012345678901234567890, 0, -3.402823466e38, -1.7976931348623157e308, 0, 0),
        (2, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 42, 99999999999999999999999999999999999.999999999999999999999999999999, 9999999999, 1.17549435e-38, 2.2250738585072014e-308, 3.4e38, 1),
        (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (4, 1, 200, 1, 40000, 1, 10000000, 1, 3000000000, 1, 10000000000000000000, 1, 0.1, 1, 0.1, 0.1, 16777217, 2)""",
        "UPDATE numbers SET f = 1/3, g = 1/3, d = -d, bu = bu - 1 WHERE id IN (2, 4)",
        "DELETE FROM numbers WHERE id = 3",
        "INSERT INTO numbers (id, g) VALUES (5, -0e0), (6, 5e-324)",
        via=via,
    )
    assert_same_rows(stack, schema)


@VIA
def test_texts(stack, schema, execute, via):
    execute(
        """CREATE TABLE texts (id INT PRIMARY KEY, c CHAR(20), v VARCHAR(200), t TINYTEXT, x TEXT, m MEDIUMTEXT, l LONGTEXT,
            b VARCHAR(50) COLLATE utf8mb4_bin, a VARCHAR(50) CHARACTER SET ascii)""",
        r"""INSERT INTO texts VALUES (1, 'trailing  ', 'quote\' " \\ `', 'line\nend\r\ttab', 'NUL \0 and \Z', '日本語 😀', 'é', 'É', 'plain'),
            (2, '', '', '', '', '', '', '', ''), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            (4, 'ß', '%_%', "it''s", '''', '-- no comment', '/* none */', '# none', ';')""",
        "UPDATE texts SET l = REPEAT('ü😀', 100000) WHERE id = 2",
        via=via,
    )
    assert_same_rows(stack, schema)


@VIA
def test_bytes(stack, schema, execute, via):
    every = bytes(range(256)).hex()
    execute(
        "CREATE TABLE bytes (id INT PRIMARY KEY, b BINARY(8), v VARBINARY(300), t TINYBLOB, m MEDIUMBLOB)",
        f"INSERT INTO bytes VALUES (1, X'00FF', X'{every}', X'{every[2:]}', X'{every * 400}'), (2, '', '', '', ''), (3, NULL, NULL, NULL, NULL)",
        "UPDATE bytes SET b = X'0102030405060700' WHERE id = 2",
        via=via,
    )
    assert_same_rows(stack, schema)


@VIA
def test_times(stack, schema, execute, via):
    execute(
        "CREATE TABLE times (id INT PRIMARY KEY, d DATE, t TIME, t6 TIME(6), dt DATETIME, dt3 DATETIME(3), ts TIMESTAMP NULL, ts6 TIMESTAMP(6) NULL, y YEAR)",
        "SET time_zone = '+05:30'",
        """INSERT INTO times VALUES (1, '1000-01-01', '-838:59:59', '-838:59:58.999999', '1000-01-01 00:00:00', '9999-12-31 23:59:59.499', '1970-01-02 00:00:01', '2038-01-18 03:14:07.999999', 1901),
            (2, '9999-12-31', '838:59:59', '00:00:00.000001', '2024-02-29 23:59:59', '2024-02-29 12:00:00.5', '2024-03-31 02:30:00', '2024-10-27 02:30:00.5', 2155),
            (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, '2024-01-01', '-00:00:01', '-00:00:00.000001', NOW(), NOW(3), NOW(), NOW(6), 0)""",
        "UPDATE times SET dt = dt + INTERVAL 1 SECOND, t = ADDTIME(t, '0:0:1') WHERE id = 4",
        via=via,
    )
    assert_same_rows(stack, schema)


def test_json_of_every_inner_type(stack, schema, execute):
    execute(
        "CREATE TABLE documents (id INT PRIMARY KEY, j JSON)",
        """INSERT INTO documents VALUES (1, '{"a": [1, -1, 1.5, 1e100, true, null, "ü\\\\n"], "b": {"": {}}}'), (2, 'null'), (3, NULL), (4, '[]'),
            (5, CAST(18446744073709551615 AS JSON)), (6, CAST(CAST('1.10' AS DECIMAL(10,2)) AS JSON)), (7, CAST(CAST('2024-01-02' AS DATE) AS JSON)),
            (8, CAST(CAST('10:11:12.123456' AS TIME(6)) AS JSON)), (9, CAST(CAST('2024-01-02 03:04:05.5' AS DATETIME(6)) AS JSON)),
            (10, CAST(TIMESTAMP'2024-01-02 03:04:05' AS JSON)), (11, JSON_OBJECT('bytes', X'00FF10', 'bits', b'101', 'year', CAST(2024 AS YEAR))),
            (12, JSON_ARRAY(CAST(1 AS DOUBLE), 1, CAST(1 AS UNSIGNED))), (13, '"text"'), (14, JSON_OBJECT('k', REPEAT('x', 70000)))""",
        "UPDATE documents SET j = JSON_SET(j, '$.a[0]', CAST(1 AS DECIMAL(5,2))) WHERE id = 1",
        "UPDATE documents SET j = JSON_REMOVE(j, '$.k') WHERE id = 14",
    )
    assert_same_rows(stack, schema)


def test_json_with_partial_updates_in_the_binlog(stack, schema, execute):
    execute(
        "CREATE TABLE documents (id INT PRIMARY KEY, j JSON)",
        "INSERT INTO documents VALUES (1, JSON_OBJECT('a', 1, 'b', REPEAT('x', 5000)))",
        "SET SESSION binlog_row_value_options = PARTIAL_JSON",
        "UPDATE documents SET j = JSON_SET(j, '$.a', 2)",
        "UPDATE documents SET j = JSON_REPLACE(j, '$.b', 'y')",
        "UPDATE documents SET j = JSON_REMOVE(j, '$.b')",
    )
    assert_same_rows(stack, schema)


def test_enum_set_bit_and_geometry(stack, schema, execute):
    execute(
        "CREATE TABLE special (id INT PRIMARY KEY, e ENUM('a','b','é',''), s SET('x','y','z'), b BIT(1), w BIT(64), g GEOMETRY, p POINT SRID 4326, v VARBINARY(10))",
        """INSERT INTO special VALUES (1, 'é', 'x,z', b'1', ~0, ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))'), ST_GeomFromText('POINT(1 2)', 4326), X'00'),
            (2, '', '', b'0', 0, ST_GeomFromText('LINESTRING(0 0,1 1)'), NULL, NULL), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""",
        "UPDATE special SET e = 1, s = 7, w = w >> 3 WHERE id = 1",
        "DELETE FROM special WHERE id = 3",
    )
    assert_same_rows(stack, schema)


def test_texts_beside_vectors_and_geometries(stack, schema, execute):
    """The table map counts a vector among the texts when it names their character sets, and a geometry not."""
    for at, columns in enumerate(("a, b, x, l", "x, l, a, b", "l, x, b, a")):
        types = {"a": "VARCHAR(10)", "b": "TEXT", "l": "CHAR(5) CHARACTER SET latin1", "x": "GEOMETRY /*!90000 , v VECTOR(2) */"}
        execute(
            f"CREATE TABLE beside{at} (id INT PRIMARY KEY, {', '.join(f'{name} {types[name]}' for name in columns.split(', '))})",
            f"INSERT INTO beside{at} (id, a, b, l) VALUES (1, 'é', 'ü', 'ö'), (2, NULL, NULL, NULL)",
            f"UPDATE beside{at} SET x = ST_GeomFromText('POINT(1 2)') /*!90000 , v = STRING_TO_VECTOR('[1,2]') */ WHERE id = 1",
        )
    assert_same_rows(stack, schema)


def test_an_invalid_enum_value_under_a_lenient_sql_mode(stack, schema, execute):
    execute(
        "CREATE TABLE lenient (id INT PRIMARY KEY, e ENUM('a','b'))",
        "SET SESSION sql_mode = ''",
        "INSERT INTO lenient VALUES (1, 'nonsense')",
    )
    assert_same_rows(stack, schema)


def test_other_charsets_with_undefined_bytes(stack, schema, execute):
    execute(
        "CREATE TABLE old (id INT PRIMARY KEY, l VARCHAR(300) CHARACTER SET latin1, s VARCHAR(20) CHARACTER SET sjis, u VARCHAR(20) CHARACTER SET utf16, k VARCHAR(20) CHARACTER SET koi8r, g VARCHAR(20) CHARACTER SET gb18030, b3 VARCHAR(20) CHARACTER SET utf8mb3)",
        f"INSERT INTO old VALUES (1, _latin1 X'{bytes(range(256)).hex()}', _sjis X'8340', _utf16 X'D83DDE00', _koi8r X'C0C1', _gb18030 X'B0A1', 'ü')",
        "INSERT INTO old (id, l) VALUES (2, 'ä€ÿ')",
        "UPDATE old SET l = CONCAT(l, 'x') WHERE id = 2",
    )
    assert_same_rows(stack, schema)


def test_a_latin1_table_and_a_latin1_client(stack, schema, execute):
    execute(
        "CREATE TABLE `tablé` (`clé` VARCHAR(50) PRIMARY KEY COMMENT 'dépôt') DEFAULT CHARSET=latin1",
        "INSERT INTO `tablé` VALUES ('àéîõü')",
        charset="latin1",
    )
    assert_same_schema(stack, schema)
    assert stack.sql("satellite-1", f"SELECT `clé` FROM `{schema}`.`tablé`") == [("àéîõü",)]


def test_zero_and_partial_dates_under_another_sql_mode(stack, schema, execute):
    execute(
        "SET SESSION sql_mode = ''",
        "CREATE TABLE dates (id INT PRIMARY KEY, d DATE, dt DATETIME, ts TIMESTAMP NULL, nn DATE NOT NULL DEFAULT '0000-00-00')",
        "INSERT INTO dates (id, d, dt, ts) VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00'), (2, '2024-00-00', '2024-01-00 10:00:00', NULL)",
        "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
        "INSERT INTO dates (id, d) VALUES (3, '2024-02-31')",
    )
    assert_same_schema(stack, schema)


def test_a_table_without_a_key(stack, schema, execute):
    execute(
        "CREATE TABLE keyless (a INT, b VARCHAR(20))",
        "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL), (2, 'y')",
        "UPDATE keyless SET b = 'z' WHERE a = 1 LIMIT 1",
        "DELETE FROM keyless WHERE a IS NULL",
        "DELETE FROM keyless WHERE a = 1 LIMIT 1",
    )
    assert_same_rows(stack, schema)


def test_a_unique_key_with_nulls_but_no_primary_key(stack, schema, execute):
    execute(
        "CREATE TABLE uniq (a INT UNIQUE, b VARCHAR(20), KEY (b))",
        "INSERT INTO uniq VALUES (1, 'x'), (NULL, 'n'), (NULL, 'n')",
        "UPDATE uniq SET b = 'm' WHERE a IS NULL LIMIT 1",
        "DELETE FROM uniq WHERE a = 1",
    )
    assert_same_rows(stack, schema)


def test_generated_columns(stack, schema, execute):
    execute(
        "CREATE TABLE made (a INT PRIMARY KEY, v INT AS (a * 2) VIRTUAL, s VARCHAR(20) AS (CONCAT('n', a)) STORED, UNIQUE (s), KEY (v), j JSON, x INT AS (j->'$.x') VIRTUAL)",
        "INSERT INTO made (a, j) VALUES (1, '{\"x\": 7}'), (2, NULL)",
        "UPDATE made SET a = 10 WHERE a = 1",
        "DELETE FROM made WHERE s = 'n2'",
    )
    assert_same_schema(stack, schema)


def test_invisible_columns_and_a_generated_invisible_primary_key(stack, schema, execute):
    execute(
        "SET SESSION sql_generate_invisible_primary_key = ON",
        "CREATE TABLE hidden (a INT, secret INT INVISIBLE DEFAULT 5)",
        "INSERT INTO hidden (a) VALUES (1), (1), (2)",
        "INSERT INTO hidden (a, secret) VALUES (3, 9)",
        "UPDATE hidden SET secret = 6 WHERE a = 2",
        "DELETE FROM hidden WHERE a = 1 LIMIT 1",
    )
    assert stack.sql("master", f"SELECT COUNT(my_row_id) FROM `{schema}`.hidden") == [(3,)]
    assert_same_schema(stack, schema)


def test_columns_added_dropped_and_reordered_between_rows(stack, schema, execute):
    execute(
        "CREATE TABLE shape (id INT PRIMARY KEY, a INT, b VARCHAR(10))",
        "INSERT INTO shape VALUES (1, 1, 'x')",
        "ALTER TABLE shape ADD COLUMN c INT DEFAULT 7 FIRST, ALGORITHM=INSTANT",
        "INSERT INTO shape VALUES (8, 2, 2, 'y')",
        "ALTER TABLE shape DROP COLUMN a",
        "UPDATE shape SET b = 'z' WHERE id = 1",
        "ALTER TABLE shape MODIFY b VARCHAR(300) CHARACTER SET latin1 AFTER c",
        "INSERT INTO shape VALUES (9, 'é', 3)",
        "ALTER TABLE shape RENAME COLUMN b TO bb, ADD UNIQUE KEY (bb)",
        "INSERT INTO shape VALUES (10, 'q', 4)",
    )
    assert_same_schema(stack, schema)
