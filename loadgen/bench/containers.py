"""The containers of the bench: CPU time, pause, and a conversation with the mysqld inside.

In:  the compose project of the environment, Docker's socket. Out: numbers, answers. Must never: name a container that does not
belong to that project; ids come from `docker compose ps` only.
"""

import http.client
import json
import os
import pathlib
import re
import socket
import subprocess

END = "-- end of answer --"


class SqlFailed(Exception):
    """The mysql client ended; the message is what it said."""


class DockerApi:
    """What the command line does too slowly: `docker stats` takes seconds, a process start costs 50 ms of CPU."""

    def __init__(self):
        self._path = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")

    def call(self, method, path):
        connection = http.client.HTTPConnection("docker", timeout=30)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self._path)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise OSError(f"{method} {path}: {answer.status} {content.decode(errors='replace').strip()}")
        return json.loads(content) if content else None

    def cpu_seconds(self, container):
        """Of all processes that the container ever had, from its control group."""
        stats = self.call("GET", f"/containers/{container}/stats?stream=false&one-shot=true")
        return stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9

    def inspect(self, container):
        return self.call("GET", f"/containers/{container}/json")

    def pause(self, container):
        self.call("POST", f"/containers/{container}/pause")

    def unpause(self, container):
        self.call("POST", f"/containers/{container}/unpause")


def compose(*arguments):
    return subprocess.run(("docker", "compose", *arguments), check=True, stdout=subprocess.PIPE, text=True).stdout


def container_of(service):
    found = compose("ps", "-q", service).split()
    if not found:
        raise OSError(f"service {service} has no container")
    return found[0]


class Session:
    """A mysql client inside a container, kept open: a question costs a round trip through two pipes, no process start."""

    def __init__(self, container):
        self._client = subprocess.Popen(
            (
                "docker",
                "exec",
                "-i",
                container,
                "mysql",
                "--defaults-file=/run/multimed/client.cnf",
                "--batch",
                "--skip-column-names",
                "--unbuffered",
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, sql):
        """The answers to one or more statements, as a list of lists of texts."""
        try:
            self._client.stdin.write(f"{sql};\nSELECT '{END}';\n")
            self._client.stdin.flush()
        except BrokenPipeError:
            pass  # the client says why on its standard error
        rows = []
        for line in self._client.stdout:
            if line.rstrip("\n") == END:
                return rows
            rows.append(line.rstrip("\n").split("\t"))
        raise SqlFailed(self._client.stderr.read().strip() or "the mysql client ended")

    def value(self, sql):
        return self.ask(sql)[0][0]

    def close(self):
        self._client.kill()
        self._client.wait()


# --- threads of a container's process, as the host sees them ------------------------------------------------------


def inner_thread(status):
    """The number that a thread has inside its container, from the text of /proc/…/status."""
    return int(re.search(r"^NSpid:.*\t(\d+)$", status, re.MULTILINE)[1])


def thread_cpu_seconds(process, inner):
    """CPU time of those threads of a host's process whose numbers inside the container are given."""
    total = 0.0
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        try:
            if inner_thread((task / "status").read_text()) in inner:
                total += int((task / "schedstat").read_text().split()[0]) / 1e9
        except FileNotFoundError:
            continue  # it has just ended
    return total
