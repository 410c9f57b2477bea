"""One contender on a fresh copy of the database: loaded once, copied, brought up, checked, taken down.

In:  the bench's own Compose project, the settings. Out: a Stage that a load can be run against; OSError if a check does not hold.
Must never: let a contender begin with what another has left: its data, its log, its containers.
"""

import json
import os
import pathlib
import secrets
import subprocess
import sys
import time

import containers
from stack import REPLICA_USER, Stack
from sysbench import HERE, say
from tpcw import override, plan
from tpcw.runner import TPCW
from tpcw.samples import SILENT, Watcher, get

ROOT = HERE.parents[1]
GATE_PORT, MYSQL_PORT = 6034, 3306
UP_SECONDS = 900  # cloning a large database takes time
STOP_SECONDS = 600  # so does writing down the pages of one that was just loaded
POLL_SECONDS = 0.3
STATEMENTS = 1048576  # a client prepares up to 34
RELAY_LOG_BYTES = 64 << 20  # a replica's lie in its tmpfs; MySQL's default is 1 GiB
FIRST_REPLICA_ID = 900
# A transaction that arrives everywhere shows that the whole path works; a clone alone would not.
HELLO = "CREATE DATABASE multimed_bench_hello; DROP DATABASE multimed_bench_hello"
DATABASE_MIB = "SELECT CEIL(SUM(FILE_SIZE) / 1048576) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE '{database}/%'"
DURABLE = "SELECT @@sync_binlog, @@innodb_flush_log_at_trx_commit, @@log_bin, @@innodb_doublewrite = 'ON'"
# Of bench-replication's native replica: four workers, in the order of the master's commits.
REPLICA = f"""SET GLOBAL server_id = {{number}}; SET GLOBAL max_relay_log_size = {RELAY_LOG_BYTES};
    SET GLOBAL replica_parallel_workers = 4; SET GLOBAL replica_preserve_commit_order = ON;
    CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'master', SOURCE_USER = '{REPLICA_USER}', SOURCE_PASSWORD = '{{password}}',
    SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1; START REPLICA"""


def docker(*arguments, required=True):
    done = subprocess.run(("docker", *arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode and required:
        raise OSError(f"docker {' '.join(arguments)} failed:\n{done.stdout[-2000:]}")
    return done.stdout


def compose(*arguments, required=True):
    docker("compose", "--progress", "quiet", *arguments, required=required)


# --- the database ---------------------------------------------------------------------------------------------------


def load(settings, sysbench):
    """Into the master that is up; its files are kept. Returns the size of the database in MiB. The binlogs that hold the load are
    purged: capture need not read it, and satellites get it by cloning."""
    stack = Stack(("master",))
    try:
        master = stack.address("master")
        sysbench.run(TPCW, master, *settings.scale, f"--carts={settings.carts}", f"--threads={settings.load_threads}", "prepare")
        stack.sql("master", "FLUSH BINARY LOGS")
        last = stack.sql("master", "SHOW BINARY LOGS")[-1][0]
        stack.sql("master", f"PURGE BINARY LOGS TO '{last}'")
        size = int(float(stack.sql("master", DATABASE_MIB.format(database=settings.database))[0][0]))
    finally:
        stack.close()
    compose("stop", "--timeout", str(STOP_SECONDS), "master")
    copy("keep")
    return size


def copy(what):
    compose("run", "--rm", "--no-deps", "-T", "copy", what)


# --- up and down ----------------------------------------------------------------------------------------------------


def take_down():
    """Whoever was up. Nothing of it is kept, so it is not asked to end well. The copy stays, and so do passwords. Before the next one
    is laid out: Compose forgets services that its files do not name any more."""
    compose("--profile", "*", "kill", required=False)
    compose("--profile", "*", "rm", "--force", "--stop", "--volumes")
    docker("volume", "rm", "--force", f"{os.environ['COMPOSE_PROJECT_NAME']}_kafka-data")


def lay_out(contender, settings, machine):
    """Cores by the layout's own rules, as many satellites as the contender has; then the contender's own settings."""
    own = pathlib.Path(settings.state, "contender.yml")
    # Whoever removes the stack meanwhile must not find a satellite in the one file that the other does not describe.
    own.write_text("services: {}\n")
    cores = plan.own_cores(machine["cores"]) if contender.kind == "apart" else {}
    subprocess.run(
        (ROOT / "mysql-satellite" / "layout",),
        check=True,
        stdout=sys.stderr,
        env={**os.environ, "LAYOUT_CPUS": settings.cpus, "SATELLITES": str(max(1, contender.satellites)), **cores},
    )
    own.write_text(override.text(contender, settings, machine))
    return own


def await_true(what, is_so):
    """Polls; OSError if it does not become so."""
    deadline = time.monotonic() + UP_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise OSError(f"{what}: not within {UP_SECONDS} s")
        time.sleep(POLL_SECONDS)


def answers(service):
    """Does its mysqld take statements?"""
    command = (
        "docker",
        "exec",
        containers.container_of(service),
        "mysqladmin",
        "--defaults-file=/run/multimed/client.cnf",
        "--silent",
        "ping",
    )
    return subprocess.run(command, capture_output=True).returncode == 0


def serving(stack):
    """Satellites that the gate counts as fit."""
    try:
        servers = json.loads(get(stack.address("gate"), "/servers"))
    except SILENT:
        return 0
    return sum(server["role"] == "satellite" and server["state"] == "up" for server in servers)


def captured(stack):
    """Transactions in the log; 0 while capture does not answer."""
    try:
        return stack.metric("capture", "multimed_capture_position_transactions")
    except SILENT:
        return 0


def await_serving(contender):
    """Until the master answers, and behind the gate every satellite."""
    await_true("the master answers", lambda: answers("master"))
    if not contender.satellites:
        return
    stack = Stack(("master",))
    try:
        await_true(f"{contender.satellites} satellites serve", lambda: serving(stack) >= contender.satellites)
    except OSError as failure:
        said_last = [f"{name}: {docker('logs', '--tail', '2', containers.container_of(name))}" for name in override.servers(contender)[1:]]
        raise OSError("\n".join([str(failure), *said_last])) from failure
    finally:
        stack.close()


def replicate(stack, replicas):
    """MySQL's own replication into servers that have cloned the master, as satellites do; nobody else writes there."""
    password = secrets.token_hex(12)
    stack.sql(
        "master",
        f"DROP USER IF EXISTS {REPLICA_USER}@'%'; CREATE USER {REPLICA_USER}@'%' IDENTIFIED BY '{password}';"
        f" GRANT REPLICATION SLAVE ON *.* TO {REPLICA_USER}@'%'",
    )
    for number, replica in enumerate(replicas, FIRST_REPLICA_ID):
        stack.sql(replica, REPLICA.format(number=number, password=password))


class Stage:
    """A contender that serves. door: (host, port) for its clients."""

    def __init__(self, contender, settings, machine):
        self.contender, self._settings, self._machine = contender, settings, machine
        self._servers = override.servers(contender)
        take_down()
        self._own = lay_out(contender, settings, machine)
        copy("fresh")
        compose("up", "-d", "--no-build", "--quiet-pull", *override.services(contender))
        await_serving(contender)
        self.stack = Stack(self._servers)
        if self.stack.sql("master", DURABLE) != [["1", "1", "1", "1"]]:
            raise OSError(f"{contender.name}: the master is not durable: mysql-master/conf.d, or BENCH_MASTER_OPTIONS?")
        for server in self._servers:
            self.stack.sql(server, f"SET GLOBAL max_prepared_stmt_count = {STATEMENTS}")
        if contender.kind == "replicas":
            replicate(self.stack, self._servers[1:])
        if contender.is_multimed:
            # A transaction between the clones and the log's beginning would be in neither: satellites would begin anew.
            await_true("capture has begun", lambda: captured(self.stack) >= self.stack.position())
        self.stack.sql("master", HELLO)
        self._catch_up()
        self._find_door()

    def _find_door(self):
        stack, behind_gate = self.stack, self.contender.satellites
        self.door = (stack.address("gate"), GATE_PORT) if behind_gate else (stack.address("master"), MYSQL_PORT)
        self.watcher = Watcher(stack, override.services(self.contender))

    def without_table_stream(self):
        """The same satellites behind a gate that does not know who wrote what."""
        self._renew_gate(table_stream=False)

    def separate(self, heavy_ms):
        """The same satellites behind a gate for which queries that take so long are heavy; 0: none is."""
        self._renew_gate(heavy_ms=heavy_ms)

    def _renew_gate(self, **changes):
        self._own.write_text(override.text(self.contender, self._settings, self._machine, **changes))
        compose("up", "-d", "--no-build", "--no-deps", "gate")
        await_serving(self.contender)
        self.stack.close()
        self.stack = Stack(self._servers)
        self._find_door()

    def _catch_up(self):
        target = self.stack.position()
        for server in self._servers[1:]:
            self.stack.await_position(server, target)

    def check(self, sysbench):
        """What was checked, in words; OSError if something is off."""
        host = self.stack.address("master")
        sysbench.run(TPCW, host, *self._settings.scale, "--satellites=off", "check")
        found = ["the database is consistent (tpcw.lua check)"]
        self._catch_up()
        if self.contender.is_multimed:
            said(ROOT / "mysql-satellite" / "verify")
            found.append("the log has every GTID once and in order, and every satellite equals the master at one GTID set (verify)")
        if self.contender.kind == "replicas":
            said(ROOT / "mysql-satellite" / "compare", *self._servers)
            found.append("every replica equals the master at one GTID set (compare)")
        return found

    def close(self):
        self.stack.close()


def said(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    say(f"{command[0].name}: {(done.stdout.strip().splitlines() or ['nothing'])[-1]}")
    if done.returncode:
        raise OSError(f"{command[0].name} found what must not be:\n{done.stdout[-3000:]}")
