"""What is done to the stack while the program looks.

In: the running stack, a run to tell of each fault, a seed. Out: processes stopped, continued and killed; counts.
Must never: leave a process stopped, signal a process that is not the stack's (hence pidfds), or go on to the next kill
before the stack has recovered from the one before.
"""

import contextlib
import os
import random
import signal
import threading

from support import compose as containers
from support.wait import wait_for

APPLIERS = ("applier-1", "applier-2")
# Seconds on a quiet machine; both satellites clone from the master one after the other.
RECOVERY_S = 120


class Faults:
    def __init__(self, stack, run, seed):
        self.stack, self.run, self.random = stack, run, random.Random(seed)
        self.over = threading.Event()
        self.slowed = 0
        self.table_reads_before = -table_reads(stack)
        self.errors = []

    @contextlib.contextmanager
    def told(self, kind, target):
        self.run.tell(f"begin {kind} {target}")
        try:
            yield
        finally:
            self.run.tell(f"end {kind} {target}")

    def table_reads(self):
        """Reads since the beginning that a satellite answered because it had the writers of their tables, though not all else."""
        return int(self.table_reads_before + table_reads(self.stack))

    # --- slowing ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def slowing(self, stopped=(0.05, 0.5), between=(0.3, 1.8)):
        """Appliers stopped for 50 to 500 ms each, or so, one after the other, for as long as the context lasts."""
        how = (stopped, between)
        threads = [threading.Thread(target=self._slow, args=(service, random.Random(self.random.random()), how)) for service in APPLIERS]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
        assert not self.errors, self.errors

    def _slow(self, service, choose, how):
        process = None
        stopped, between = how
        try:
            while not self.over.wait(choose.uniform(*between)):
                process = process or open_process(service)
                if process is None:
                    continue
                try:
                    with self.told("slow-applier", service):
                        self._stop_for(process, choose.uniform(*stopped))
                    self.slowed += 1
                except ProcessLookupError:
                    os.close(process)
                    process = None
        except Exception as error:  # a thread's error must reach the test
            self.errors.append(f"slowing {service}: {error!r}")

    def _stop_for(self, process, seconds):
        signal.pidfd_send_signal(process, signal.SIGSTOP)
        try:
            self.over.wait(seconds)
        finally:
            signal.pidfd_send_signal(process, signal.SIGCONT)

    # --- kills --------------------------------------------------------------------------------------------------

    def kill_satellites(self, *services):
        """kill -9 of mysqld; until each has cloned itself anew and serves."""
        before = {service: self.incarnation(service) for service in services}
        with contextlib.ExitStack() as all_told:
            for service in services:
                all_told.enter_context(self.told("kill-mysqld", service))
            for service in services:
                containers.kill(service, "mysqld")
        for service in services:
            wait_for(lambda s=service: self.incarnation(s) not in (None, before[s]) and self.fit(s), RECOVERY_S, f"{service} rebuilt")

    def kill_java(self, kind, service):
        """kill -9 of an applier or of capture; until what was committed before has reached the satellites again."""
        with self.told(kind, service):
            containers.kill(service, "java")
            self.caught_up()

    def kill_kafka(self):
        with self.told("kill-kafka", "kafka"):
            containers.kill("kafka", "java")
        self.caught_up()

    def kill_gate(self):
        """kill -9; until it serves from all satellites. What it has counted goes with it."""
        before = containers.first_process("gate")
        with self.told("kill-gate", "gate"):
            self.table_reads_before += table_reads(self.stack)
            containers.kill("gate", "gtid-gate")
            wait_for(lambda: containers.first_process("gate") != before, 60, "the gate to be restarted by its policy")
            wait_for(lambda: all(self.fit(service) for service in self.stack.satellites), 60, "the gate to serve")

    def restart_container(self, service):
        with self.told("restart-container", service):
            containers.compose("restart", "-t", "0", service)
        self.caught_up()

    def caught_up(self):
        target = self.stack.gtid("master")
        for service in self.stack.satellites:
            wait_for(lambda s=service: self.stack.contains(s, target) and self.fit(s), RECOVERY_S, f"{service} caught up")

    def incarnation(self, service):
        return self.stack.server(service).get("incarnation")

    def fit(self, service):
        return self.stack.server(service)["state"] == "up"

    def breathe(self):
        """A second or two of undisturbed service between two kills."""
        self.over.wait(self.random.uniform(1, 2))


def table_reads(stack):
    return stack.metrics().total("gtid_gate_table_reads_total")


def open_process(service):
    """A pidfd of the service's Java process, if it runs."""
    # Also while its container is still starting it.
    with contextlib.suppress(AssertionError, IndexError, OSError):
        return os.pidfd_open(containers.processes(service, "java")[0])
