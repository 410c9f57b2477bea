"""When parts fail: reads and writes go on where they can, fail clearly where they can't, and all is well afterwards."""

import concurrent.futures
import contextlib
import threading
import time

import pymysql
import pytest

pytestmark = pytest.mark.fault


class Readers:
    """Sessions through the gate that read all the time; every error is kept."""

    def __init__(self, stack, count=4, query="SELECT n FROM items WHERE id = 5"):
        self.errors, self.reads, self.slowest = [], 0, 0.0
        self._stack, self._query, self._stop = stack, query, threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]

    def _run(self):
        try:
            with contextlib.closing(self._stack.gate_connect()) as connection, connection.cursor() as cursor:
                while not self._stop.is_set():
                    since = time.monotonic()
                    cursor.execute(self._query)
                    assert cursor.fetchall() == ((5,),)
                    self.reads += 1
                    self.slowest = max(self.slowest, time.monotonic() - since)
        except Exception as error:  # any error of a reader is a failure of the test
            self.errors.append(error)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=70)
        assert not self.errors, self.errors

    def go_on(self, count=50):
        goal = self.reads + count
        self._stack.wait_for(lambda: self.reads >= goal or self.errors, 40, f"{count} more reads")


def test_a_satellite_that_hangs_is_left_without_an_error(stack, table):
    with Readers(stack) as readers:
        readers.go_on()
        with stack.paused("satellite-1", "mysqld"):
            readers.go_on(200)
            stack.wait_for(lambda: stack.server("satellite-1")["state"] != "up", 30, "the gate to notice")
            readers.go_on()
        stack.wait_for(lambda: stack.server("satellite-1")["state"] == "up", 60, "the satellite to serve again")
        readers.go_on()


def test_a_satellite_that_is_killed_is_left_without_an_error(stack, table):
    with Readers(stack) as readers:
        readers.go_on()
        before = stack.incarnation("satellite-2")
        stack.kill_process("satellite-2", "mysqld")
        readers.go_on(100)
        stack.wait_for(lambda: stack.incarnation("satellite-2") != before, 90, "a new incarnation")
        stack.await_satellites(90)
        readers.go_on()


OPENINGS = {
    "a snapshot": ["START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"],
    "a savepoint": ["START TRANSACTION READ ONLY", "SAVEPOINT a"],
    "a snapshot and a savepoint": ["START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", "SAVEPOINT a", "SAVEPOINT b", "ROLLBACK TO a"],
}


def test_a_read_only_transaction_moves_while_it_has_read_nothing(stack, table):
    """Its satellite dies after BEGIN: the first read is answered elsewhere, in a transaction that has said the same. One
    that has read gets an error, and its connection goes on after ROLLBACK."""

    def reads(cursor, row=5):
        cursor.execute("SELECT n FROM items WHERE id = %s", (row,))
        return cursor.fetchall()

    with contextlib.ExitStack() as opened:

        def open_session(statements):
            cursor = opened.enter_context(contextlib.closing(stack.gate_connect())).cursor()
            for statement in statements:
                cursor.execute(statement)
            return cursor

        with stack.paused("applier-2", "java"):  # satellite-2 is behind: all of them begin on satellite-1
            stack.sql("master", "UPDATE app.items SET n = 90 WHERE id = 9")
            stack.wait_for(lambda: stack.contains("satellite-1", stack.gtid("master")), 30, "satellite-1 to be there")
            before = stack.metrics().total("gtid_gate_fallbacks_total")
            unread = {name: open_session(statements) for name, statements in OPENINGS.items()}
            started = open_session(["START TRANSACTION READ ONLY"])
            assert reads(started) == ((5,),)
            outside = open_session([])
            assert reads(outside) == ((5,),)
            assert stack.metrics().total("gtid_gate_fallbacks_total") == before, "a transaction began on the master"
        # A read in flight when satellite-1 dies goes to satellite-2 or fails, never to the master.
        stack.await_satellites(90)
        moved = stack.metrics().total("gtid_gate_moved_reads_total")
        stack.kill_process("satellite-1", "mysqld")
        for name, cursor in unread.items():
            assert reads(cursor) == ((5,),), name
            if "savepoint" in name:
                cursor.execute("ROLLBACK TO SAVEPOINT a")
            first = reads(cursor, 9)
            stack.sql("master", "UPDATE app.items SET n = n + 1 WHERE id = 9")
            assert reads(cursor, 9) == first, name
            cursor.execute("COMMIT")
        assert stack.metrics().total("gtid_gate_moved_reads_total") >= moved + len(unread)
        for _ in range(2):
            with pytest.raises(pymysql.err.OperationalError, match="try restarting transaction") as gone:
                reads(started)
            assert gone.value.args[0] == 1213
        started.execute("START TRANSACTION READ ONLY")
        assert reads(started) == ((5,),)
        started.execute("COMMIT")
        assert reads(started) == reads(outside) == ((5,),)
    stack.sql("master", "UPDATE app.items SET n = 9 WHERE id = 9")
    stack.await_satellites(120)
    stack.await_satellites(90)


def test_without_any_satellite_the_master_answers(stack, table):
    with Readers(stack, count=2) as readers, stack.paused("satellite-1", "mysqld"), stack.paused("satellite-2", "mysqld"):
        stack.wait_for(lambda: all(stack.server(s)["state"] != "up" for s in stack.satellites), 30, "the gate to notice")
        readers.go_on()
    stack.await_satellites(90)


def test_satellites_that_lag_do_not_make_reads_stale(stack, table):
    """All appliers stand still: reads go to the master after a bounded wait, and see every commit."""
    fallbacks = stack.metrics().total("gtid_gate_fallbacks_total")
    with stack.paused("applier-1", "java"), stack.paused("applier-2", "java"):
        with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
            for number in range(10):
                stack.sql("master", "UPDATE app.items SET n = %s WHERE id = 9", (100 + number,))
                cursor.execute("SELECT n FROM items WHERE id = 9")
                assert cursor.fetchall() == ((100 + number,),)
    assert stack.metrics().total("gtid_gate_fallbacks_total") >= fallbacks + 10
    stack.sql("master", "UPDATE app.items SET n = 9 WHERE id = 9")
    stack.await_satellites(90)


def test_reads_do_not_wait_in_vain_while_the_log_stands_still(stack, table):
    """Nothing arrives at satellites: once that is known, strong reads go to the master at once; afterwards to satellites again."""

    def reads_on_satellites():
        return sum(stack.server(name)["reads"] for name in stack.satellites)

    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:

        def read():
            since = time.monotonic()
            cursor.execute("SELECT n FROM items WHERE id = 9")
            assert cursor.fetchall() == ((109,),)
            return time.monotonic() - since

        def read_again():
            before = reads_on_satellites()
            for _ in range(10):
                read()
            return reads_on_satellites() == before + 10

        with stack.paused("capture", "java"):
            stack.sql("master", "UPDATE app.items SET n = 109 WHERE id = 9")
            known = stack.metrics().total("gtid_gate_hopeless_waits_total")
            stack.wait_for(lambda: read() and stack.metrics().total("gtid_gate_hopeless_waits_total") > known, 10, "the gate to notice")
            took = sorted(read() for _ in range(50))
        assert took[25] < 0.010, took
        stack.wait_for(read_again, 30, "reads on satellites again")
    stack.sql("master", "UPDATE app.items SET n = 9 WHERE id = 9")


def test_reads_of_a_table_that_satellites_lack_are_capped_on_the_master(stack, table):
    """Eventual reads, refused by satellites as of an unknown table: no more of them run on the master than of any others."""
    with contextlib.ExitStack() as opened:
        cursors = [opened.enter_context(contextlib.closing(stack.gate_connect())).cursor() for _ in range(20)]
        for cursor in cursors:
            cursor.execute("SET @multimed_consistency = 'eventual'")
        for applier in ("applier-1", "applier-2"):
            opened.enter_context(stack.paused(applier, "java"))
        stack.sql("master", "CREATE TABLE app.late (id INT PRIMARY KEY)")
        stack.sql("master", "INSERT INTO app.late VALUES (1)")
        with concurrent.futures.ThreadPoolExecutor(len(cursors)) as pool:
            reading = [pool.submit(cursor.execute, "SELECT SLEEP(0.4) FROM late") for cursor in cursors]
            most = 0
            while not all(one.done() for one in reading):
                most = max(
                    most, stack.sql("master", "SELECT COUNT(*) FROM performance_schema.processlist WHERE INFO LIKE 'SELECT SLEEP%'")[0][0]
                )
        assert [one.result() for one in reading] == [1] * len(cursors)
        assert 0 < most <= 16
    stack.sql("master", "DROP TABLE app.late")
    stack.await_satellites(90)


def test_fallbacks_to_the_master_are_capped(stack, table):
    """Beyond the cap reads queue, then fail with a clear error; afterwards all is as before."""
    stack.recreate("gate", GATE_FALLBACK_LIMIT="2", GATE_FALLBACK_QUEUE_MS="300")
    try:
        with stack.paused("applier-1", "java"), stack.paused("applier-2", "java"):
            stack.sql("master", "UPDATE app.items SET n = 5 WHERE id = 5")
            stack.sql("master", "UPDATE app.items SET n = n + 1 WHERE id = 6")

            def slow(_):
                try:
                    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
                        cursor.execute("SELECT SUM(a.n + b.n * c.n) FROM items a, items b, (SELECT n FROM items WHERE id <= 10) c")
                        return "answered"
                except pymysql.err.MySQLError as error:
                    return error.args

            with concurrent.futures.ThreadPoolExecutor(12) as pool:
                outcomes = list(pool.map(slow, range(12)))
        refused = [outcome for outcome in outcomes if outcome != "answered"]
        assert "answered" in outcomes and refused, outcomes
        assert all(code == 1105 and "gtid-gate" in message for code, message in refused), refused
        assert stack.metrics().total("gtid_gate_fallback_rejections_total") >= len(refused)
        with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
            stack.wait_for(lambda: cursor.execute("SELECT 1 FROM items LIMIT 1") == 1, 20, "reads to be answered again")
    finally:
        stack.recreate("gate")
    stack.await_satellites(90)


def test_the_master_out_of_reach_is_a_clear_error_and_recovers(stack, table):
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT n FROM items WHERE id = 5")
        with stack.paused("master", "mysqld"):
            since = time.monotonic()
            with pytest.raises(pymysql.err.MySQLError) as failed:
                cursor.execute("SELECT n FROM items WHERE id = 5")
            assert failed.value.args[0] == 1105 and "gtid-gate" in failed.value.args[1]
            assert time.monotonic() - since < 20
            assert stack.page("gate", "/live")[0] == 200
        stack.wait_for(lambda: stack.page("gate", "/ready")[0] == 200, 30, "the gate to be ready again")

        def read():
            with contextlib.closing(stack.gate_connect()) as again, again.cursor() as fresh:
                fresh.execute("SELECT n FROM items WHERE id = 5")
                return fresh.fetchall() == ((5,),)

        stack.wait_for(read, 30, "reads to be answered again")
    stack.await_satellites(90)


def test_a_killed_gate_comes_back_and_clients_reconnect(stack, load, table):
    with load(stack) as writers:
        writers.await_commits(20)
        stack.kill_container("gate")
        writers.await_commits(40, deadline_s=60)
    writers.assert_all_acknowledged_are_there("master", *stack.satellites)


def test_a_gate_that_is_told_to_stop_finishes_what_runs(stack, table):
    """SIGTERM: a statement in hand ends as it should; the container comes back."""
    result = []
    connection = stack.gate_connect()

    def slow():
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute("SELECT SLEEP(2)")
            result.append(cursor.fetchall())

    thread = threading.Thread(target=slow)
    thread.start()
    stack.wait_for(
        lambda: any(
            "SLEEP(2)" in str(row)
            for service in ("master", *stack.satellites)
            for row in stack.sql(service, "SELECT info FROM performance_schema.processlist WHERE info LIKE 'SELECT SLEEP%%'")
        ),
        10,
        "the statement to run",
    )
    import signal

    stack.kill_process("gate", "gtid-gate", signal.SIGTERM)
    thread.join(20)
    assert result == [((0,),)]
    stack.wait_for(lambda: stack.page("gate", "/ready")[0] == 200, 60, "the gate to be back")
    stack.await_satellites()


@pytest.mark.parametrize("gtid", [None, "ffffffff-0000-0000-0000-000000000001:1"])
def test_a_satellite_whose_row_differs_is_found_and_cloned_again(stack, table, wait_for, gtid):
    """Divergence, as a plain change and as one under a GTID that the master does not have: never papered over."""
    before = stack.incarnation("satellite-1")
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.diverging (id INT PRIMARY KEY, v INT)")
    stack.sql("master", "REPLACE INTO app.diverging VALUES (1, 1), (2, 2)")
    stack.await_satellites()
    with stack.admin_connect("satellite-1") as connection, connection.cursor() as cursor:
        cursor.execute("SET gtid_next = %s", (gtid or "AUTOMATIC",))
        cursor.execute("DELETE FROM app.diverging WHERE id = 1")
    stack.sql("master", "UPDATE app.diverging SET v = 10 WHERE id = 1")
    wait_for(lambda: stack.incarnation("satellite-1") != before, 90, "the satellite to be cloned again")
    stack.await_satellites(90)
    assert stack.sql("satellite-1", "SELECT v FROM app.diverging WHERE id = 1") == [(10,)]
    assert not gtid or not stack.contains("satellite-1", gtid)


def test_a_satellite_with_a_transaction_of_its_own_is_found_while_nothing_happens(stack, table, wait_for):
    wait_for(lambda: stack.page("applier-1", "/ready")[0] == 200, 30, "the applier to follow")
    before = stack.incarnation("satellite-1")
    with stack.admin_connect("satellite-1") as connection, connection.cursor() as cursor:
        cursor.execute("SET gtid_next = 'ffffffff-0000-0000-0000-000000000002:1'")
        cursor.execute("INSERT INTO app.items (id) VALUES (-1)")
    wait_for(lambda: stack.incarnation("satellite-1") != before, 90, "the satellite to be cloned again")
    stack.await_satellites(90)
    assert stack.sql("satellite-1", "SELECT COUNT(*) FROM app.items WHERE id = -1") == [(0,)]


def test_an_idle_reader_does_not_hold_ddl_up_for_ever(stack, table):
    """A reader that keeps a table open in a transaction, and an ALTER behind it: the reader ends, new reads go on."""
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.altered (id INT PRIMARY KEY)")
    stack.await_satellites()
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        cursor.execute("START TRANSACTION READ ONLY")
        cursor.execute("SELECT COUNT(*) FROM altered")
        stack.sql("master", f"ALTER TABLE app.altered ADD COLUMN c{time.time_ns()} INT")
        stack.await_satellites(60)
        with contextlib.closing(stack.gate_connect()) as other, other.cursor() as second:
            second.execute("SELECT COUNT(*) FROM altered")
