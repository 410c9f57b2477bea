"""A stack of `docker compose build` and `docker compose up -d` alone, in a clone in which no command of ours was ever run.

In: the images of .env.example, or what bin/images has made where those cannot be pulled; the environment of tests/env.sh: a name, ports;
PLAIN_GATE: an image of the gate that is taken instead of one more, which takes minutes to compile.
Out: containers, what they say, where they run. Must never: give what stands in for an image that image's own name.
ProxySQL is in no package registry: where its image is not here, that service is left out.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

from support import compose as containers
from support.wait import wait_for

ROOT = pathlib.Path(containers.ROOT)
# The certificates that this machine trusts, and so its clients of package registries.
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"
OWN = ("COMPOSE_PROJECT_NAME", "FRONT_PORT", "GATE_PORT", "STATUS_PORT", "SOCKET_DIR")
# What ends by itself.
ONCE = {"cores", "secrets"}


def docker(*arguments, **options):
    return containers.run("docker", *arguments, **options).stdout.strip()


def there(image):
    return containers.run("docker", "image", "inspect", image, check=False).returncode == 0


def base_images(prefix):
    """{name of a setting: image}: with the prefix what must stand in."""
    official = re.findall(r"^#([A-Z]+_IMAGE)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    return {name: image if there(image) else prefix + image for name, image in official}


def stand_in(wanted, version, folder):
    """Makes {name of a setting: image}. version: of the images that bin/images has made."""
    java = "multimed/java-base:packages"
    same = {"MYSQL_IMAGE": "multimed/mysql-base:packages", "JAVA_IMAGE": java, "KAFKA_IMAGE": f"multimed/kafka:{version}"}
    shutil.copy(TRUSTED, folder / "trusted.pem")
    for name, image in wanted.items():
        target = name.removesuffix("_IMAGE").lower()
        if name in same:
            docker("tag", same[name], image)
        elif target in ("debian", "rust", "maven"):
            bases = ("--build-arg", "DEBIAN_BASE=multimed/debian:sid", "--build-arg", f"JAVA_BASE={java}")
            file = str(ROOT / "tests/plain/standins.Dockerfile")
            docker("build", "-q", "-t", image, "--target", target, "-f", file, *bases, str(folder), timeout=600)


def clone(folder):
    """The tracked files as they are now, and those that git would add."""
    for name in containers.run("git", "ls-files", "-co", "--exclude-standard").stdout.splitlines():
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


class Plain:
    def __init__(self, folder):
        self.folder, self.project = folder, os.environ["COMPOSE_PROJECT_NAME"]
        assert "multimed-test" in self.project, "start the tests with tests/run"
        # Names of this stack's own: others may run on the same engine.
        self.version, self._standin = self.project, f"{self.project}-standin/"
        self._images = base_images(self._standin)
        self._variables = {name: os.environ[name] for name in OWN} | self._images | {"MULTIMED_VERSION": self.version}
        self.gate_port = int(self._variables["GATE_PORT"])
        self._status = f"http://127.0.0.1:{self._variables['STATUS_PORT']}/servers"
        self.has_proxysql = there(self._images["PROXYSQL_IMAGE"])
        self._gate = os.environ.get("PLAIN_GATE")
        self._services = [each for each in self.compose("config", "--services").split() if each != "proxysql" or self.has_proxysql]
        self.servers = sorted(set(self._services) - ONCE)

    def up(self, made_by, work):
        self.remove()
        missing = {name: image for name, image in self._images.items() if image.startswith(self._standin)}
        if self._gate:
            missing.pop("RUST_IMAGE", None)
            docker("tag", self._gate, self._gate_image())
        stand_in(missing, made_by, work)
        built = [each for each in self._services if not (self._gate and each in ("gate", "gate-port"))]
        self.compose("build", "--build-arg", "GATE_PROFILE=quick", *built, timeout=2400)
        self.compose("up", "-d", *self._services, timeout=300)
        self.await_serving()

    def remove(self):
        """Images too: nobody else shall find what stands in."""
        self.compose("down", "--volumes", "--remove-orphans", "--timeout", "10")
        listed = docker("images", "--format", "{{.Repository}}:{{.Tag}}").split()
        # Compose builds an image once for each service, and the last one gets the name.
        built = docker("images", "--quiet", "--filter", f"label=com.docker.compose.project={self.project}").split()
        ours = {*built, *(each for each in listed if each.startswith(self._standin) or each == self._gate_image())}
        if ours:
            docker("rmi", "--force", *ours)
        subprocess.run(("rm", "-rf", self.folder / "secrets", self._variables["SOCKET_DIR"]), check=True)

    def _gate_image(self):
        return f"multimed/gtid-gate:{self.version}"

    def compose(self, *arguments, **options):
        """Nothing else of the tests' environment."""
        variables = {name: os.environ[name] for name in ("PATH", "HOME")} | self._variables
        bare = ("env", "-i", "-C", str(self.folder), *(f"{name}={value}" for name, value in variables.items()))
        return containers.run(*bare, "docker", "compose", *arguments, **options).stdout

    def container(self, service):
        return f"{self.project}-{service}-1"

    def inspect(self, service):
        return json.loads(docker("inspect", self.container(service)))[0]

    def cores(self, service):
        """{command: what it may use, as the kernel prints it} of all its processes."""
        found = {}
        for line in docker("top", self.container(service), "-eo", "pid,comm").splitlines()[1:]:
            pid, command = line.split(None, 1)
            status = pathlib.Path(f"/proc/{pid}/status")
            if status.exists():
                found[command] = re.search(r"^Cpus_allowed_list:\s*(.*)$", status.read_text(), re.MULTILINE)[1]
        return found

    def mysql(self, service, script):
        command = ("mysql", "--defaults-file=/run/multimed/client.cnf", "--batch", "--skip-column-names")
        return docker("exec", "-i", self.container(service), *command, input=script)

    def await_serving(self):
        def states():
            servers = json.loads(containers.run("curl", "-fsS", "-m", "5", self._status).stdout)
            return [server["state"] for server in servers if server["role"] == "satellite"]

        wait_for(lambda: states() == ["up", "up"], 180, "two satellites to serve")
