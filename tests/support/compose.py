"""Containers of the test stack, from outside.

In: service names. Out: what Compose says; addresses; host pids of processes in containers. Must never: use `docker kill`
or `docker stop`, which switch the restart policy off: faults are injected on processes.
"""

import os
import pathlib
import select
import signal
import subprocess

from . import engine
from .wait import wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*command, input=None, check=True, timeout=300, env=None):
    """Runs a command in the repository's root; returns the CompletedProcess with text output. env: variables that it gets beside, or not (None)."""
    variables = {**os.environ, **(env or {})}
    done = subprocess.run(
        command,
        cwd=ROOT,
        input=input,
        text=True,
        errors="replace",
        capture_output=True,
        timeout=timeout,
        env={name: value for name, value in variables.items() if value is not None},
        stdin=None if input is not None else subprocess.DEVNULL,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def setting(name):
    """A setting's value: of the environment, of .env, or its default."""
    return run("bash", "-euc", '. bin/lib.sh; setting "$0"', name).stdout.strip()


def compose(*arguments, **options):
    return run("docker", "compose", *arguments, **options)


def container(service):
    """The name that Compose gives to a service's first container."""
    return f"{os.environ['COMPOSE_PROJECT_NAME']}-{service}-1"


def execute(service, *command, **options):
    """A command in the service's container; without Compose, which reads all of its files first."""
    return run("docker", "exec", "-i", container(service), *command, **options)


def inspect(service):
    """docker inspect of the service's container."""
    return engine.ask(f"/containers/{container(service)}/json")


def address(service):
    """The container's IP; it can change when the container restarts."""
    networks = inspect(service)["NetworkSettings"]["Networks"].values()
    found = [network["IPAddress"] for network in networks if network["IPAddress"]]
    assert found, f"{service} has no address: is it running?"
    return found[0]


def first_process(service):
    """Host pid of the container's process 1."""
    pid = inspect(service)["State"]["Pid"]
    assert pid, f"{service} is not running"
    return pid


def processes(service, name):
    """Host pids of the container's processes with that command name (the first 15 letters, as the kernel keeps them)."""
    listed = engine.ask(f"/containers/{container(service)}/top", ps_args="-eo pid,comm")["Processes"]
    # Of a container that is just ending or beginning the engine lists nothing.
    return [int(pid) for pid, command, *_ in listed or () if command == name[:15]]


def signal_processes(service, name, number):
    """Sends a signal to every process of that name in the container; returns their host pids."""
    pids = processes(service, name)
    assert pids, f"no process {name} in {service}"
    for pid in pids:
        os.kill(pid, number)
    return pids


def stands_still(pid):
    """Whether all threads of a process are stopped."""
    states = [status.read_text().rpartition(")")[2].split()[0] for status in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


def kill(service, name):
    """kill -9; returns when the processes are gone, with all of their threads: until then their sockets may be open."""
    pids = processes(service, name)
    assert pids, f"no process {name} in {service}"
    ends = [os.pidfd_open(pid) for pid in pids]
    try:
        for end in ends:
            signal.pidfd_send_signal(end, signal.SIGKILL)
        wait_for(lambda: len(select.select(ends, [], [], 0)[0]) == len(ends), 20, f"{name} of {service} to be gone")
    finally:
        for end in ends:
            os.close(end)


def kill_first_process(service):
    """kill -9 of the container's process 1: the container ends, the restart policy starts it again."""
    before = first_process(service)
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: first_process(service) != before, 60, f"{service} to be restarted by its policy")
