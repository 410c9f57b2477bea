"""What a satellite is: a read-only copy of the master in memory, which replaces itself when its mysqld ends."""

import concurrent.futures
import contextlib
import re
import time

import pymysql
import pytest

from support import compose as containers
from support.same import assert_same_rows


def clones(stack, service):
    """Donors that the satellite has cloned from, in order."""
    return re.findall(r"event=clone donor=(\S+?):\d+", stack.logs(service))


def test_holds_exactly_the_masters_transactions(stack):
    stack.await_satellites()
    for service in stack.satellites:
        assert stack.contains("master", stack.gtid(service)), "nothing that the master does not have"


def test_has_no_binlog_and_lives_in_memory(stack):
    for service in stack.satellites:
        assert stack.sql(service, "SELECT @@global.log_bin, @@global.gtid_mode") == [(0, "ON")]
        mounts = stack.compose("exec", "-T", service, "df", "--output=fstype", "/var/lib/mysql").stdout
        assert "tmpfs" in mounts


def test_the_appliers_threads_go_before_those_of_readers(stack, wait_for):
    """By the scheduler's priority, proc(5): the nice value is the 19th field of stat, the 17th behind the command's name."""
    threads = "SELECT thread_os_id FROM performance_schema.threads WHERE processlist_user = 'multimed_applier'"
    cat = "cat /proc/[0-9]*/task/{}/stat"

    def nice(service, thread):
        stat = stack.compose("exec", "-T", service, "sh", "-c", cat.format(thread)).stdout
        return int(stat.rpartition(")")[2].split()[16])

    def all_go_first():
        of_appliers = [(service, thread) for service in stack.satellites for (thread,) in stack.sql(service, threads)]
        return len(of_appliers) >= len(stack.satellites) and all(nice(*each) == -20 for each in of_appliers)

    wait_for(all_go_first, 30, "the appliers' threads go first")
    service = stack.satellites[0]
    others = "SELECT thread_os_id FROM performance_schema.threads WHERE name = 'thread/sql/main'"
    assert [nice(service, thread) for (thread,) in stack.sql(service, others)] == [0]


def test_is_read_only_and_has_no_triggers_and_no_events(stack):
    for service in stack.satellites:
        assert stack.sql(service, "SELECT @@global.read_only, @@global.event_scheduler") == [(1, "OFF")]
        assert stack.sql(service, "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema <> 'sys'") == [(0,)]
        assert stack.sql(service, "SELECT COUNT(*) FROM information_schema.events") == [(0,)]


def test_refuses_an_application_user_who_writes_to_it_directly(stack, wait_for):
    stack.await_satellites()
    for service in stack.satellites:
        connection = pymysql.connect(host=containers.address(service), user="app", password=stack.password("app"), database="app")
        with connection, connection.cursor() as cursor, pytest.raises(pymysql.err.OperationalError) as refused:
            cursor.execute("CREATE TABLE app.never (id INT PRIMARY KEY)")
        assert refused.value.args[0] == 1290, "--read-only"


@pytest.mark.parametrize("engine", ["MyISAM", "MEMORY", "CSV", "ARCHIVE", "BLACKHOLE"])
def test_the_master_refuses_tables_that_a_clone_would_copy_empty(stack, engine):
    with pytest.raises(pymysql.err.MySQLError) as refused:
        stack.sql("master", f"CREATE TABLE app.other_engine (id INT NOT NULL) ENGINE={engine}")
    assert refused.value.args[0] in (3161, 1286), refused.value


def test_accounts_of_the_stack_have_least_privileges(stack):
    grants = {
        user: " ".join(row[0] for row in stack.sql("master", f"SHOW GRANTS FOR {user}"))
        for user in ("multimed_gate", "multimed_clone", "multimed_monitor", "multimed_capture", "app")
    }
    assert grants["multimed_gate"].startswith("GRANT PROCESS ON *.*")
    assert "BACKUP_ADMIN" in grants["multimed_clone"] and "SELECT" not in grants["multimed_clone"]
    assert grants["multimed_monitor"].startswith("GRANT REPLICATION CLIENT ON *.*")
    for word in ("INSERT", "SUPER", "ALL PRIVILEGES", "SYSTEM_VARIABLES_ADMIN"):
        assert word not in grants["multimed_capture"], grants["multimed_capture"]
    for word in ("SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN", "BINLOG_ADMIN", "SUPER", "ALL PRIVILEGES ON *.*"):
        assert word not in grants["app"]
    # On satellites it may do everything; on the master the name is taken, so that no client makes or changes it for them.
    assert stack.sql("master", "SELECT account_locked FROM mysql.user WHERE user='multimed_applier'") == [("Y",)]
    assert stack.sql("master", "SHOW GRANTS FOR multimed_applier")[1][0].startswith("GRANT SYSTEM_USER ON *.*")


def rebuilt(stack, service, before):
    """Until the satellite is a new incarnation, caught up and serving."""
    stack.wait_for(lambda: stack.incarnation(service) != before, 90, f"{service} to be a new incarnation")
    stack.await_satellites(deadline_s=90)


def followed(stack, service):
    """The incarnation that the satellite's applier said last that it applies to."""
    found = re.findall(r"event=applying incarnation=(\S+)", stack.logs(service.replace("satellite", "applier")))
    return found[-1] if found else None


@pytest.mark.fault
def test_appliers_stay_with_their_own_satellites_when_addresses_change_hands(stack, wait_for):
    """Docker gives free addresses in the order of the starts. The JVM would remember an address for 30 s."""
    addresses = [containers.address(service) for service in stack.satellites]
    stack.compose("stop", "--timeout", "2", *stack.satellites)
    for _, service in sorted(zip(addresses, stack.satellites), reverse=True):
        stack.compose("start", service)
    for service in stack.satellites:
        wait_for(
            lambda s=service: [(followed(stack, s),)] == stack.sql(s, "SELECT @@global.report_host"), 90, f"an applier to follow {service}"
        )
    stack.await_satellites()


def test_changes_come_over_the_satellites_own_unix_socket(stack, wait_for):
    """All sessions that execute transactions side by side; the one that owns the satellite comes over TCP, and both are the same server's."""
    workers = 4
    sessions = "SELECT COUNT(*) FROM performance_schema.processlist WHERE USER = 'multimed_applier' AND HOST = 'localhost'"
    for service in stack.satellites:
        wait_for(lambda s=service: stack.sql(s, sessions)[0][0] == workers, 30, f"the sessions of {service}'s applier")


@pytest.mark.fault
@pytest.mark.parametrize("how", ["mysqld", "container"])
def test_comes_back_by_itself_when_killed_under_load(stack, load, how):
    service = "satellite-1"
    before = stack.incarnation(service)
    marker = f"marker-{time.time_ns()}"
    stack.compose("exec", "-T", service, "touch", f"/var/lib/mysql/{marker}")
    with load(stack) as writers:
        writers.await_commits(50)
        stack.kill_process(service, "mysqld") if how == "mysqld" else stack.kill_container(service)
        rebuilt(stack, service, before)
        writers.await_commits(50)
    left = stack.compose("exec", "-T", service, "ls", "/var/lib/mysql").stdout
    assert marker not in left, "the old data directory is wiped"
    assert_same_rows(stack, "app", writers.table)
    writers.assert_all_acknowledged_are_there("master", *stack.satellites)
    assert_served_by(stack, service)


@pytest.mark.fault
def test_clones_from_another_satellite_first_and_from_the_master_last(stack):
    before = stack.incarnation("satellite-1")
    stack.kill_process("satellite-1", "mysqld")
    rebuilt(stack, "satellite-1", before)
    assert clones(stack, "satellite-1")[-1] == "satellite-2"

    before = {service: stack.incarnation(service) for service in stack.satellites}
    for service in stack.satellites:
        stack.kill_process(service, "mysqld")
    for service in stack.satellites:
        rebuilt(stack, service, before[service])
    assert "master" in {clones(stack, service)[-1] for service in stack.satellites}


@pytest.mark.fault
def test_orderly_shutdown_of_mysqld_is_an_end_like_any_other(stack):
    before = stack.incarnation("satellite-2")
    stack.client("satellite-2", "SHUTDOWN")
    rebuilt(stack, "satellite-2", before)
    assert_served_by(stack, "satellite-2")


@pytest.mark.fault
def test_opens_the_tables_of_foreign_keys_before_reads_and_writes_come(stack, schema):
    """While one session opens a child, another's change of the parent may pass it over (MySQL's own cascades)."""
    odd = "`a ``b\\c`"
    stack.sql("master", f"CREATE TABLE `{schema}`.{odd} (id INT PRIMARY KEY)")
    stack.sql("master", f"CREATE TABLE `{schema}`.child (id INT, FOREIGN KEY (id) REFERENCES {odd} (id) ON DELETE CASCADE)")
    stack.sql("master", f"CREATE TABLE `{schema}`.alone (id INT)")
    stack.sql("master", "SET foreign_key_checks = 0")
    stack.sql("master", f"CREATE TABLE `{schema}`.orphan (id INT, FOREIGN KEY (id) REFERENCES never_made (id))")
    stack.sql("master", "SET foreign_key_checks = 1")
    stack.await_satellites()
    before = stack.incarnation("satellite-2")
    stack.kill_process("satellite-2", "mysqld")
    rebuilt(stack, "satellite-2", before)
    opened = {row[1] for row in stack.sql("satellite-2", f"SHOW OPEN TABLES FROM `{schema}`")}
    assert opened == {"a `b\\c", "child", "orphan"}


def assert_served_by(stack, service):
    """Reads through the gate reach this satellite again: of several at once, the least loaded takes the next."""

    def answered():
        return stack.metrics().total("gtid_gate_reads_total", server=service)

    def read(_):
        with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT SUM(a.id + b.id) FROM app.writes a, (SELECT id FROM app.writes LIMIT 2000) b")

    start = answered()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        stack.wait_for(lambda: list(pool.map(read, range(6))) and answered() > start, 30, f"a read to be answered by {service}")


@pytest.mark.fault
@pytest.mark.parametrize(
    "change",
    ["REVOKE INSERT ON *.* FROM multimed_applier@'%'", "DROP USER multimed_applier@'%'"],
)
def test_a_satellite_whose_applier_cannot_log_in_is_not_up_but_clones_again(stack, change):
    service = stack.satellites[0]
    stack.await_satellites()
    before = len(clones(stack, service))
    stack.client(service, change)
    stack.wait_for(lambda: len(clones(stack, service)) > before, 90, "a new clone")
    stack.await_satellites(deadline_s=120)
