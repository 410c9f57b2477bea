"""Where the two sides are: a MySQL from the master's image that lives as long as the run, and the test stack's gate and master.

In:  the running test stack; or addresses in the environment, see `environment`. Out: addresses and administrators.
Must never: leave the reference behind, or let anybody but this machine reach it.
"""

import contextlib
import dataclasses
import os

from support import compose as containers
from support.stack import ADMIN
from support.wait import wait_for

import fixtures
import wire

ADMINISTRATOR = (b"fuzz_admin", fixtures.PASSWORD)
SOCKET = "/run/mysqld/mysqld.sock"
# As the master, but that nobody follows it: its log need not survive, and it waits for no disk.
MYSQLD = "mysqld --defaults-file=/etc/multimed/my.cnf --datadir=/tmp/reference --innodb-buffer-pool-size=128M --server-id=6035"
START = (
    f"mkdir -p /tmp/reference /run/mysqld && chown mysql:mysql /tmp/reference /run/mysqld && {MYSQLD} --initialize-insecure && "
    f"exec {MYSQLD} --sync-binlog=0 --innodb-flush-log-at-trx-commit=0"
)
MASTER_PORT = 3306


@dataclasses.dataclass(frozen=True)
class Places:
    """Addresses are (host, port), administrators (user, password)."""

    reference: tuple
    reference_administrator: tuple
    gate: tuple
    master: tuple
    master_administrator: tuple


def environment():
    """FUZZ_REFERENCE, FUZZ_GATE, FUZZ_MASTER (host:port), FUZZ_ADMINISTRATOR (user:password, all privileges): what runs already."""

    def address(name):
        host, port = os.environ[name].split(":")
        return host, int(port)

    administrator = tuple(part.encode() for part in os.environ["FUZZ_ADMINISTRATOR"].split(":"))
    return Places(address("FUZZ_REFERENCE"), administrator, address("FUZZ_GATE"), address("FUZZ_MASTER"), administrator)


@contextlib.contextmanager
def running(stack):
    """Places with a reference of its own beside a stack that serves."""
    with reference() as host:
        administrator = (ADMIN.encode(), stack.password(ADMIN).encode())
        places = Places(
            (host, MASTER_PORT), ADMINISTRATOR, (stack.host, stack.gate_port), (containers.address("master"), MASTER_PORT), administrator
        )  # fmt: skip
        prepare(places)
        stack.await_satellites()
        yield places


@contextlib.contextmanager
def reference():
    """Its address."""
    name = f"{os.environ['COMPOSE_PROJECT_NAME']}-fuzz-reference"
    image = f"multimed/mysql-master:{containers.setting('MULTIMED_VERSION')}"
    remove = ("docker", "rm", "-f", "-v", name)
    containers.run(*remove, check=False)
    try:
        volume = f"{os.environ['TEST_MYSQL_CONF']}:/etc/multimed/conf.d:ro"
        command = ("docker", "run", "-d", "--name", name, "--memory", "1g", "-v", volume, "--entrypoint", "bash", image, "-c", START)
        containers.run(*command)
        user, password = (part.decode() for part in ADMINISTRATOR)
        made = f"CREATE USER IF NOT EXISTS {user} IDENTIFIED BY '{password}'; GRANT ALL ON *.* TO {user} WITH GRANT OPTION"
        client = ("docker", "exec", "-i", name, "mysql", "-uroot", f"--socket={SOCKET}")
        wait_for(lambda: containers.run(*client, input=made, check=False).returncode == 0, 120, "the reference")
        template = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        yield containers.run("docker", "inspect", "-f", template, name).stdout.strip()
    finally:
        containers.run(*remove, check=False)


def prepare(places):
    """The clients' accounts; the gate's satellites get them by the log."""
    for server, administrator in ((places.reference, places.reference_administrator), (places.master, places.master_administrator)):
        with contextlib.closing(wire.Connection(server, administrator)) as connection:
            for statement in fixtures.accounts():
                connection.queue(wire.QUERY + statement.encode())
                connection.flush()
                assert connection.answer()[0][0] == "ok", statement
