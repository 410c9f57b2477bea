"""Statements that the gate answers about itself reach it: by the rules of the rendered file, which need no ProxySQL to be judged."""

import re

import pytest

import frontdoor

MASTER, GATE = 10, 20


def rules():
    """(pattern, hostgroup or None) of each rule, in the order in which ProxySQL tries them."""
    text = (frontdoor.FOLDER / "proxysql.cnf.template").read_text()
    found = []
    for rule in re.findall(r"\{ (rule_id=.*?) \}", text, re.S):
        number = int(re.search(r"rule_id=(\d+)", rule)[1])
        pattern = re.search(r'match_digest="((?:[^"\\]|\\.)*)"', rule)[1].replace("\\\\", "\\")
        hostgroup = re.search(r"destination_hostgroup=(\d+)", rule)
        assert "apply=1" in rule, rule
        found.append((number, re.compile(pattern, re.I), hostgroup and int(hostgroup[1])))
    return [(pattern, hostgroup) for _, pattern, hostgroup in sorted(found, key=lambda rule: rule[0])]


def digest(statement):
    """As ProxySQL makes it, as far as these rules need it: no comments, single blanks, a question mark for each value."""
    text = re.sub(r"/\*.*?\*/|--\s.*?(\n|$)|#.*?(\n|$)", " ", statement, flags=re.S)
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\b\d+\b", "?", text)
    return " ".join(text.split())


def hostgroup(statement):
    """Where a session outside transactions is sent; no rule, or one without a destination: the users' default."""
    matching = (destination for pattern, destination in rules() if pattern.search(digest(statement)))
    return next(matching, None) or MASTER


@pytest.mark.parametrize(
    "statement",
    [
        "SHOW MULTIMED STATUS",
        "show\n  multimed   servers;",
        "/* dashboard */ SHOW MULTIMED STATUS LIKE 'Multimed_reads%'",
        "-- who\nSHOW MULTIMED LAST READ",
        "SHOW MULTIMED STATEMENTS LIMIT 5",
        "SHOW MULTIMED VARIABLES",
        "EXPLAIN MULTIMED SELECT a FROM t FOR UPDATE",
        "EXPLAIN MULTIMED SELECT @a, @@version, GET_LOCK('x', 1) FROM performance_schema.threads",
        "EXPLAIN MULTIMED CREATE TEMPORARY TABLE t (i INT)",
        "explain multimed WITH w AS (SELECT 1) DELETE FROM t",
    ],
)
def test_questions_about_the_gate_reach_it(statement):
    assert hostgroup(statement) == GATE


@pytest.mark.parametrize(
    "statement",
    ["SHOW STATUS", "SHOW MULTIMEDIA", "EXPLAIN SELECT 1", "DESCRIBE multimed", "EXPLAIN multimedia", "INSERT INTO multimed VALUES (1)"],
)
def test_what_is_no_such_question_does_not(statement):
    assert hostgroup(statement) == MASTER


@pytest.mark.parametrize(
    "statement,expected",
    [
        ("SELECT name FROM whoami", GATE),
        ("SELECT name FROM whoami FOR UPDATE", MASTER),
        ("SET @a = 1", GATE),
        ("SELECT 1; SELECT 2", MASTER),
        ("START TRANSACTION READ ONLY", GATE),
        ("WITH w AS (SELECT 1) DELETE FROM t", MASTER),
    ],
)
def test_rules_are_judged_as_by_proxysql(statement, expected):
    """What test_proxysql_routing shows of the real one."""
    assert hostgroup(statement) == expected
