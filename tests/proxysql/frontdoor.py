"""Real servers for the tests of the front door: two MySQLs, and ProxySQL started by its own entrypoint.

Comes in: the images or binaries that this machine has. Goes out: addresses to connect to.
Must never need a fixed port or a fixed container name: several runs may share a machine.
"""

import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "proxysql"
APP_PASSWORD = 'a "pass\\word" with {{ADMIN_PASSWORD}} & é'
MONITOR_PASSWORD = "monitor-password"


def run(*command, text=None, env=None, check=True):
    """Runs a command, gives its completed process; a failure shows what it said."""
    done = subprocess.run(command, input=text, env=env, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(f"{command[:3]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


def until(condition, seconds, what):
    """Polls until condition() is true; fails after the deadline."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def setting(name):
    """A setting of the stack: of the environment, of .env, or its default."""
    return run("bash", "-euc", '. "$0/bin/lib.sh"; setting "$1"', str(ROOT), name).stdout.strip()


def image(component):
    """The component's image if this machine has it, else None."""
    name = f"multimed/{component}:{setting('MULTIMED_VERSION')}"
    found = shutil.which("docker") and run("docker", "image", "inspect", name, check=False).returncode == 0
    return name if found else None


def proxysql_binary():
    """The path of a ProxySQL binary on this machine, or None."""
    return os.environ.get("PROXYSQL_BINARY") or shutil.which("proxysql")


def free_port():
    """A free port below those that the kernel gives to outgoing connections: none of them can take it meanwhile."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def sql_text(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


class MySQL:
    """A throw-away MySQL in a container; its table d.whoami says which server answered."""

    def __init__(self, role, mysql_image, sockets):
        self.role = role
        self.socket = sockets / f"{role}.sock"
        self.name = f"multimed-test-proxysql-{os.getpid()}-{role}"
        script = (
            "d=/tmp/data; mysqld --no-defaults --user=root --initialize-insecure --datadir=$d"
            f" && exec mysqld --no-defaults --user=root --datadir=$d --socket={self.socket} --pid-file=/tmp/mysql.pid"
            " --skip-name-resolve --secure-file-priv=NULL --mysqlx=OFF --innodb-buffer-pool-size=64M --performance-schema=OFF"
        )
        run(
            "docker",
            "run",
            "-d",
            "--name",
            self.name,
            "--tmpfs",
            "/tmp",
            "-v",
            f"{sockets}:{sockets}",
            "--entrypoint",
            "sh",
            mysql_image,
            "-c",
            script,
        )

    def client(self, statements, check):
        command = ("docker", "exec", "-i", self.name, "mysql", "-uroot", f"-S{self.socket}", "-N", "--default-character-set=utf8mb4")
        return run(*command, text=statements, check=check)

    def sql(self, statements):
        """Runs statements as root; gives the rows as text."""
        return self.client(statements, check=True).stdout.strip()

    def answers(self):
        state = run("docker", "inspect", "-f", "{{.State.Running}}", self.name).stdout.strip()
        assert state == "true", run("docker", "logs", self.name).stderr[-2000:]
        return self.client("SELECT 1", check=False).returncode == 0

    def prepare(self):
        until(self.answers, 120, f"{self.role} answers")
        self.add_user("app", APP_PASSWORD)
        self.sql(
            f"CREATE USER multimed_monitor@'%' IDENTIFIED BY '{MONITOR_PASSWORD}';"
            "GRANT REPLICATION CLIENT ON *.* TO multimed_monitor@'%';"
            "CREATE DATABASE d; CREATE TABLE d.whoami (name VARCHAR(20) PRIMARY KEY);"
            "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20));"
            f"INSERT INTO d.whoami VALUES ('{self.role}')"
        )

    def add_user(self, name, password):
        self.sql(
            f"CREATE USER IF NOT EXISTS {name}@'%'; "
            f"ALTER USER {name}@'%' IDENTIFIED WITH caching_sha2_password BY {sql_text(password)}; GRANT ALL ON d.* TO {name}@'%'"
        )

    def remove(self):
        run("docker", "rm", "-f", self.name, check=False)


def write_secrets(folder, users=None, **files):
    """A directory of secret files as the container sees it."""
    given = {"monitor_password": MONITOR_PASSWORD + "\n", "proxysql_admin_password": "admin-password\n", **files}
    (folder / "users").mkdir(parents=True, exist_ok=True)
    for name, content in given.items():
        if content is not None:
            (folder / name).write_text(content, encoding="utf-8")
    for name, password in ({"app": APP_PASSWORD + "\n"} if users is None else users).items():
        (folder / "users" / name).write_text(password, encoding="utf-8", newline="")
    return folder


class FrontDoor:
    """ProxySQL as the stack runs it: from its image where that is present, else the binary under the same entrypoint."""

    def __init__(self, folder, master, gate):
        self.secrets = write_secrets(folder / "secrets")
        self.sockets = master.socket.parent
        self.settings = {"MASTER": str(master.socket), "GATE": str(gate.socket), "PROXYSQL_SOCKET": str(self.sockets / "proxysql.sock")}
        self.log = folder / "log"
        self.container = self.process = None
        found = None if proxysql_binary() else image("proxysql")
        if found:
            self.start_container(found)
        else:
            self.start_process(folder)
        until(self.healthy, 30, f"ProxySQL greets; log:\n{self.log.read_text() if self.log.exists() else ''}")

    def start_container(self, name):
        self.container = f"multimed-test-proxysql-{os.getpid()}-door"
        settings = [part for key, value in self.settings.items() for part in ("-e", f"{key}={value}")]
        run(
            "docker",
            "run",
            "-d",
            "--name",
            self.container,
            "-v",
            f"{self.secrets}:/run/secrets:ro",
            "-v",
            f"{self.sockets}:{self.sockets}",
            *settings,
            name,
        )
        self.address, self.port = run("docker", "inspect", "-f", "{{.NetworkSettings.IPAddress}}", self.container).stdout.strip(), 6033

    def start_process(self, folder):
        (folder / "bin").mkdir()
        (folder / "bin" / "proxysql").symlink_to(pathlib.Path(proxysql_binary()).resolve())
        self.address, self.port = "127.0.0.1", free_port()
        self.settings |= {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PROXYSQL_SECRETS_DIR": str(self.secrets),
            "PROXYSQL_DATADIR": str(folder / "data"),
            "PROXYSQL_LISTEN": f"127.0.0.1:{self.port}",
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([FOLDER / "entrypoint.sh"], env=self.settings, stdout=log, stderr=log)

    def tool(self, script, *arguments, text=None):
        """Runs add-user.sh or health.sh where ProxySQL runs."""
        if self.container:
            return run("docker", "exec", "-i", self.container, f"/usr/local/lib/multimed/{script}", *arguments, text=text, check=False)
        return run(str(FOLDER / script), *arguments, text=text, env=self.settings, check=False)

    def healthy(self):
        return self.tool("health.sh").returncode == 0

    def output(self):
        return run("docker", "logs", self.container).stderr if self.container else self.log.read_text(errors="replace")

    def connect(self, user="app", password=APP_PASSWORD, **options):
        import pymysql

        return pymysql.connect(
            host=self.address,
            port=self.port,
            user=user,
            password=password.encode(),
            database="d",
            **{"autocommit": True, "charset": "utf8mb4", "read_timeout": 30, **options},
        )

    def stop(self):
        if self.container:
            run("docker", "rm", "-f", self.container, check=False)
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=20)


def execute_prepared(connection, statement):
    """Prepares and executes a statement without parameters in the binary protocol; gives the first text column of its rows."""
    connection._execute_command(0x16, statement)
    reply = connection._read_packet().get_all_data()
    statement_id, columns, parameters = struct.unpack("<IHH", reply[1:9])
    assert parameters == 0
    for _ in range(columns):
        connection._read_packet()
    if columns:
        connection._read_packet()  # EOF after the columns
    connection._execute_command(0x17, struct.pack("<IBI", statement_id, 0, 1))
    if not columns:
        return connection._read_packet().is_ok_packet()
    for _ in range(1 + columns + 1):
        connection._read_packet()
    rows = []
    while not (packet := connection._read_packet()).is_eof_packet():
        data = packet.get_all_data()
        start = 1 + (columns + 9) // 8  # header, NULL bitmap; then a length-encoded string
        rows.append(data[start + 1 : start + 1 + data[start]].decode())
    return rows
