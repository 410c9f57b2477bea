"""Classes of reads that are bound to satellites (GATE_CLASSES), and what `gtid-gate statements` tells of them."""

import contextlib
import json

import pytest

from support.gate import operate as gate

BOUND, OTHER = "satellite-2", "satellite-1"
CLASSES = (
    f"reports: satellites={BOUND} tables=demo.tagged users=nobody;"
    f" exports: satellites={BOUND} otherwise=error;"
    f" named: satellites={BOUND} digests={{digest}}"
)
NAMED = "SELECT COUNT(*) AS named FROM items WHERE id > %s"


@pytest.fixture(scope="module")
def classes(stack, table):
    """The gate with these classes; the digest's number is the one that the gate itself tells."""
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        cursor.execute(NAMED, (7,))
    digest = next(row["digest"] for row in listed() if "AS named" in row["text"])
    stack.recreate("gate", GATE_CLASSES=CLASSES.format(digest=digest), GATE_MASTER_READS="spare")
    try:
        yield digest
    finally:
        stack.recreate("gate")


@pytest.fixture
def undrained(stack):
    yield
    gate("undrain", BOUND)
    stack.wait_for(lambda: stack.server(BOUND)["state"] == "up", 30, "the satellite takes reads again")


def listed():
    return json.loads(gate("statements")[1])["statements"]


def where(stack, cursor, *statements, times=10):
    """The servers that answered while these were executed so often."""
    before = {server["name"]: server["reads"] for server in stack.servers()}
    for _ in range(times):
        for statement, values in statements:
            cursor.execute(statement, values)
            cursor.fetchall()
    return {server["name"] for server in stack.servers() if server["reads"] > before[server["name"]]}


def only_other(stack, cursor, *statements):
    """Whether they go to the satellite of no class; for a moment the master may be expected to answer sooner."""
    found = set()

    def asked():
        found.update(where(stack, cursor, *statements))
        return OTHER in found

    stack.wait_for(asked, 20, "a read on the satellite of no class")
    return found <= {OTHER, "master"}


@pytest.fixture
def cursor(stack, classes):
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        yield cursor


def test_reads_of_a_class_go_to_its_satellites_and_others_avoid_them(stack, cursor):
    plain = ("SELECT COUNT(*) FROM items", None)
    assert only_other(stack, cursor, plain)
    hinted = ("SELECT /* multimed: class=reports */ COUNT(*) FROM items", None)
    assert where(stack, cursor, hinted) == {BOUND}
    assert where(stack, cursor, (NAMED, (7,))) == {BOUND}, "by its digest"
    cursor.execute("SET @multimed_class = 'reports'")
    assert where(stack, cursor, plain) == {BOUND}
    assert only_other(stack, cursor, ("SELECT /* multimed: class=none */ COUNT(*) FROM items", None))
    assert where(stack, cursor, ("START TRANSACTION READ ONLY", None), plain, ("COMMIT", None)) == {BOUND}
    cursor.execute("SET @multimed_class = NULL")
    assert only_other(stack, cursor, plain)


def test_a_class_that_is_none_is_an_error_and_nothing_else_changes(stack, cursor):
    with pytest.raises(Exception, match="reprots"):
        cursor.execute("SELECT /* multimed: class=reprots */ 1 FROM items")
    assert only_other(stack, cursor, ("SELECT COUNT(*) FROM items", None))


def test_without_its_satellites_a_read_goes_as_any_other_or_has_an_error(stack, cursor, undrained):
    gate("drain", BOUND)
    assert only_other(stack, cursor, ("SELECT /* multimed: class=reports */ COUNT(*) FROM items", None))
    with pytest.raises(Exception, match="exports"):
        cursor.execute("SELECT /* multimed: class=exports */ COUNT(*) FROM items")
    gate("undrain", BOUND)
    assert where(stack, cursor, ("SELECT /* multimed: class=exports */ COUNT(*) FROM items", None)) == {BOUND}


def test_the_operator_is_told_the_class_of_statements_without_their_values(stack, cursor, classes):
    where(stack, cursor, ("SELECT COUNT(*) FROM items WHERE v = %s", ("a secret",)), (NAMED, (4711,)), ("SET @a = 1", None))
    rows = {row["text"]: row for row in listed()}
    named = next(row for text, row in rows.items() if "AS named" in text)
    assert (named["digest"], named["class"]) == (classes, "named")
    assert named["count"] >= 10 and named["p50_ms"] > 0 and set(named["servers"]) == {BOUND}
    other = next(row for text, row in rows.items() if "v = ?" in text)
    assert other["class"] == "light"
    assert {row["class"] for text, row in rows.items() if text.startswith("SET")} == {None}
    assert not any("secret" in text or "4711" in text for text in rows)
