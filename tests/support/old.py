"""A second MySQL, from the master's image: the existing server that is to come to Multimed.

In:  the test stack's network. Out: its address, and SQL on it as root. Must never: outlive the tests that use it.
"""

import contextlib
import os

from . import compose as containers
from .wait import wait_for

SOCKET = "/run/mysqld/mysqld.sock"
MYSQLD = "mysqld --no-defaults --user=mysql --datadir=/tmp/old --secure-file-priv=NULL --mysqlx=OFF --innodb-buffer-pool-size=64M"


class Old:
    def __init__(self, name):
        self.name = name

    def sql(self, script, check=True):
        """A script as root; its rows as text, tab-separated."""
        client = ("mysql", "-uroot", f"--socket={SOCKET}", "-N", "--default-character-set=utf8mb4")
        return containers.run("docker", "exec", "-i", self.name, *client, input=script, check=check)

    def value(self, expression):
        return self.sql(f"SELECT {expression}").stdout.strip()

    @property
    def address(self):
        template = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        return containers.run("docker", "inspect", "-f", template, self.name).stdout.strip()


@contextlib.contextmanager
def running(suffix, *options, network="bridge"):
    """A server with these options of mysqld, empty, with nobody but root@localhost, without password."""
    project = os.environ["COMPOSE_PROJECT_NAME"]
    server = Old(f"{project}-{suffix}")
    image = f"multimed/mysql-master:{containers.setting('MULTIMED_VERSION')}"
    network = network if network == "bridge" else f"{project}_{network}"
    start = f"mkdir -p /tmp/old /run/mysqld && chown mysql:mysql /tmp/old /run/mysqld && {MYSQLD} --initialize-insecure && exec {MYSQLD} --socket={SOCKET} "
    containers.run("docker", "rm", "-f", "-v", server.name, check=False)
    command = ("docker", "run", "-d", "--name", server.name, "--memory", "1g", "--network", network, "--entrypoint", "bash", image)
    containers.run(*command, "-c", start + " ".join(options))
    try:
        wait_for(lambda: server.sql("SELECT 1", check=False).returncode == 0, 120, "the second MySQL")
        yield server
    finally:
        containers.run("docker", "rm", "-f", "-v", server.name, check=False)
