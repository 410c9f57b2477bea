"""Every data type, at its edges, in every character set, inserted, updated, re-keyed and deleted: byte for byte as on the master, and in
the log as the table in cdc-applier/LOG.md says."""

import json
import re

import pytest

from support import changelog, types
from support.same import assert_same_rows, quoted, raw_rows

SCHEMA = "exact_types"
TRIES = 3
IN_UTF8 = ("utf8mb4", "utf8mb3", "ascii")
# Capture was behind just then; the same again shows what is usual.
PASSING = {"raw catching_up"}


def documented(stack):
    """{type or (text type, character set): kind}, and the reasons of `raw`, as LOG.md has them."""
    text = (stack.root / "cdc-applier/LOG.md").read_text()
    by_type, texts = {}, []
    for columns, kind in re.findall(r"^\| (.+?) \| (rows|raw) \|", text, re.M):
        names, _, charsets = columns.partition(" in ")
        names = re.findall(r"`([A-Z]+)`", names) or texts
        if charsets:
            texts = names
            for charset in re.findall(r"`(\w+)`", charsets) or ["*"]:
                by_type.update({(name, charset): kind for name in names})
        else:
            by_type.update(dict.fromkeys(names, kind))
    reasons = re.search(r"\| reason of a `raw` record.*?\n\n", text, re.S)[0]
    return by_type, {reason for line in reasons.strip().splitlines()[2:] for reason in re.findall(r"`(\w+)`", line.split("|")[1])}


@pytest.fixture(scope="module")
def played(stack):
    """Everything executed on the master, again where capture was behind meanwhile; {label: GTIDs}."""
    stack.sql("master", f"DROP DATABASE IF EXISTS {SCHEMA}")
    stack.sql("master", f"CREATE DATABASE {SCHEMA}")
    player = changelog.Player(stack, SCHEMA)
    player.cursor.execute("SET SESSION time_zone = '+00:00'")
    labels = {label for label, *_ in cases(stack)}
    for _ in range(TRIES):
        stack.await_debezium()
        for case in cases(stack):
            if case[0] in labels:
                change_all(player, *case)
                stack.wait_for(lambda: stack.contains("satellite-1", stack.gtid("master")), 60, f"satellite-1 to have {case[1]}")
        kinds = changelog.kinds(stack)
        labels = {label for label in labels if PASSING & {kinds.get(gtid) for gtid in player.gtids[label]}}
        if not labels:
            break
        for label in labels:
            del player.gtids[label]
    player.close()
    stack.await_satellites(deadline_s=90)
    return player.gtids


def cases(stack):
    """(label, table, column definition, values, sql_mode). The value of an ENUM that stands for an error, and bytes that mean nothing,
    come in only where nobody is strict."""
    strict, lenient = "NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES", "NO_AUTO_VALUE_ON_ZERO"
    for name, definitions in types.CASES.items():
        for number, (definition, values) in enumerate(definitions):
            yield name, f"{name.lower()}_{number}", definition, values, lenient if name == "ENUM" else strict
    for charset, longest in charsets(stack):
        yield ("TEXT", charset), f"in_{charset}", f"MEDIUMTEXT CHARACTER SET {charset}", types.charset_values(charset), lenient
        yield "odd", f"odd_{charset}", f"VARCHAR(256) CHARACTER SET {charset}", types.odd_bytes(charset, longest), lenient


def charsets(stack):
    found = stack.sql(
        "master", "SELECT character_set_name, maxlen FROM information_schema.character_sets WHERE character_set_name <> 'binary' ORDER BY 1"
    )
    assert len(found) > 35
    return found


def change_all(player, label, table, definition, values, sql_mode):
    """Inserts every value; gives each row the next one's value; sets NULL or the first value; changes keys; deletes half of the rows."""
    count = len(values)
    nullable = "NOT NULL" not in definition and not definition.startswith("TIMESTAMP(")
    player.cursor.execute("SET SESSION sql_mode = %s", (sql_mode,))
    player.cursor.execute(f"DROP TABLE IF EXISTS {table}")
    player.cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, c {definition})")
    player.play(
        label,
        f"INSERT INTO {table} VALUES {', '.join(f'({i}, {value})' for i, value in enumerate(values))}",
        f"UPDATE {table} AS t JOIN (SELECT id, c FROM {table}) AS o ON o.id = (t.id + 1) % {count} SET t.c = o.c",
        *([f"UPDATE {table} SET c = NULL WHERE id = 0"] if nullable and count > 1 else []),
    )
    player.play("key", f"UPDATE {table} SET id = id + {count} WHERE id % 3 = 0")
    player.play(label, f"DELETE FROM {table} WHERE id % 2 = 1 AND id <> 1")


@pytest.fixture(scope="module")
def became(stack, played):
    kinds = changelog.kinds(stack)
    return {label: [kinds.get(gtid, "nothing") for gtid in gtids] for label, gtids in played.items()}


def test_the_documented_types_are_those_that_are_tested(stack):
    by_type, _ = documented(stack)
    names = {key if isinstance(key, str) else key[0] for key in by_type}
    assert names == set(types.CASES)


@pytest.mark.parametrize("name", types.CASES)
def test_every_value_is_the_same(stack, played, name):
    tables = [f"{name.lower()}_{number}" for number in range(len(types.CASES[name]))]
    assert_same_rows(stack, SCHEMA, *tables)
    assert all(stack.sql("satellite-1", f"SELECT COUNT(*) > 0 FROM {SCHEMA}.{table}") == [(1,)] for table in tables)


def test_every_character_set_is_the_same(stack, played):
    names = [name for name, _ in charsets(stack)]
    tables = [
        row[0]
        for row in stack.sql(
            "master", "SELECT table_name FROM information_schema.tables WHERE table_schema=%s AND table_name REGEXP '^(in|odd)_'", (SCHEMA,)
        )
    ]
    assert {f"{what}_{name}" for name in names for what in ("in", "odd")} == set(tables)
    assert_same_rows(stack, SCHEMA, *tables)


@pytest.mark.parametrize("name", types.CASES)
def test_the_log_has_it_as_documented(stack, became, name):
    by_type, _ = documented(stack)
    expect(became[name], by_type.get(name) or by_type[name, "utf8mb4"], "type")


def test_the_log_has_every_character_set_as_documented(stack, became):
    by_type, _ = documented(stack)
    for charset, _ in charsets(stack):
        expect(became["TEXT", charset], by_type.get(("TEXT", charset), by_type["TEXT", "*"]), "type")


def expect(seen, kind, reason):
    assert len(seen) >= 3
    expected = {"rows"} | PASSING if kind == "rows" else {f"raw {reason}"}
    assert set(seen) <= expected, seen
    assert kind == "raw" or seen.count("rows") > len(seen) / 2, f"capture was behind too often to tell: {seen}"


def test_bytes_that_mean_nothing_go_raw_but_what_stands_for_them_does_not(became):
    assert {"raw type", "rows"} <= set(became["odd"]) <= {"raw type", "raw debezium_differs", "raw many_rows", "rows"} | PASSING


def test_a_changed_key_goes_raw(became):
    assert {"raw key_change"} < set(became["key"]) <= {"raw key_change", "raw type"}


def test_json_has_the_same_type_at_every_path(stack, played):
    """Text can't tell 1 from 1 unsigned, or a date from a string."""
    for key, document in stack.sql("master", f"SELECT id, CAST(c AS CHAR) FROM {SCHEMA}.json_0 WHERE c IS NOT NULL"):
        asked = [f"JSON_TYPE(JSON_EXTRACT(c, '{path}'))" for path in paths(json.loads(document), "$")]
        query = f"SELECT {', '.join(asked)} FROM {SCHEMA}.json_0 WHERE id = {key}"
        expected = raw_rows(stack, "master", query)
        for service in stack.satellites:
            assert raw_rows(stack, service, query) == expected, (key, document[:200])


def paths(value, at):
    yield at
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, f"{at}.{json.dumps(name)}")
    if isinstance(value, list):
        for place, inner in enumerate(value):
            yield from paths(inner, f"{at}[{place}]")


def test_comparison_sees_every_bit(stack, schema, execute):
    """The comparison itself: values that MySQL prints alike differ in it."""
    from support.same import exact

    execute(
        "CREATE TABLE pair (n INT PRIMARY KEY, f DOUBLE, e ENUM('a',''), j JSON)",
        "SET sql_mode = ''",
        "INSERT INTO pair VALUES (1, 0, '', '1'), (2, -0e0, 0, CAST(1e0 AS JSON))",
    )
    shown = ", ".join(exact(*column) for column in (("f", "double"), ("e", "enum"), ("j", "json")))
    one, other = stack.sql("master", f"SELECT {shown} FROM {quoted(schema)}.pair ORDER BY n")
    assert all(a != b for a, b in zip(one, other)), (one, other)
