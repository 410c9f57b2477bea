"""What `make precheck` says of an existing MySQL's answers. No server is there."""

import json
import os
import pty
import subprocess
import sys

import pytest

from support import compose as containers

sys.path.insert(0, containers.ROOT + "/mysql-master/adopt")
import facts  # noqa: E402
import findings  # noqa: E402

GIB = 1 << 30
HERE = findings.Here({"lower_case_table_names": "0", "sql_mode": "A,B", "autocommit": "TRUE"}, 8 * GIB, 2, GIB)
# A server that fits.
GOOD = {
    "version": [["9.7.4", "MySQL Community Server"]],
    "variables": [["lower_case_table_names", "0"], ["sql_mode", "B,A"], ["autocommit", "ON"], ["time_zone", "+00:00"]],
    "status": [["uptime", "9"]],
    "privileges": [["SELECT"], ["SHOW VIEW"], ["TRIGGER"], ["EVENT"], ["PROCESS"]],
    "schemas": [["shop", 3, 100 << 20]],
    "users": [["app", "%", "caching_sha2_password", "", 0], ["root", "localhost", "auth_socket", "", 0]],
    "powers": [["'root'@'localhost'", "SUPER"]],
    "sample": [[10, 1, 1]],
    "digests": [["SELECT ?", 9, 3.0], ["COMMIT", 1, 1.0]],
    **{name: [] for name in ("engines", "no_key", "encrypted", "types", "generated", "cascades", "triggers", "events", "tablespaces")},
    **{name: [] for name in ("elsewhere", "own_indexes", "functions", "plugins", "components", "definers")},
}


def judge(here=HERE, places=("satellite", "session"), errors=None, **answers):
    rows = {name: each for name, each in {**GOOD, **answers}.items() if each is not None}
    return findings.findings(rows, errors or {}, here, places and list(places))


def levels(found, group=None):
    return {each.level for each in found if group in (None, each.group)}


def test_a_server_that_fits_is_ok_in_everything():
    assert levels(judge()) == {findings.OK}, findings.report(judge())


def test_every_query_has_a_judge():
    """Of each answer that is missing the report says so: no check is left out in silence."""
    for name in facts.QUERIES:
        found = judge(**{name: None}, errors={name: "1142: denied"})
        assert (findings.BLOCKS if name == "version" else findings.UNCHECKED) in levels(found), name


@pytest.mark.parametrize(
    "answers",
    [
        {"version": [["5.7.44", ""]]},
        {"version": [["11.4.2-MariaDB", "mariadb.org"]]},
        {"version": [["5.6.51-log", ""]]},
        {"version": [["unknown", ""]]},
        {"version": None},
        {"engines": [["shop", "old", "MyISAM"]]},
        {"encrypted": [["shop", "t"]]},
        {"tablespaces": [["shop", "t", "ts"]]},
        {"own_indexes": [["shop", "t", "multimed_own_1"]]},
        {"functions": [["f", "f.so"]]},
        {"users": [["app", "%", "mysql_native_password", "", 0]]},
        {"users": [["app", "%", "caching_sha2_password", "X509", 0]]},
        {"users": [["app", "10.0.0.5", "caching_sha2_password", "", 0]]},
        {"users": [["multimed_gate", "%", "caching_sha2_password", "", 0]]},
        {"variables": [["lower_case_table_names", "1"]]},
        {"schemas": [["shop", 3, 5 * GIB]]},
        {"schemas": [["shop", 3, GIB]]},
    ],
)
def test_what_cannot_come_blocks(answers):
    assert findings.BLOCKS in levels(judge(**answers))


def test_of_a_server_from_which_nothing_comes_only_that_is_said():
    """MariaDB's performance_schema has no rows."""
    (only,) = judge(version=[["11.8.9-MariaDB-4 from Debian", "-- Please help"]], status=[], variables=[], digests=None)
    assert only.level == findings.BLOCKS and only.what == "MariaDB 11.8.9-MariaDB-4 from Debian"


def test_an_answer_without_rows_is_not_checked():
    assert findings.UNCHECKED in levels(judge(status=[], variables=[]))


@pytest.mark.parametrize(
    "answers",
    [
        {"version": [["8.4.3", ""]]},
        {"no_key": [["shop", "t"]]},
        {"triggers": [["shop", "t"]]},
        {"status": [["com_xa_start", "3"]]},
        {"variables": [["sql_mode", "A"], ["time_zone", "+00:00"], ["lower_case_table_names", "0"]]},
        {"variables": [["time_zone", "SYSTEM"], ["system_time_zone", "CET"], ["lower_case_table_names", "0"]]},
        {"users": [["backup", "localhost", "caching_sha2_password", "", 0]]},
        {"powers": [["'app'@'%'", "SUPER"]]},
        {"sample": [[10, 9, 0]]},
    ],
)
def test_what_only_differs_is_a_note(answers):
    found = levels(judge(**answers))
    assert findings.NOTE in found and findings.BLOCKS not in found


def test_an_account_that_sees_little_is_told_so():
    found = judge(privileges=[["SELECT"]])
    assert any(each.level == findings.UNCHECKED and "SHOW VIEW, TRIGGER, EVENT, PROCESS" in each.means for each in found)
    assert levels(found, "tables") == set(), "nothing is OK that it could not see"


def test_a_role_has_no_login_to_complain_of():
    assert findings.BLOCKS not in levels(judge(users=[["reader", "10.0.0.5", "caching_sha2_password", "", 1]]))


def test_the_load_is_weighed_by_count_and_by_time():
    line = next(each.what for each in judge(places=["satellite", "master\ta reason"]) if each.group == "load")
    assert "90 % of 10" in line and "75 % of the time" in line


def test_answers_and_errors_belong_to_their_section():
    text = (
        "== ours\nsql-mode    A,B\n== version\n"
        + json.dumps(["9\n== x", "y"])
        + "\n== users\nERROR 1142 (42000) at line 9: denied\n== end\n"
    )
    rows, errors, ours = facts.parse(text)
    assert rows == {"ours": [], "version": [["9\n== x", "y"]], "end": []}
    assert errors == {"users": "1142: denied"} and ours == {"sql_mode": "A,B"}


@pytest.mark.parametrize(
    "digest, statement",
    [
        ("SELECT SUM ( `k` ) FROM `t` WHERE `id` IN (...)", "SELECT SUM( `k` ) FROM `t` WHERE `id` IN(?)"),
        ("SELECT `DATE_FORMAT` ( `a` , ? ) FROM `t`", "SELECT DATE_FORMAT( `a` , ? ) FROM `t`"),
        ("SELECT * FROM `t` LIMIT ?, ...", "SELECT * FROM `t` LIMIT ?, ?"),
        ("SELECT `a` FROM `t` WHERE ...", "SELECT `a` FROM `t` WHERE ..."),
    ],
)
def test_a_digest_becomes_a_statement(digest, statement):
    assert facts.statement(digest) == statement


def test_precheck_names_every_mistake_at_once():
    done = containers.run("make", "-s", "precheck", check=False, env={"MYSQL": "no host", "NAME": "app", "PASSWORD_FILE": "/no/such"})
    assert "MYSQL=no host" in done.stderr and "/no/such" in done.stderr and "64" in done.stderr


@pytest.mark.parametrize(
    "given, host, port",
    [
        ("[2001:db8::5]:3307", "2001:db8::5", "3307"),
        ("[2001:db8::5]", "2001:db8::5", "3306"),
        ("db.example", "db.example", "3306"),
        ("10.0.0.7:3307", "10.0.0.7", "3307"),
    ],
)
def test_the_address_of_the_server(given, host, port):
    assert checked(given) == f"{host} {port}"


@pytest.mark.parametrize(
    "given, said", [("2001:db8::5", "brackets"), ("h:0", "no port"), ("[::1]:70000", "no port"), ("a b", "HOST:PORT"), ("", "HOST:PORT")]
)
def test_an_address_that_can_be_read_in_two_ways_is_a_mistake(given, said):
    assert said in checked(given)


def checked(address):
    """What check_source makes of MYSQL, or says of it."""
    script = ". mysql-master/lib.sh; . mysql-master/adopt/source.sh; PASSWORD_FILE=tests/env.sh; need_secret() { :; }; check_source; "
    script += 'stop_on_mistakes; echo "$source_host $source_port"'
    done = containers.run("bash", "-c", script, check=False, env={"MYSQL": address, "me": "precheck"})
    return (done.stdout or done.stderr).strip()


@pytest.mark.parametrize("typed", [b"\n", b"\x04"], ids=["return", "end of file"])
def test_an_empty_password_at_the_prompt_is_said_there(typed):
    ours, theirs = pty.openpty()
    env = {**os.environ, "MYSQL": "127.0.0.1:1", "NAME": "app", "PASSWORD_FILE": ""}
    with subprocess.Popen(
        ["mysql-master/precheck"], cwd=containers.ROOT, env=env, stdin=theirs, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as command:
        os.write(ours, typed)
        _, said = command.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "the password is empty" in said and command.returncode == 64, said


@pytest.mark.parametrize(
    "greeting, said",
    [
        ([["5.5.5-10.11.6-MariaDB-log"]], "MariaDB 10.11.6-MariaDB-log: "),
        ([["5.7.44"]], "MySQL 5.7.44: older than 8.0"),
        ([["8.0.40"]], "caching_sha2_password"),
        ([], "caching_sha2_password"),
        (None, "caching_sha2_password"),
    ],
)
def test_whose_accounts_our_clients_do_not_know_is_told_what_that_means(greeting, said):
    first, *lines = findings.no_login("2059: Authentication plugin 'mysql_native_password' cannot be loaded", greeting)
    assert first.startswith("2059") and said in " ".join(lines)


def test_a_setting_that_the_server_lacks_does_not_keep_the_session_from_being_read_only():
    statements = facts.script().split(";\n")
    assert "READ ONLY" in facts.FIRST and "," not in facts.FIRST
    assert [each.count(" = ") for each in statements if each.startswith("SET ")] == [1] * len(facts.SESSION)
    answered = "== connection\n== session\nERROR 1193 (HY000) at line 4: Unknown system variable\n== version\n" + '["8.0.1", ""]\n== end\n'
    assert facts.parse(answered)[0]["version"] == [["8.0.1", ""]]


def test_a_name_with_what_python_takes_for_a_line_end_breaks_no_row():
    name = "a\u2028b\x85c"
    answered = f"== connection\n== no_key\n{json.dumps([name, 1], ensure_ascii=False)}\n== end\n"
    assert facts.parse(answered)[0]["no_key"] == [[name, 1]]
