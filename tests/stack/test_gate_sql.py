"""SHOW MULTIMED … and EXPLAIN MULTIMED: what the gate tells of itself through any MySQL client, and that asking changes nothing."""

import contextlib
import glob
import re

import pymysql
import pytest

from consistency.consistency_run import go
from support import compose as containers

STATEMENTS = (
    "SHOW MULTIMED STATUS",
    "SHOW MULTIMED SERVERS",
    "SHOW MULTIMED VARIABLES LIKE 'GATE_WAIT%'",
    "EXPLAIN MULTIMED SELECT v FROM items WHERE id = ?",
)
# What each answers first, and its columns.
FIRST = ("Multimed_class_errors", "master", "GATE_WAIT_MS", "Statement")


@pytest.fixture
def connection(stack, table):
    with contextlib.closing(stack.gate_connect()) as opened:
        yield opened


def ask(connection, statement, parameters=None, **cursor):
    """Rows as dictionaries."""
    with contextlib.closing(connection.cursor(**cursor)) as opened:
        opened.execute(statement, parameters)
        names = [column[0] for column in opened.description]
        return [dict(zip(names, row, strict=True)) for row in opened.fetchall()]


def named(rows):
    return {row["Variable_name"]: row["Value"] for row in rows}


def explained(connection, statement, **options):
    return {row["Item"]: row["Value"] for row in ask(connection, f"EXPLAIN MULTIMED {statement}", **options)}


def status(connection, like):
    return named(ask(connection, f"SHOW MULTIMED STATUS LIKE '{like}'"))


def test_status_counts_reads_and_says_who_serves(stack, connection):
    before = int(status(connection, "Multimed_reads_on_satellites")["Multimed_reads_on_satellites"])
    ask(connection, "SELECT v FROM items WHERE id = 1")

    def counted():
        found = status(connection, r"multimed\_%")
        return found if int(found["Multimed_reads_on_satellites"]) == before + 1 else None

    found = stack.wait_for(counted, 10, "the read to be counted")
    assert found["Multimed_satellites_serving"] == str(len(stack.satellites))
    assert found["Multimed_master_state"] == "up"
    assert re.fullmatch(r"[0-9a-f-]{36}:1-\d+", found["Multimed_master_gtid_set"])
    assert list(found) == sorted(found)


def test_servers_are_those_of_the_http_api(stack, connection):
    rows = {row["Server"]: row for row in ask(connection, "/* who */ show\n multimed  servers ;")}
    assert list(rows) == ["master", *stack.satellites]
    for server in stack.servers():
        row = rows[server["name"]]
        assert (row["Role"], row["State"], row["Incarnation"]) == (server["role"], "up", server["incarnation"])
        assert row["Connections_limit"] == server["limits"]["connections"]
        assert isinstance(row["Lag_ms"], int)
    assert rows["master"]["Gtid_set"]


def test_variables_tell_settings_and_what_the_session_chose_and_no_secret(stack, connection):
    found = named(ask(connection, "SHOW MULTIMED VARIABLES"))
    assert found["GATE_MASTER_READS"] == "fallback"
    assert found["@multimed_consistency"] == found["GATE_CONSISTENCY"] == "strong"
    assert not [name for name in found if "PASSWORD" in name and not name.endswith("_TTL_S") or "TOKEN" in name]
    ask_nothing(connection, "SET @multimed_consistency = 'bounded:700'")
    assert named(ask(connection, "SHOW MULTIMED VARIABLES LIKE '@multimed_cons%'")) == {"@multimed_consistency": "bounded:700"}


def ask_nothing(connection, statement):
    with connection.cursor() as opened:
        opened.execute(statement)


def test_explain_says_where_and_why_and_runs_nothing(stack, connection, reads):
    def explain():
        read = explained(connection, "SELECT v FROM items i JOIN other.t USING (id) WHERE id = ?")
        assert read["Statement"] == "read" and read["Tables"] == "items, other.t"
        assert (read["Schema"], read["Consistency"]) == ("app", "strong")
        assert read["Runs_on"] in stack.satellites
        assert read[f"Server {read['Runs_on']}"].startswith("fresh")
        change = explained(connection, "DELETE FROM items")
        assert change["Runs_on"] == "master" and "data change" in change["Statement"]
        hinted = explained(connection, "/* multimed: consistency=eventual */ SELECT 1 FROM items")
        assert hinted["Consistency"] == "eventual"

    assert not reads(explain)
    assert ask(connection, "SELECT COUNT(*) AS n FROM items") == [{"n": 1000}]


def test_explain_follows_the_session(stack, connection):
    read = "SELECT v FROM items WHERE id = 1"
    ask_nothing(connection, "START TRANSACTION READ ONLY")
    explained(connection, read)
    ask(connection, read)
    there = explained(connection, read)
    assert there["Runs_on"] in stack.satellites and there["Reason"] == "its read-only transaction is here"
    assert explained(connection, "DELETE FROM items")["Runs_on"].startswith("nowhere")
    ask_nothing(connection, "COMMIT")
    ask_nothing(connection, "START TRANSACTION")
    assert explained(connection, read)["Runs_on"] == "master"
    ask_nothing(connection, "ROLLBACK")
    assert explained(connection, read)["Runs_on"] in stack.satellites


def test_asking_changes_nothing_of_the_session(stack, connection):
    """Nor its transaction, its warnings' place, its rows, its server."""
    with connection.cursor() as opened:
        opened.execute("SELECT id FROM items LIMIT 3")
        for statement in STATEMENTS:
            opened.execute(statement)
            assert connection.server_status & 3 == 2 and opened.warning_count == 0
        opened.execute("SHOW WARNINGS")
        assert opened.fetchall() == ()
        opened.execute("SELECT FOUND_ROWS()")
        assert opened.fetchall() == ((3,),)
        for begin, runs_on in (("START TRANSACTION", "master"), ("START TRANSACTION READ ONLY", None)):
            opened.execute(begin)
            opened.execute("SELECT v FROM items WHERE id = 2")
            for statement in STATEMENTS:
                opened.execute(statement)
                assert connection.server_status & 3 == 3, statement
            assert runs_on in (None, explained(connection, "SELECT 1")["Runs_on"])
            opened.execute("COMMIT")
            assert connection.server_status & 3 == 2


@pytest.mark.parametrize("statement", ["SHOW MULTIMED", "SHOW MULTIMED NOTHING", "SHOW MULTIMED STATUS WHERE Value = 1"])
def test_what_is_not_known_is_a_syntax_error_that_lists_what_is(connection, statement):
    with pytest.raises(pymysql.err.ProgrammingError, match="SHOW MULTIMED LAST READ") as refused:
        ask(connection, statement)
    assert refused.value.args[0] == 1064
    assert ask(connection, "SHOW WARNINGS")[0]["Code"] == 1064


def test_among_several_statements_nothing_is_run(stack, table):
    options = {"client_flag": pymysql.constants.CLIENT.MULTI_STATEMENTS}
    with contextlib.closing(stack.gate_connect(**options)) as opened:
        with pytest.raises(pymysql.err.ProgrammingError, match="beside other statements"):
            ask(opened, "CREATE TABLE app.never (i INT); SHOW MULTIMED STATUS")
        assert not ask(opened, "SHOW TABLES LIKE 'never'")


def test_a_client_in_latin1_is_told_ascii(stack, table):
    with contextlib.closing(stack.gate_connect(charset="latin1")) as opened:
        assert ask(opened, "SHOW MULTIMED SERVERS")[0]["Server"] == "master"
        assert explained(opened, "SELECT 1 FROM items")["Runs_on"] in stack.satellites


def test_the_master_itself_takes_it_for_a_syntax_error(stack):
    with contextlib.closing(stack.master_connect()) as opened, pytest.raises(pymysql.err.ProgrammingError) as refused:
        ask(opened, "SHOW MULTIMED STATUS")
    assert refused.value.args[0] == 1064


def test_prepared_in_python(stack, table):
    with contextlib.closing(stack.gate_connect(client="connector")) as opened:
        for prepared in (True, False):
            for statement, first in zip(STATEMENTS, FIRST, strict=True):
                parameters = (7,) if prepared and "?" in statement else None
                rows = ask(opened, statement, parameters, prepared=prepared)
                assert next(iter(rows[0].values())) == first


def java(stack):
    jars = glob.glob(f"{stack.root}/cdc-applier/target/dist/lib/mysql-connector-j-*.jar")
    url = f"jdbc:mysql://{stack.host}:{stack.gate_port}/app?useServerPrepStmts=true&allowPublicKeyRetrieval=true"
    env = {"URL": url, "DB_USER": "app", "DB_PASSWORD": stack.password("app")}
    return ("java", "-cp", jars[0], "tests/stack/clients/Questions.java"), env


def node(stack):
    env = {
        "NODE_PATH": str(stack.root / ".state/test/node/node_modules"),
        "HOST": stack.host,
        "PORT": str(stack.gate_port),
        "DB_USER": "app",
        "DB_PASSWORD": stack.password("app"),
    }
    return ("node", "tests/stack/clients/node/mysql2.js", "questions"), env


def golang(stack):
    binary = stack.state / "questions"
    go("build", "-o", str(binary), ".", directory=stack.root / "tests/stack/clients/go")
    return (str(binary),), {"DSN": f"app:{stack.password('app')}@tcp({stack.host}:{stack.gate_port})/app"}


@pytest.mark.parametrize("client", [java, node, golang])
def test_drivers_read_each_answer_in_text_and_prepared(stack, table, client):
    command, env = client(stack)
    said = containers.run(*command, env={**env, "STATEMENTS": "\n".join(STATEMENTS)}).stdout
    lines = said.splitlines()[: 2 * len(STATEMENTS)]
    expected = [first for first in FIRST for _ in ("text", "prepared")]
    assert [line.split("\t")[1] for line in lines] == expected, said
    columns = [line.split("\t")[0] for line in lines]
    assert columns[::2] == columns[1::2]
    assert re.search(r"Server VAR\w+,.*Lag_ms (BIGINT UNSIGNED|UNSIGNED BIGINT|LONGLONG),", columns[2]), columns


@pytest.mark.fault
def test_it_answers_while_the_master_is_down(stack, table):
    with contextlib.closing(stack.gate_connect()) as opened:
        ask(opened, "SELECT v FROM items WHERE id = 1")
        stack.pause("master", "mysqld")
        stack.wait_for(lambda: stack.server("master")["state"] == "down", 30, "the master to be taken for down")
        assert status(opened, "Multimed_master_state") == {"Multimed_master_state": "down"}
        rows = {row["Server"]: row for row in ask(opened, "SHOW MULTIMED SERVERS")}
        assert rows["master"]["State"] == "down" and rows["master"]["Gtid_set"] is None
        assert rows["satellite-1"]["State"] == "up"
        assert explained(opened, "DELETE FROM items")["Runs_on"] == "master"
        stack.resume("master", "mysqld")
        stack.wait_for(lambda: stack.server("master")["state"] == "up", 30, "the master to be back")
