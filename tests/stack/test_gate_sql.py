"""SHOW MULTIMED … and EXPLAIN MULTIMED: what the gate tells of itself through any MySQL client, and that asking changes nothing."""

import contextlib
import glob
import re

import pymysql
import pytest

from consistency.consistency_run import go
from support import compose as containers
from support.stack import ADMIN

STATEMENTS = (
    "SHOW MULTIMED STATUS",
    "SHOW MULTIMED SERVERS",
    "SHOW MULTIMED VARIABLES LIKE 'GATE_WAIT%'",
    "EXPLAIN MULTIMED SELECT v FROM items WHERE id = ?",
    "SHOW MULTIMED LAST READ",
)
DIGESTS = "SHOW MULTIMED STATEMENTS LIMIT 20"


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
    # Of a server that was adopted, too.
    assert re.fullmatch(r"([0-9a-f-]{36}(:\d+(-\d+)?)+,?\s*)+", found["Multimed_master_gtid_set"])
    assert list(found) == sorted(found)


def test_servers_are_those_of_the_http_api(stack, connection):
    rows = {row["Server"]: row for row in ask(connection, "/* who */ show\n multimed  servers ;")}
    assert list(rows) == [server["name"] for server in stack.servers()] and set(rows) == {"master", *stack.satellites}
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


def test_the_last_read_is_told_with_what_its_answer_contained(stack, connection):
    assert not ask(connection, "SHOW MULTIMED LAST READ")
    written = stack.gtid("master")
    ask(connection, "SELECT v FROM items WHERE id = 1")
    (read,) = ask(connection, "SHOW MULTIMED LAST READ")
    assert read["Server"] in stack.satellites and read["Role"] == "satellite"
    assert read["Incarnation"] == stack.server(read["Server"])["incarnation"]
    assert (read["Consistency"], read["Reason"]) in {("strong", "fresh"), ("strong", "fresh after a wait")}
    assert stack.sql("master", "SELECT GTID_SUBSET(%s, %s)", (written, read["Gtid_set"])) == [(1,)]
    assert read["Waited_ms"] >= 0
    ask_nothing(connection, "SELECT v FROM items WHERE id = 1 FOR UPDATE")
    assert ask(connection, "SHOW MULTIMED LAST READ") == [read]
    ask_nothing(connection, "START TRANSACTION")
    ask(connection, "SELECT v FROM items WHERE id = 1")
    (read,) = ask(connection, "SHOW MULTIMED LAST READ")
    assert (read["Server"], read["Reason"]) == ("master", "in a read-write transaction") and "READ ONLY" in read["Advice"]


def test_statements_are_for_who_may_see_those_of_others(stack, connection, table):
    def refused():
        with pytest.raises(pymysql.err.MySQLError, match="PROCESS") as error:
            ask(connection, DIGESTS)
        return error.value.args[0] == 1227

    assert refused()
    ask_nothing(connection, "SELECT id FROM items LIMIT 2")
    for grant in ("PROCESS ON *.*", "SELECT ON performance_schema.*"):
        stack.sql("master", f"GRANT {grant} TO app@'%'")
        try:
            assert len(ask(connection, DIGESTS)) > 1
        finally:
            stack.sql("master", f"REVOKE {grant} FROM app@'%'")
        assert refused()
    assert ask(connection, "SELECT FOUND_ROWS() AS n") == [{"n": 2}]
    ask_nothing(connection, "SELECT n FROM items WHERE v = 'secret' FOR UPDATE")
    with contextlib.closing(stack.gate_connect(user=ADMIN, database="app")) as admin:
        rows = {row["Digest_text"]: row for row in ask(admin, "SHOW MULTIMED STATEMENTS")}
        locking = rows["SELECT n FROM items WHERE v = ? FOR UPDATE"]
        assert not [text for text in rows if "secret" in (text or "")]
        assert locking["Count"] >= 1 and locking["Errors"] == 0 and locking["Total_ms"] >= locking["Max_ms"] > 0
        assert locking["Ran_on"].startswith("master: ") and locking["Reasons"].startswith("locking read: ")
        assert "FOR UPDATE" in locking["Advice"]
        assert len(ask(admin, "SHOW MULTIMED STATEMENTS LIMIT 1")) == 1


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

    before = ask(connection, "SELECT COUNT(*) AS n FROM items")
    assert not reads(explain)
    assert ask(connection, "SELECT COUNT(*) AS n FROM items") == before


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
    firsts = {}
    with contextlib.closing(stack.gate_connect(client="connector")) as opened:
        for prepared in (True, False):
            ask(opened, "SELECT v FROM items WHERE id = 1")
            for statement in STATEMENTS:
                parameters = (7,) if prepared and "?" in statement else None
                rows = ask(opened, statement, parameters, prepared=prepared)
                firsts.setdefault(statement, []).append(next(iter(rows[0].values())))
    assert all(first == prepared for first, prepared in firsts.values()), firsts


def java(stack, more=""):
    jars = glob.glob(f"{stack.root}/cdc-applier/target/dist/lib/mysql-connector-j-*.jar")
    url = f"jdbc:mysql://{stack.host}:{stack.gate_port}/app?useServerPrepStmts=true&allowPublicKeyRetrieval=true&sslMode=DISABLED{more}"
    env = {"URL": url, "DB_USER": ADMIN, "DB_PASSWORD": stack.password(ADMIN)}
    return ("java", "-cp", jars[0], "tests/stack/clients/Questions.java"), env


def java_with_cursors(stack):
    """It asks for a cursor with each execution; for a short result a server may give the rows at once."""
    return java(stack, "&useCursorFetch=true&defaultFetchSize=2")


def node(stack):
    env = {
        "NODE_PATH": str(stack.root / ".state/test/node/node_modules"),
        "HOST": stack.host,
        "PORT": str(stack.gate_port),
        "DB_USER": ADMIN,
        "DB_PASSWORD": stack.password(ADMIN),
    }
    return ("node", "tests/stack/clients/node/mysql2.js", "questions"), env


def golang(stack):
    binary = stack.state / "questions"
    go("build", "-o", str(binary), ".", directory=stack.root / "tests/stack/clients/go")
    return (str(binary),), {"DSN": f"{ADMIN}:{stack.password(ADMIN)}@tcp({stack.host}:{stack.gate_port})/app"}


@pytest.mark.parametrize("client", [java, java_with_cursors, node, golang])
def test_drivers_read_each_answer_in_text_and_prepared(stack, table, client):
    """Each as an account that may ask all of it, after a read."""
    command, env = client(stack)
    asked = ("SELECT v FROM items WHERE id = 1", *STATEMENTS, DIGESTS)
    said = containers.run(*command, env={**env, "STATEMENTS": "\n".join(asked)}).stdout
    lines = [line.split("\t") for line in said.splitlines() if "\t" in line]
    answers = dict(zip(asked, zip(lines[::2], lines[1::2], strict=True), strict=True))
    firsts = {
        "SHOW MULTIMED SERVERS": "master",
        "SHOW MULTIMED VARIABLES LIKE 'GATE_WAIT%'": "GATE_WAIT_MS",
        "EXPLAIN MULTIMED SELECT v FROM items WHERE id = ?": "Statement",
    }
    for statement, ((columns, first), (columns_prepared, first_prepared)) in answers.items():
        assert columns == columns_prepared and "null" not in (first, first_prepared), (statement, said)
        assert statement not in firsts or first == first_prepared == firsts[statement], said
    # Which counter is first, hangs on the kinds of errors that came up.
    assert all(first.startswith("Multimed_") for _, first in answers["SHOW MULTIMED STATUS"]), said
    assert re.search(r"Server VAR\w+,.*Lag_ms (BIGINT UNSIGNED|UNSIGNED BIGINT|LONGLONG),", answers["SHOW MULTIMED SERVERS"][0][0]), said
    assert re.search(r"P50_ms DOUBLE,", answers[DIGESTS][0][0]), said
    assert answers["SHOW MULTIMED LAST READ"][0][1] in stack.satellites


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
