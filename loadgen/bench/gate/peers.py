"""ProxySQL and MySQL Router, in front of the one satellite that all contenders read from.

In:  the running stack, the settings. Out: contenders that answer, on the gate's cores and behind its kind of network path; for those
that do not take part, why.
Must never: show a password; configurations are readable for their owner alone. Nor leave out a peer without a word.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass

import containers
import process

PROXYSQL_PORT, ROUTER_PORT = 6033, 6446
START_SECONDS = 30
SHARED_SOCKETS = "/sockets/"  # the volume of docker-compose.yml, as compose.yml mounts it
# As in proxysql/proxysql.cnf.template where it matters; no rules, so every statement goes the shortest way.
PROXYSQL_CONFIGURATION = """admin_variables=
{{
    admin_credentials="admin:{password}"
    mysql_ifaces="127.0.0.1:{admin_port}"
}}
mysql_variables=
{{
    interfaces="0.0.0.0:{listen_port}"
    threads={threads}
    max_connections=4000
    server_version="8.4.0"
    max_allowed_packet=1073741824
    default_authentication_plugin="caching_sha2_password"
    have_ssl=true
    default_charset="utf8mb4"
    default_collation_connection="utf8mb4_0900_ai_ci"
    max_stmts_per_connection=200
    connect_timeout_server=5000
    default_max_latency_ms=60000
    shun_recovery_time_sec=1
    monitor_enabled=false
}}
mysql_servers=
(
    {{ hostgroup=0, address="{address}", port={port}, max_connections=1900, use_ssl=0 }}
)
mysql_users=
(
    {{ username="{user}", password="{password}", default_hostgroup=0, max_connections=4000, transaction_persistent=1 }}
)
"""
ROUTER_CONFIGURATION = """[DEFAULT]
logging_folder={folder}
runtime_folder={folder}
data_folder={folder}
max_total_connections=4000

[logger]
level=warning

[routing:bench]
bind_address=0.0.0.0
bind_port={listen_port}
destinations={address}:{port}
routing_strategy=first-available
protocol=classic
max_connections=4000
connection_sharing=0
client_ssl_mode=PASSTHROUGH
server_ssl_mode=AS_CLIENT
"""


class NotHere(Exception):
    """A peer does not take part; the message is why."""


@dataclass(frozen=True)
class Contender:
    """Whom sysbench connects to. process: of the proxy, as the host numbers it; None: there is none in between."""

    name: str
    host: str
    port: int
    process: int = None


def quoted(text):
    """As it stands between double quotes in ProxySQL's configuration."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def proxysql_configuration(address, port, user, password, threads):
    """address: a host, or with port 0 the path of a Unix socket."""
    return PROXYSQL_CONFIGURATION.format(
        address=quoted(address),
        port=port,
        user=quoted(user),
        password=quoted(password),
        threads=threads,
        listen_port=PROXYSQL_PORT,
        admin_port=PROXYSQL_PORT - 1,
    )


def router_configuration(address, port, folder):
    return ROUTER_CONFIGURATION.format(address=address, port=port, folder=folder, listen_port=ROUTER_PORT)


def write_private(path, text):
    """For its owner alone from the first byte on."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def answers(host, port):
    """A MySQL server, or what looks like one, has greeted."""
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            return len(connection.recv(5)) == 5
    except OSError:
        return False


def await_answer(contender, alive):
    deadline = time.monotonic() + START_SECONDS
    while not answers(contender.host, contender.port):
        if not alive() or time.monotonic() > deadline:
            raise NotHere(f"{contender.name} does not answer")
        time.sleep(0.1)
    return contender


class Peers:
    """Starts what is asked for; `close` ends it."""

    def __init__(self, stack, settings):
        self._stack, self._settings = stack, settings
        self._folder = pathlib.Path(settings.state)
        self._cleanup = contextlib.ExitStack()
        self._has_proxysql = "proxysql" in stack.services
        gate = stack.docker.inspect(stack.ids["gate"])
        self._gate_process, self._cores = gate["State"]["Pid"], gate["HostConfig"]["CpusetCpus"]
        self._satellite = stack.address("satellite-1")

    def close(self):
        self._cleanup.close()

    def start(self, name):
        """A contender that answers; NotHere says why there is none."""
        return {"proxysql": self._proxysql_tcp, "proxysql-socket": self._proxysql_socket, "router": self._router}[name]()

    # --- ProxySQL: the stack's own image, made from a pulled one or from a binary ---------------------------------

    def _proxysql_tcp(self):
        return self._proxysql("proxysql", "proxysql-tcp", self._satellite, 3306)

    def _proxysql_socket(self):
        path = self._stack.sql("satellite-1", "SELECT @@socket")[0][0]
        if not path.startswith(SHARED_SOCKETS):
            raise NotHere(f"the satellite's Unix socket is not on a shared volume ({path})")
        return self._proxysql("proxysql-socket", "proxysql-socket", path, 0)

    def _proxysql(self, name, service, address, port):
        if not self._has_proxysql:
            raise NotHere("no image can be pulled, no binary on PATH or named by PROXYSQL_BINARY")
        password = pathlib.Path(self._settings.password_file).read_text().rstrip("\n")
        threads = self._settings.proxysql_threads or self._core_count()
        write_private(self._folder / f"{service}.cnf", proxysql_configuration(address, port, self._settings.user, password, threads))
        containers.compose("--profile", "peers", "up", "-d", "--no-deps", "--quiet-pull", service)
        container = containers.compose("--profile", "peers", "ps", "-q", service).strip()
        if not container:
            raise NotHere(f"{service} has ended at once")
        if self._cores:
            subprocess.run(("docker", "update", "--cpuset-cpus", self._cores, container), check=True, stdout=subprocess.DEVNULL)
        return await_answer(self._in_container(name, container), lambda: self._stack.docker.inspect(container)["State"]["Running"])

    def _in_container(self, name, container):
        found = self._stack.docker.inspect(container)
        address = next(iter(found["NetworkSettings"]["Networks"].values()))["IPAddress"]
        return Contender(name, address, PROXYSQL_PORT, found["State"]["Pid"])

    def _core_count(self):
        return len(process.cores_in(self._cores)) if self._cores else os.cpu_count()

    # --- MySQL Router: a process of this machine, in the gate's network namespace, so that its packets go the same way ----------

    def _router(self):
        binary = shutil.which(os.environ.get("MYSQLROUTER_BINARY") or "mysqlrouter")
        if not binary:
            raise NotHere("no mysqlrouter on PATH or named by MYSQLROUTER_BINARY")
        folder = self._folder / "router"
        folder.mkdir(exist_ok=True)
        write_private(folder / "router.conf", router_configuration(self._satellite, 3306, folder))
        pinned = ("taskset", "--cpu-list", self._cores) if self._cores else ()
        with open(folder / "output.log", "w") as log:
            running = subprocess.Popen(
                ("nsenter", f"--target={self._gate_process}", "--net", *pinned, binary, "-c", folder / "router.conf"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._cleanup.callback(end, running)
        return await_answer(Contender("router", self._stack.address("gate"), ROUTER_PORT, running.pid), lambda: running.poll() is None)


def end(running):
    running.terminate()
    try:
        running.wait(5)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
