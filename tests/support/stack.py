"""The running test stack, as tests see it.

In: the environment that tests/env.sh exports. Out: connections, SQL, GTID sets, users, faults. Must never: change
what an operator's stack on the same machine has.
"""

import contextlib
import json
import os
import pathlib
import signal
import threading
import time
import urllib.error
import urllib.request

import mysql.connector
import pymysql

from . import compose as containers
from .metrics import Metrics
from .wait import wait_for

SATELLITES = ("satellite-1", "satellite-2")
ADMIN = "test_admin"
USER = "app"


class Stack:
    """One per test session. Thread-safe: each thread has its own administrative connections."""

    satellites = SATELLITES
    root = pathlib.Path(containers.ROOT)
    wait_for = staticmethod(wait_for)

    def __init__(self):
        assert "SECRETS_DIR" in os.environ and "multimed-test" in os.environ.get("COMPOSE_PROJECT_NAME", ""), (
            "start the tests with tests/run"
        )
        self.state = pathlib.Path(os.environ["TEST_STATE"])
        self.secrets = pathlib.Path(os.environ["SECRETS_DIR"])
        self.host = os.environ["BIND_ADDRESS"]
        self.gate_port = int(os.environ["GATE_PORT"])
        self.front_port = int(os.environ["FRONT_PORT"])
        self.status_url = f"http://{self.host}:{os.environ['STATUS_PORT']}"
        self.compose = containers.compose
        self._passwords = {}
        self._local = threading.local()
        self._stopped = set()

    # --- up ---------------------------------------------------------------------------------------------------

    def up(self):
        """Brings the stack up unless it serves already; makes the accounts that tests use."""
        if not self._serves():
            containers.run("bin/up", timeout=1800)
        password = self._password_of(ADMIN)
        self.client(
            "master",
            f"""CREATE USER IF NOT EXISTS {ADMIN}@'%' IDENTIFIED BY '{password}';
            ALTER USER {ADMIN}@'%' IDENTIFIED BY '{password}';
            GRANT ALL ON *.* TO {ADMIN}@'%' WITH GRANT OPTION""",
        )
        self._passwords[ADMIN] = password
        self.make_user(USER)

    def _serves(self):
        try:
            return len([s for s in self.servers() if s["role"] == "satellite" and s["state"] == "up"]) == len(SATELLITES)
        except OSError:
            return False

    def _password_of(self, name):
        """Fixed per clone, so that a second run on a running stack can log in."""
        file = self.state / f"password-{name}"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(os.urandom(12).hex())
            file.chmod(0o600)
        return file.read_text()

    # --- SQL --------------------------------------------------------------------------------------------------

    def client(self, service, script, *options, check=True):
        """Runs a script with the mysql client inside a container, as root@localhost (satellites: multimed_local).
        Returns its output, tab-separated and without column names."""
        done = containers.execute(
            service,
            "mysql",
            "--defaults-file=/run/multimed/client.cnf",
            "--batch",
            "--skip-column-names",
            "--default-character-set=utf8mb4",
            *options,
            input=script,
            check=check,
        )
        return done.stdout if check else done

    def admin_connect(self, service, **options):
        """A direct connection with all privileges, autocommit on: to the master as test_admin, to a satellite as
        multimed_applier. It bypasses gate and ProxySQL."""
        if service == "master":
            user, password = ADMIN, self._password_of(ADMIN)
        else:
            user, password = "multimed_applier", (self.secrets / "satellite/applier_password").read_text().strip()
        options = {"autocommit": True, "charset": "utf8mb4", "read_timeout": 120, "connect_timeout": 5, **options}
        return pymysql.connect(host=containers.address(service), user=user, password=password, **options)

    def sql(self, service, text, parameters=None):
        """One statement with all privileges, directly on a server; its rows as a list of tuples. The connection is
        kept (one per thread and server) and opened again when it has broken."""
        kept = self._local.__dict__.setdefault("connections", {})
        for attempt in (1, 2):
            try:
                if service not in kept:
                    kept[service] = self.admin_connect(service)
                with kept[service].cursor() as cursor:
                    cursor.execute(text, parameters)
                    return list(cursor.fetchall())
            except Exception as error:  # whatever it was, the next statement gets a new connection
                kept.pop(service, None)
                lost = (
                    isinstance(error, pymysql.err.InterfaceError)
                    or isinstance(error, pymysql.err.OperationalError)
                    and error.args[0] in (2006, 2013)
                )
                if not lost or attempt == 2:
                    raise

    def gate_connect(self, user=USER, database=..., autocommit=True, client="pymysql", password=..., **options):
        """A connection through the gate. client: pymysql (RSA login, text protocol) or connector (TLS login,
        cursor(prepared=True)). database defaults to the user's own."""
        return self._connect(self.host, self.gate_port, user, database, autocommit, client, password, options)

    def master_connect(self, user=USER, database=..., autocommit=True, client="pymysql", password=..., **options):
        """The same, directly to the master."""
        return self._connect(containers.address("master"), 3306, user, database, autocommit, client, password, options)

    def front_connect(self, user=USER, database=..., autocommit=True, client="pymysql", password=..., **options):
        """The same, through ProxySQL."""
        return self._connect(self.host, self.front_port, user, database, autocommit, client, password, options)

    def _connect(self, host, port, user, database, autocommit, client, password, options):
        password = self._passwords.get(user, "") if password is ... else password
        database = user if database is ... else database
        if client == "connector":
            connection = mysql.connector.connect(
                host=host,
                port=port,
                user=user,
                password=password,
                database=database,
                autocommit=autocommit,
                use_pure=options.pop("use_pure", True),
                connection_timeout=60,
                **options,
            )
        else:
            options = {"charset": "utf8mb4", "read_timeout": 60, "connect_timeout": 15, "ssl_disabled": True, **options}
            connection = pymysql.connect(
                host=host,
                port=port,
                user=user,
                password=password,
                database=database,
                autocommit=autocommit,
                max_allowed_packet=1 << 30,
                **options,
            )
        return connection

    def make_user(self, name, db=None, password=None):
        """`make user`; returns the password."""
        file = self.state / f"new-password-{name}"
        file.write_text((password or self._password_of(name)) + "\n")
        file.chmod(0o600)
        containers.run("make", "-s", "user", env={"NAME": name, "DB": db or name, "PASSWORD_FILE": str(file)})
        self._passwords[name] = file.read_text().strip()
        file.unlink()
        return self._passwords[name]

    def password(self, name):
        return self._passwords[name]

    # --- positions --------------------------------------------------------------------------------------------

    def gtid(self, service):
        """The server's gtid_executed, as one line."""
        return self.sql(service, "SELECT REPLACE(@@global.gtid_executed, '\\n', '')")[0][0]

    def last_number(self):
        """Of the newest transaction under the master's own UUID, without a tag; other tests leave others in its set."""
        return int(
            self.sql(
                "master",
                "SELECT REGEXP_SUBSTR(REGEXP_SUBSTR(REPLACE(@@gtid_executed, '\\n', ''), "
                "CONCAT(@@server_uuid, ':[0-9-]+(:[0-9-]+)*')), '[0-9]+$')",
            )[0][0]
        )

    def contains(self, service, gtid_set):
        return self.sql(service, "SELECT GTID_SUBSET(%s, @@global.gtid_executed)", (gtid_set,))[0][0] == 1

    def incarnation(self, service):
        return self.sql(service, "SELECT @@global.report_host")[0][0]

    def await_satellites(self, deadline_s=60):
        """Until every satellite contains what the master had at the call, and the gate counts it as up."""
        target = self.gtid("master")
        for service in SATELLITES:
            wait_for(lambda s=service: self.contains(s, target), deadline_s, f"{service} to contain {target}")
            wait_for(lambda s=service: self.server(s)["state"] == "up", deadline_s, f"{service} up in the gate")

    # --- the gate's and the others' pages ------------------------------------------------------------------------

    def servers(self):
        """The gate's list of servers."""
        return json.loads(get(self.status_url + "/servers")[1])

    def server(self, name):
        """One of them, by host name (master, satellite-1)."""
        return next(s for s in self.servers() if name in str(s.get("address") or s.get("name")))

    def page(self, service, path):
        """(status, text) of a page of a service: gate, capture, applier-1."""
        base = self.status_url if service == "gate" else f"http://{containers.address(service)}:8080"
        return get(base + path)

    def metrics(self, service="gate"):
        return Metrics(self.page(service, "/metrics")[1])

    def recreate(self, *services, **settings):
        """Makes containers anew with other settings (of .env or of what docker-compose.yml passes on), and waits until
        the stack serves. Without settings: back to what the test stack has."""
        containers.compose("up", "-d", "--no-build", "--no-deps", "--force-recreate", *services, env=settings)
        # The gate may not have noticed yet that the master is a new one.
        wait_for(lambda: self.sql("master", "SELECT 1") and self._serves(), 90, f"the stack to serve with {services} recreated")

    def await_debezium(self):
        """Until rows go into the log: after its start, or when it was behind, capture goes without Debezium for a while."""

        def rows():
            metrics, name = self.metrics("capture"), "multimed_capture_transactions_total"
            return metrics.total(name, kind="rows") if name in metrics.names() else 0  # there is none before capture's first

        self.sql("master", "CREATE TABLE IF NOT EXISTS app.awaiting_debezium (id BIGINT PRIMARY KEY)")
        before = rows()

        def gone_by():
            self.sql("master", "INSERT INTO app.awaiting_debezium VALUES (%s)", (time.time_ns(),))
            return rows() > before

        wait_for(gone_by, 90, "Debezium's rows in the log")

    # --- faults -----------------------------------------------------------------------------------------------

    def kill_process(self, service, name, number=signal.SIGKILL):
        """A signal to a process inside a container, by its command name: mysqld, java, gtid-gate."""
        if number == signal.SIGKILL:
            containers.kill(service, name)
        else:
            containers.signal_processes(service, name, number)

    def kill_container(self, service):
        """kill -9 of the container's process 1; its restart policy brings it back."""
        containers.kill_first_process(service)

    def pause(self, service, name):
        """SIGSTOP; undone by resume, or after the test. Returns when every thread stands still: the signal takes its time."""
        pids = containers.signal_processes(service, name, signal.SIGSTOP)
        self._stopped.update(pids)
        wait_for(lambda: all(containers.stands_still(pid) for pid in pids), 20, f"{name} of {service} to stand still")

    def resume(self, service, name):
        self._stopped.difference_update(containers.signal_processes(service, name, signal.SIGCONT))

    @contextlib.contextmanager
    def paused(self, service, name):
        self.pause(service, name)
        try:
            yield
        finally:
            self.resume(service, name)

    def resume_all(self):
        for pid in self._stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._stopped.clear()

    def logs(self, *services):
        return containers.compose("logs", "--no-color", *services).stdout

    def portrait(self):
        """The gate's list of servers and the newest lines of every service: what explains a failure afterwards."""

        def part(title, read):
            try:
                return f"--- {title}\n{read()}"
            except Exception as error:  # what cannot be had must not hide the failure that is being explained
                return f"--- {title}: {error!r}"

        newest = part("newest lines", lambda: containers.compose("logs", "--no-color", "--tail", "12").stdout[-12000:])
        return part("servers", lambda: self.page("gate", "/servers")[1]) + "\n" + newest

    # --- proof ------------------------------------------------------------------------------------------------

    def compare(self):
        """mysql-satellite/compare over the whole stack: fails on any difference; returns what it printed."""
        self.await_satellites()
        return containers.run("mysql-satellite/compare", "master", *SATELLITES).stdout


def get(url, timeout=5):
    """(status, text) of a page; an HTTP error status is an answer too."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
