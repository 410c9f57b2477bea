"""The load and check program (the Go files beside), built and run as a process.

In: the running stack, flags. Out: its report, its summary, its exit status; it is told of every fault. Must never:
outlive the test.
"""

import contextlib
import json
import os
import shutil
import subprocess
import threading

from support import compose as containers
from support.wait import wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
DATABASE = USER = "app"


def go(*arguments, directory=HERE, timeout=280):
    """Runs the go command; installs Debian's where there is none."""
    if shutil.which("go") is None:
        containers.run("bash", "-euc", "me=consistency; . bin/lib.sh; need_tools go=golang-go", timeout=600)
    done = subprocess.run(
        ["go", *arguments],
        cwd=directory,
        text=True,
        capture_output=True,
        timeout=timeout,
        env={**os.environ, "GOFLAGS": "-buildvcs=false -mod=readonly", "GOMAXPROCS": "2"},
    )
    assert done.returncode == 0, f"go {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(state):
    binary = state / "consistency"
    go("build", "-o", str(binary), ".")
    return binary


class Run:
    """One run of the program, as a context manager; after it `status`, `report` and `summary` say what it came to."""

    def __init__(self, stack, binary, name, **flags):
        self.report_file = stack.state / f"consistency-{name}.json"
        self.report_file.unlink(missing_ok=True)
        password = stack.state / "consistency-password"
        password.write_text(stack.password(USER) + "\n")
        password.chmod(0o600)
        servers = [f"-server={hardware_address(service)}={service}" for service in ("master", *stack.satellites)]
        self.command = [
            str(binary),
            f"-gate={stack.host}:{stack.gate_port}",
            f"-master={containers.address('master')}:3306",
            *(f"-satellite={containers.address(service)}:3306" for service in stack.satellites),
            f"-user={USER}",
            f"-password-file={password}",
            f"-database={DATABASE}",
            f"-report={self.report_file}",
            "-faults",
            *servers,
            *(f"-{flag.replace('_', '-')}={value}" for flag, value in flags.items()),
        ]
        self.lines = []
        self.summary = self.status = None
        self._telling = threading.Lock()

    @property
    def report(self):
        return "".join(self.lines)

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.follower = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.follower.start()
        wait_for(lambda: "ready\n" in self.lines or not self.runs(), 120, "the program to begin")
        return self

    def tell(self, line):
        """A line for the program's history: begin KIND TARGET, end KIND TARGET. Nobody listens after its end."""
        with self._telling, contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def master_is_at(self):
        """Its container may have another address than when the run began."""
        self.tell(f"master {containers.address('master')}:3306")

    @contextlib.contextmanager
    def paused(self):
        """Nothing is written in here, so that the master can go back."""
        self._ask("pause", "paused")
        try:
            yield
        finally:
            self.tell("resume")

    def lost(self):
        """While paused: the master has gone back. What it does not have now need not be seen, and must not be any more."""
        self.master_is_at()
        self._ask("lost", "known")

    def _ask(self, line, answer):
        before = self.lines.count(answer + "\n")
        self.tell(line)
        wait_for(lambda: self.lines.count(answer + "\n") > before, 120, f"the program to answer {line!r}: {self.lines[-3:]}")

    def runs(self):
        return self.process.poll() is None

    def finish(self, deadline_s):
        """The program need not wait for more faults; waits until it has seen enough."""
        self.tell("over")
        self.status = self.process.wait(deadline_s)
        self.follower.join()
        if self.report_file.exists():
            self.summary = json.loads(self.report_file.read_text())

    def __exit__(self, *_):
        """After a failure in between: what was seen until then is still judged, and shown with the failure."""
        if self.runs():
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.follower.join()
            print(self.report)
        self.follower.join()


def hardware_address(service):
    """What UUID() ends with on the service's MySQL server."""
    networks = containers.inspect(service)["NetworkSettings"]["Networks"].values()
    return next(network["MacAddress"] for network in networks if network["MacAddress"]).replace(":", "")
