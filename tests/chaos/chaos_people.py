"""Faults by what people do: to rows, settings, accounts, locks and donors; and how long the stack may take to be whole again after each.

In: the running stack under load, a source of randomness. Out: something broken, and nothing left broken by us at the end. Must never: touch
anything outside the test stack.
"""

import contextlib
import hashlib

import pymysql

from support import compose as containers
from support.wait import wait_for

from chaos_load import counter
from chaos_registry import COMMITS, caught_up, fault, hold

# Roles of mysql-master/accounts.sh, each with the name multimed_ROLE.
ROLES = ("capture", "clone", "gate", "monitor")
OF_SATELLITES = ("'multimed_applier'@'%'", "'multimed_local'@'localhost'")
NOBODY_HAS = "11111111-2222-3333-4444-555555555555:1-7"
REFUSED = (1227, 1396)


# --- rows and settings -----------------------------------------------------------------------------------------------


@fault("edit a row of a satellite", 90, "some")
def edit_row(stack, load, choose):
    """A row that is not there any more, or already there, when the master's change arrives."""
    service = choose.choice(stack.satellites)
    with contextlib.closing(stack.admin_connect(service)) as connection, connection.cursor() as cursor:
        if choose.random() < 0.5:
            row = counter(stack)
            cursor.execute("DELETE FROM app.chaos_counters WHERE id = %s", (row,))
            stack.sql("master", "UPDATE app.chaos_counters SET n = n + 1 WHERE id = %s", (row,))
            return f"{service}: row {row} deleted, updated on the master"
        row = 1_000_000 + choose.randrange(1_000_000)
        cursor.execute("INSERT INTO app.chaos_counters VALUES (%s, 0, 'foreign')", (row,))
        stack.sql("master", "INSERT INTO app.chaos_counters VALUES (%s, 1, 'right')", (row,))
        stack.sql("master", "DELETE FROM app.chaos_counters WHERE id = %s", (row,))
        return f"{service}: row {row} inserted, inserted on the master too"


@fault("switch read_only off on a satellite", 90, "some")
def read_only_off(stack, load, choose):
    service = choose.choice(stack.satellites)
    stack.sql(service, "SET GLOBAL read_only = OFF")
    before = stack.incarnation(service)
    wait_for(lambda: stack.incarnation(service) != before, 60, f"{service} to be cloned again")
    return service


@fault("leave a reader idle while DDL arrives", 40)
def idle_reader(stack, load, choose):
    """Readers that keep the table open on every satellite; the change must not wait for them for ever."""
    with contextlib.ExitStack() as readers:
        for service in stack.satellites:
            connection = readers.enter_context(
                contextlib.closing(
                    pymysql.connect(host=containers.address(service), user="app", password=stack.password("app"), autocommit=True)
                )
            )
            cursor = connection.cursor()
            cursor.execute("START TRANSACTION READ ONLY")
            cursor.execute("SELECT COUNT(*) FROM app.chaos_counters")
        column = f"c{choose.randrange(1 << 40)}"
        stack.sql("master", f"ALTER TABLE app.chaos_counters ADD COLUMN {column} INT")
        caught_up(stack, 40)
    stack.sql("master", f"ALTER TABLE app.chaos_counters DROP COLUMN {column}")
    return "ALTER on app.chaos_counters"


# --- accounts --------------------------------------------------------------------------------------------------------


@fault("lock an account of the stack", 90)
def lock_account(stack, load, choose):
    """A client that may create users is refused; an administrator is not, and what was connected is cut."""
    role, seconds = choose.choice(ROLES), round(choose.uniform(1, 10), 1)
    account = f"'multimed_{role}'@'%'"
    refuse_client(stack, account)
    try:
        stack.sql("master", f"ALTER USER {account} ACCOUNT LOCK")
        cut_sessions(stack, f"multimed_{role}")
        hold(seconds)
    finally:
        stack.sql("master", f"ALTER USER {account} ACCOUNT UNLOCK")
    return f"{role} for {seconds} s"


@fault("change the satellites' accounts", 90, "some")
def change_satellite_account(stack, load, choose):
    """The log carries it to the satellites, which shut their appliers out and make the account anew with the next copy."""
    before = {service: stack.incarnation(service) for service in stack.satellites}
    for account in OF_SATELLITES:
        refuse_client(stack, account)
    # It stays locked on the master, under a password that nobody needs.
    stack.sql("master", f"ALTER USER {OF_SATELLITES[0]} IDENTIFIED BY 'another one'")
    for service in stack.satellites:
        wait_for(lambda s=service: stack.incarnation(s) != before[s], 90, f"{service} to be cloned again")
    return "the applier's password"


def refuse_client(stack, account):
    """Whoever has CREATE USER, and no more, must not get at it."""
    password = stack.password("app")
    stack.sql("master", f"CREATE USER IF NOT EXISTS chaos_operator IDENTIFIED BY '{password}'")
    stack.sql("master", "GRANT CREATE USER ON *.* TO chaos_operator")
    with (
        contextlib.closing(stack.gate_connect(user="chaos_operator", password=password, database=None)) as connection,
        connection.cursor() as cursor,
    ):
        for statement in ("ALTER USER {} IDENTIFIED BY 'mine'", "ALTER USER {} ACCOUNT LOCK", "RENAME USER {} TO other", "DROP USER {}"):
            try:
                cursor.execute(statement.format(account))
            except pymysql.err.MySQLError as error:
                assert error.args[0] in REFUSED, error
            else:
                raise AssertionError(f"a client may {statement.format(account)}")
    stack.sql("master", "DROP USER chaos_operator")


def cut_sessions(stack, user):
    for (session,) in stack.sql("master", "SELECT id FROM performance_schema.processlist WHERE user = %s", (user,)):
        with contextlib.suppress(pymysql.err.OperationalError):  # it may have ended by itself
            stack.sql("master", f"KILL {session}")


# --- locks -----------------------------------------------------------------------------------------------------------


@fault("take the locks of capture and an applier", 60)
def take_locks(stack, load, choose):
    """By an account that knows their names, while capture and applier are away: neither waits for it."""
    applier = choose.choice(("applier-1", "applier-2"))
    satellite = applier.replace("applier", "satellite")
    with (
        lock_taken(stack, "capture", "master", captures_lock(stack)),
        lock_taken(stack, applier, satellite, "multimed_applier"),
    ):
        load.await_commits(COMMITS)
        caught_up(stack, 60)
    # A capture that has no lock would not keep a second one waiting.
    containers.compose("restart", "-t", "10", "capture")
    return f"capture's and {applier}'s"


@contextlib.contextmanager
def lock_taken(stack, service, server, name):
    """Before the service, which is killed for that, comes back for it."""
    with contextlib.closing(
        pymysql.connect(host=containers.address(server), user="app", password=stack.password("app"), read_timeout=60)
    ) as connection:
        cursor = connection.cursor()
        stack.kill_process(service, "java")
        cursor.execute("SELECT GET_LOCK(%s, 30)", (name,))
        assert cursor.fetchall() == ((1,),), f"{service} keeps its lock"
        yield


def captures_lock(stack):
    """As cdc-applier's WriterLock has it."""
    password = (stack.secrets / "master/capture_password").read_text().strip()
    return "multimed:" + hashlib.sha256(f"multimed.log\0{password}".encode()).hexdigest()[:48]


# --- donors ----------------------------------------------------------------------------------------------------------


@fault("require a donor that never comes", 120, "some")
def require_nobodys_set(stack, load, choose):
    """A satellite must not lack what no server has: it waits, says so, and gives up when the master has been without it for long enough."""
    service = choose.choice(stack.satellites)
    containers.execute(service, "sh", "-c", "cat > /var/lib/multimed/rebuild", input=NOBODY_HAS)
    stack.kill_process(service, "mysqld")
    wait_for(lambda: f"does not hold {NOBODY_HAS}" in life(service)["failing"], 60, f"{service} to say what it waits for")
    return service


@fault("let a bootstrap fail", 90, "some")
def fail_bootstrap(stack, load, choose):
    """No donor may be cloned from, though all answer."""
    service = choose.choice(stack.satellites)
    stack.sql("master", "REVOKE BACKUP_ADMIN ON *.* FROM 'multimed_clone'@'%'")
    try:
        caught_up(stack, 60)
        stack.kill_process(service, "mysqld")
        wait_for(lambda: int(life(service)["failures"]) >= 2, 90, f"{service} to fail twice")
        reason = life(service)["failing"]
    finally:
        stack.sql("master", "GRANT BACKUP_ADMIN ON *.* TO 'multimed_clone'@'%'")
    return f"{service}: {reason}"


def life(service):
    """What a satellite's entrypoint says of itself (mysql-satellite/attempts.sh)."""
    return dict(line.split("=", 1) for line in containers.execute(service, "cat", "/run/multimed/life").stdout.splitlines())
