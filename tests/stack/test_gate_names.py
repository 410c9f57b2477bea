"""Whatever a table is called and however its name is written, the gate finds it in the text.

A transaction that declares its tables is refused by the gate once a statement names another one: so whatever MySQL runs on a table that
was not declared must be refused, with that table's name.
"""

import contextlib
import os
import random

import pymysql
import pytest

from support.stack import ADMIN
from support.wait import wait_for

SEED = int(os.environ.get("NAMES_SEED", "0"))
ROUNDS = int(os.environ.get("NAMES_ROUNDS", "150"))

# As they stand in a text, where nothing stands before them, and right after a dot.
BARE = ["2024t", "1a", "1e", "0b", "0x", "0X1F", "1_", "9$", "$t", "a$b$", "_x", "t", "Größe", "表", "status", "user", "0x1g", "1e5x_"]
DOTTED = ["2024", "1e5", "0x1", "0b1", "select", "from", "for", "5", "1e", "$a$b", "0", "00", "dual", "table", "lock"]
QUOTED = ["a b", "a.b", "a`b", 'a"b', "a'b", "1.5", "--x", "/*x*/", "a;b", "select", "2024", "#", "\\", "x\\'", "é é", "@v"]
NAMES = sorted({*BARE, *DOTTED, *QUOTED})
# {} is the table in question, q one that is declared.
QUERIES = [
    "SELECT * FROM {}",
    "TABLE {}",
    "SELECT 1 FROM q AS x JOIN {} AS y JOIN q z",
    "SELECT (SELECT COUNT(*) FROM {}) FROM q",
    "SELECT 1 FROM q x, LATERAL (SELECT 1 FROM {}) AS y",
    "WITH c AS (TABLE {}) SELECT 1 FROM c, q",
    "SELECT 1 FROM q UNION ALL TABLE {} UNION SELECT 2 FROM q",
    "SELECT 1.5FROM q WHERE'a'IN(SELECT'b'FROM {})",
    "SELECT * FROM {{oj q LEFT JOIN {} ON 1}}",
    "SELECT 1 FROM /*!80000 {}, */ q -- x\n",
    "SELECT 1e5FROM/**/{}/* ' */USE INDEX()WHERE 1=.5",
    "SELECT 1 FROM q WHERE id IN (1, 2, 3, 4, (SELECT 5 FROM {}), 'x', 'y', 'z')",
    "SELECT 'it\\'s' FROM q,{}",
    'SELECT "a" FROM q JOIN {} ON "b" = \'c\'',
]


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def written(choose, current, schema, name):
    """The table's name as a text may have it; in the current schema also without that."""
    bare, dotted = name in BARE, name in BARE or name in DOTTED
    spelled = [quoted(name)] + [name] * bare if schema == current else []
    # What looks like a number is a name only right after an unquoted one.
    spelled += [f"{schema}.{name}"] * dotted + [f"{before}.{quoted(name)}" for before in (schema, quoted(schema))]
    return choose.choice(spelled)


@pytest.fixture
def schemas(stack, schema):
    """Two schemas, one named by digits, with a table of every kind of name in each."""
    digits = f"9{schema}"[:60]
    stack.sql("master", f"DROP DATABASE IF EXISTS `{digits}`")
    stack.sql("master", f"CREATE DATABASE `{digits}`")
    for each in (schema, digits):
        for name in ["q", *NAMES]:
            stack.sql("master", f"CREATE TABLE {quoted(each)}.{quoted(name)} (id INT PRIMARY KEY)".replace("%", "%%"))
    stack.await_satellites()
    return schema, digits


def test_every_table_of_a_text_is_found_whatever_its_name(stack, schemas):
    choose = random.Random(SEED)
    current = schemas[0]
    with contextlib.closing(stack.gate_connect(user=ADMIN, database=current)) as gate, gate.cursor() as cursor:
        ran = 0
        # The gate hears of new tables from capture.
        for schema in schemas:
            wait_for(lambda s=schema: refusal_of(cursor, f"TABLE {s}.`{NAMES[-1]}`"), 30, f"the gate knows the tables of {schema}")
        for _ in range(ROUNDS):
            schema, name = choose.choice(schemas), choose.choice(NAMES)
            sql = choose.choice(QUERIES).format(written(choose, current, schema, name))
            if answered(cursor, sql) is None:
                ran += 1
                refusal = refusal_of(cursor, sql)
                assert refusal and f"`{schema}`.`{name.lower()}`" in refusal.lower(), f"seed {SEED}: {name!r} in {sql!r}: {refusal}"
    assert ran >= ROUNDS // 2, f"MySQL took only {ran} of {ROUNDS} texts"


def refusal_of(cursor, sql):
    """In a transaction that declares q."""
    cursor.execute("START TRANSACTION READ ONLY /* multimed: tables=q */")
    refusal = answered(cursor, sql)
    cursor.execute("ROLLBACK")
    return refusal


def answered(cursor, sql):
    """Nothing, or the error's text."""
    try:
        cursor.execute(sql)
        cursor.fetchall()
    except pymysql.err.MySQLError as error:
        return str(error.args[1])
    return None
