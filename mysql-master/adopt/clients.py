"""MySQL's own clients, in a container of the host's network that has the master's socket beside.

In:  how to log in at source and master. Out: rows of answers, running dumps.
Must never: put a password on a command line; outlive the process that started it: the container ends with its standard input.
"""

import json
import os
import subprocess
import threading

END = "end-of-answer"
MYSQL = ("--batch", "--skip-column-names", "--unbuffered", "--default-character-set=utf8mb4", "--connect-timeout=10")


class Failed(Exception):
    """A server or a client refused; the message says which and why."""


def unescaped(field):
    """A field as the client's batch mode escapes it."""
    if "\\" not in field:
        return field
    parts = [each.replace("\\t", "\t").replace("\\n", "\n").replace("\\0", "\0") for each in field.split("\\\\")]
    return "\\".join(parts)


class Clients:
    def __init__(self, options):
        """options: {server: text of its option file}."""
        self.source_options = options.get("source", "")
        project = os.environ["COMPOSE_PROJECT_NAME"]
        self.name = f"{project}-adopt"
        image = f"multimed/mysql-master:{os.environ['MULTIMED_VERSION']}"
        command = ["docker", "run", "--rm", "-i", "--init", "--name", self.name, "--network", "host", "--log-driver", "none"]
        command += [
            "--label",
            "multimed.adopt=yes",
            "--tmpfs",
            "/adopt:mode=0700",
            "-v",
            f"{project}_server-sockets:/sockets",
            "--entrypoint",
            "bash",
        ]
        self.process = subprocess.Popen(
            [*command, image, "-c", "echo ready; exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Ctrl-C is this process's alone: what runs in there is ended in order.
            start_new_session=True,
        )
        if self.process.stdout.readline() != "ready\n":
            raise Failed("no container for MySQL's clients (does another adopt run?): " + self.process.stderr.read().strip())
        for server, content in options.items():
            self.write(f"{server}.cnf", content)

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def write(self, name, content):
        self.bash(f"umask 077; cat > /adopt/{name}", content)

    def bash(self, script, content=""):
        done = subprocess.run(["docker", "exec", "-i", self.name, "bash", "-c", script], input=content, text=True, capture_output=True)
        if done.returncode:
            raise Failed(done.stderr.strip())
        return done.stdout

    def start(self, script):
        """A script in the background, a newline on whose standard input lets it go on."""
        command = ["docker", "exec", "-i", self.name, "bash", "-c", "set -o pipefail\n" + script]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def session(self, server):
        return Session(self.name, server)

    def run(self, server, script, *more):
        """A script in a session of its own; its rows. Errors are the server's, without the statement."""
        done = subprocess.run(
            ["docker", "exec", "-i", self.name, "mysql", f"--defaults-file=/adopt/{server}.cnf", *MYSQL, *more],
            input=script.encode(),
            capture_output=True,
        )
        if done.returncode:
            raise Failed(f"{server}: {done.stderr.decode(errors='replace').strip()}")
        # In bytes, as below; and only a newline ends a row.
        rows = done.stdout.decode(errors="replace").split("\n")[:-1]
        return [[unescaped(field) for field in line.split("\t")] for line in rows]

    def value(self, server, expression):
        return self.run(server, f"SELECT {expression};")[0][0]

    def fact(self, server, query):
        """The one JSON value that a query has as its answer."""
        return json.loads(self.run(server, query)[0][0])


class Session:
    """One client held open: its session keeps locks and snapshots."""

    def __init__(self, container, server):
        self.server = server
        command = ["docker", "exec", "-i", container, "mysql", f"--defaults-file=/adopt/{server}.cnf", *MYSQL]
        # In bytes: as text, a carriage return would end a line.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        self.complaints = []
        self.listener = threading.Thread(target=lambda: self.complaints.extend(self.process.stderr), daemon=True)
        self.listener.start()

    def run(self, statement):
        try:
            self.process.stdin.write(f"{statement};\nSELECT '{END}';\n".encode())
            self.process.stdin.flush()
        except OSError:
            self._lost()
        rows = []
        for line in self.process.stdout:
            line = line.decode(errors="replace").removesuffix("\n")
            if line == END:
                return rows
            rows.append([unescaped(field) for field in line.split("\t")])
        return self._lost()

    def _lost(self):
        self.listener.join(timeout=5)
        raise Failed(
            f"{self.server}: {b' '.join(self.complaints[-2:]).decode(errors='replace').strip() or 'the client ended without a word'}"
        )

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def kill(self):
        self.process.kill()
