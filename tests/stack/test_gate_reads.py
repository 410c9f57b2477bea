"""Which reads go where through the gate, and what they see."""

import contextlib

import pymysql
import pytest


def ask(cursor, *statements):
    """Rows of the last one."""
    for statement in statements:
        cursor.execute(statement)
    return list(cursor.fetchall())


def on_satellites(counts):
    return bool(counts) and all(name.startswith("satellite") for name in counts)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM items WHERE id = 5",
        "SELECT COUNT(*), SUM(n) FROM items",
        "select v from items order by id limit 3",
        "(SELECT 1) UNION (SELECT n FROM items WHERE id = 2)",
        "WITH c AS (SELECT n FROM items) SELECT MAX(n) FROM c",
        "/* a comment */ SELECT v FROM items -- another\n WHERE id = 1",
        "SELECT 'FOR UPDATE' FROM items LIMIT 1",
    ],
)
def test_plain_reads_are_answered_by_satellites(stack, cursor, reads, query):
    counts = reads(lambda: [ask(cursor, query) for _ in range(4)])
    assert on_satellites(counts) and sum(counts.values()) == 4, counts
    direct = stack.sql("satellite-1", query.replace("items", "app.items"))
    assert sorted(ask(cursor, query), key=repr) == sorted(direct, key=repr)


def test_reads_are_shared_by_all_satellites(stack, table, reads):
    """Slow reads at the same time do not all go to one, if the gate does not know one of them to be slower."""
    stack.recreate("gate")
    import threading

    def slow():
        with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
            # long enough that all run at once, without a function that classification must be careful about
            cursor.execute("SELECT SUM(a.n + b.n) FROM items a, items b, (SELECT 1 UNION SELECT 2) c")

    def all_at_once():
        threads = [threading.Thread(target=slow) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    stack.wait_for(lambda: set(reads(all_at_once)) == {"satellite-1", "satellite-2"}, 20, "both satellites to take part")


def test_a_read_sees_every_commit_acknowledged_before_it(stack, table):
    with (
        contextlib.closing(stack.gate_connect()) as writer,
        contextlib.closing(stack.master_connect()) as direct,
        contextlib.closing(stack.gate_connect()) as reader,
    ):
        with reader.cursor() as read, writer.cursor() as write, direct.cursor() as also:
            ask(write, "CREATE TABLE IF NOT EXISTS fresh (id INT PRIMARY KEY, v INT)", "REPLACE INTO fresh VALUES (1, 0)")
            for number in range(1, 150):
                (write if number % 2 else also).execute("UPDATE fresh SET v = %s WHERE id = 1", (number,))
                assert ask(read, "SELECT v FROM fresh WHERE id = 1") == [(number,)]


@pytest.mark.parametrize(
    "begin",
    [
        ("START TRANSACTION READ ONLY",),
        ("SET TRANSACTION READ ONLY", "BEGIN"),
        ("SET SESSION TRANSACTION READ ONLY", "START TRANSACTION"),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",),
    ],
)
def test_a_read_only_transaction_is_one_snapshot_on_one_satellite(stack, cursor, reads, begin):
    def transaction():
        ask(cursor, *begin)
        first = ask(cursor, "SELECT COUNT(*) FROM items")
        stack.sql("master", "INSERT INTO app.items (id) SELECT MAX(id) + 1 FROM app.items AS i")
        stack.await_satellites()
        for _ in range(3):
            assert ask(cursor, "SELECT COUNT(*) FROM items") == first
        ask(cursor, "COMMIT")
        assert ask(cursor, "SELECT COUNT(*) FROM items") == [(first[0][0] + 1,)]

    counts = reads(transaction)
    assert on_satellites(counts), counts
    assert max(counts.values()) >= 4, f"all of the transaction's reads on one server: {counts}"


def test_a_read_only_transaction_sees_what_was_committed_before_its_first_read(stack, cursor):
    ask(cursor, "CREATE TABLE IF NOT EXISTS fresh (id INT PRIMARY KEY, v INT)")
    for number in range(20):
        stack.sql("master", "REPLACE INTO app.fresh VALUES (2, %s)", (number,))
        assert ask(cursor, "START TRANSACTION READ ONLY", "SELECT v FROM fresh WHERE id = 2") == [(number,)]
        ask(cursor, "COMMIT")


@pytest.mark.parametrize(
    "write", ["INSERT INTO items (id) VALUES (-1)", "UPDATE items SET n = 0", "DELETE FROM items", "REPLACE INTO items (id) VALUES (-1)"]
)
@pytest.mark.parametrize("after_a_read", [False, True])
def test_a_write_in_a_read_only_transaction_is_refused_as_mysql_refuses_it(cursor, write, after_a_read):
    ask(cursor, "START TRANSACTION READ ONLY")
    if after_a_read:
        ask(cursor, "SELECT 1 FROM items LIMIT 1")
    with pytest.raises(pymysql.err.MySQLError) as refused:
        ask(cursor, write)
    assert refused.value.args[0] == 1792
    ask(cursor, "ROLLBACK")
    assert ask(cursor, "SELECT COUNT(*) FROM items WHERE id = -1") == [(0,)]


@pytest.mark.parametrize("after_a_read", [False, True])
def test_ddl_ends_a_read_only_transaction_and_runs_as_in_mysql(cursor, after_a_read):
    ask(cursor, "DROP TABLE IF EXISTS ended_by", "START TRANSACTION READ ONLY")
    if after_a_read:
        ask(cursor, "SELECT 1 FROM items LIMIT 1")
    ask(cursor, "CREATE TABLE ended_by (id INT PRIMARY KEY)", "INSERT INTO ended_by VALUES (1)")
    assert ask(cursor, "SELECT id FROM ended_by") == [(1,)]
    ask(cursor, "DROP TABLE ended_by")


@pytest.mark.parametrize(
    "read",
    [
        "SELECT * FROM items WHERE id = 1 FOR UPDATE",
        "SELECT * FROM items WHERE id = 1 FOR SHARE",
        "SELECT * FROM items WHERE id = 1 LOCK IN SHARE MODE",
        "SELECT GET_LOCK('l', 0)",
        "SELECT RELEASE_LOCK('l')",
        "SELECT LAST_INSERT_ID()",
        "SELECT @x := 1",
        "SHOW TRIGGERS",
        "SHOW EVENTS",
        "SHOW GRANTS",
        "SELECT COUNT(*) FROM information_schema.triggers",
        "SHOW STATUS LIKE 'Uptime'",
        "SELECT @@global.read_only",
    ],
)
def test_what_only_the_master_can_answer_is_answered_by_it(cursor, reads, read):
    assert not on_satellites(reads(lambda: ask(cursor, read)))


def test_with_autocommit_off_reads_belong_to_the_transaction_on_the_master(stack, table, reads):
    with contextlib.closing(stack.gate_connect(autocommit=False)) as connection, connection.cursor() as cursor:

        def work():
            ask(cursor, "SELECT COUNT(*) FROM items")
            ask(cursor, "UPDATE items SET n = 77 WHERE id = 7")
            assert ask(cursor, "SELECT n FROM items WHERE id = 7") == [(77,)]
            connection.rollback()
            assert ask(cursor, "SELECT n FROM items WHERE id = 7") == [(7,)]

        assert not on_satellites(reads(work))


def test_with_autocommit_off_declared_read_only_transactions_go_to_satellites(stack, table, reads):
    with contextlib.closing(stack.gate_connect(autocommit=False)) as connection, connection.cursor() as cursor:
        ask(cursor, "SET SESSION TRANSACTION READ ONLY")
        assert on_satellites(reads(lambda: ask(cursor, "SELECT COUNT(*) FROM items")))
        connection.commit()


def test_serializable_reads_go_to_the_master(cursor, reads):
    ask(cursor, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    assert not on_satellites(reads(lambda: ask(cursor, "SELECT COUNT(*) FROM items")))


def test_a_read_write_transaction_reads_its_own_writes(cursor):
    assert ask(cursor, "START TRANSACTION", "UPDATE items SET n = 1000 WHERE id = 3", "SELECT n FROM items WHERE id = 3") == [(1000,)]
    ask(cursor, "ROLLBACK")
    assert ask(cursor, "SELECT n FROM items WHERE id = 3") == [(3,)]


def test_a_result_of_64_mib(stack, table, reads):
    connection = stack.gate_connect(cursorclass=pymysql.cursors.SSCursor)
    with contextlib.closing(connection), connection.cursor() as cursor:

        def read():
            cursor.execute("SELECT id, REPEAT(HEX(id % 16), 1048576) FROM items WHERE id <= 64 ORDER BY id")
            for number, text in cursor:
                assert text == f"{number % 16:X}" * 1048576

        assert on_satellites(reads(read))
        cursor.execute("SELECT 1")


def test_one_value_of_20_mib_in_and_out(stack, cursor):
    value = bytes(range(256)) * (20 * 4096)
    ask(cursor, "CREATE TABLE IF NOT EXISTS big (id INT PRIMARY KEY, b LONGBLOB)")
    cursor.execute("REPLACE INTO big VALUES (1, %s)", (value,))
    assert ask(cursor, "SELECT b FROM big") == [(value,)]
    ask(cursor, "DROP TABLE big")


def test_an_error_of_the_server_arrives_as_it_is(cursor):
    for statement, code in (
        ("SELECT * FROM no_such_table", 1146),
        ("SELECT no_such_column FROM items", 1054),
        ("SELEKT 1", 1064),
        ("SELECT * FROM mysql.user", 1142),
        ("INSERT INTO items (id) VALUES (1)", 1062),
        ("USE mysql", 1044),
    ):
        with pytest.raises(pymysql.err.MySQLError) as error:
            ask(cursor, statement)
        assert error.value.args[0] == code, error.value
    assert ask(cursor, "SELECT 1") == [(1,)]


def test_servers_lists_positions_load_and_lag(stack, wait_for):
    stack.await_satellites()
    servers = stack.servers()
    assert sorted(server["name"] for server in servers) == ["master", "satellite-1", "satellite-2"]
    for server in servers:
        assert server["role"] == ("master" if server["name"] == "master" else "satellite")
        assert server["incarnation"]
        for field in ("address", "state", "gtid_set", "load", "lag_transactions"):
            assert field in server
    uuid = stack.sql("master", "SELECT @@server_uuid")[0][0]
    wait_for(lambda: all(uuid in server["gtid_set"] for server in stack.servers()), 10, "every GTID set to name the master's UUID")


def test_pages_of_all_services(stack):
    for service in ("gate", "capture", "applier-1", "applier-2"):
        assert stack.page(service, "/live")[0] == 200
        assert stack.page(service, "/ready")[0] == 200
        assert stack.page(service, "/nonsense")[0] == 404
        assert len(stack.metrics(service).samples) > 5
