"""Faults of processes, disks, logs and copies, and how long the stack may take to be whole again after each.

In: the running stack under load, a source of randomness. Out: something broken, and nothing left broken by us at the end. Must never: use
`docker kill`, which switches the restart policy off, or touch anything outside the test stack.
"""

import contextlib
import os

from support import compose as containers
from support import log
from support.wait import wait_for

from chaos_disk import limited_disk
from chaos_registry import COMMITS, caught_up, fault, hold


def stop_for(stack, choose, service, process, longest):
    seconds = round(choose.uniform(1, longest), 1)
    with stack.paused(service, process):
        hold(seconds)
    return f"{service} for {seconds} s"


def restart(service):
    containers.compose("restart", "-t", "10", service)
    return service


def killed(stack, service, process):
    stack.kill_process(service, process)
    return service


# --- processes -------------------------------------------------------------------------------------------------------


@fault("kill applier", 30)
def kill_applier(stack, load, choose):
    return killed(stack, choose.choice(("applier-1", "applier-2")), "java")


@fault("stop applier", 30)
def stop_applier(stack, load, choose):
    return stop_for(stack, choose, choose.choice(("applier-1", "applier-2")), "java", 15)


@fault("restart applier", 30)
def restart_applier(stack, load, choose):
    return restart(choose.choice(("applier-1", "applier-2")))


@fault("kill capture", 40)
def kill_capture(stack, load, choose):
    return killed(stack, "capture", "java")


@fault("stop capture", 40)
def stop_capture(stack, load, choose):
    return stop_for(stack, choose, "capture", "java", 20)


@fault("restart capture", 40)
def restart_capture(stack, load, choose):
    return restart("capture")


@fault("two captures", 60)
def two_captures(stack, load, choose):
    """The second waits for the master's lock. The first is killed, so that both want the lock; then the second is, whoever has it."""
    name = os.environ["COMPOSE_PROJECT_NAME"] + "-second-capture"
    try:
        containers.compose("run", "-d", "--no-deps", "--name", name, "capture", "capture")
        wait_for(lambda: "another capture writes this log" in log_of(name), 60, "the second capture to wait for the first")
        stack.kill_process("capture", "java")
        load.await_commits(COMMITS, deadline_s=60)
    finally:
        containers.run("docker", "rm", "-f", name, check=False)
    return "first killed, then the second"


def log_of(container):
    output = containers.run("docker", "logs", container)
    return output.stdout + output.stderr


@fault("kill kafka", 60)
def kill_kafka(stack, load, choose):
    return killed(stack, "kafka", "java")


@fault("stop kafka", 60)
def stop_kafka(stack, load, choose):
    return stop_for(stack, choose, "kafka", "java", 40)


@fault("restart kafka", 60)
def restart_kafka(stack, load, choose):
    return restart("kafka")


@fault("kill mysqld of a satellite", 60, "some")
def kill_satellite(stack, load, choose):
    return killed(stack, choose.choice(stack.satellites), "mysqld")


@fault("kill a satellite's container", 60, "some")
def kill_satellite_container(stack, load, choose):
    service = choose.choice(stack.satellites)
    stack.kill_container(service)
    return service


@fault("kill both satellites", 90, "some")
def kill_both_satellites(stack, load, choose):
    for service in stack.satellites:
        stack.kill_process(service, "mysqld")
    return " and ".join(stack.satellites)


@fault("stop a satellite", 40)
def stop_satellite(stack, load, choose):
    return stop_for(stack, choose, choose.choice(stack.satellites), "mysqld", 20)


@fault("restart a satellite", 60, "some")
def restart_satellite(stack, load, choose):
    return restart(choose.choice(stack.satellites))


@fault("kill the master", 90)
def kill_master(stack, load, choose):
    return killed(stack, "master", "mysqld")


@fault("stop the master", 60)
def stop_master(stack, load, choose):
    return stop_for(stack, choose, "master", "mysqld", 20)


@fault("restart the master", 90)
def restart_master(stack, load, choose):
    return restart("master")


@fault("kill the gate", 30)
def kill_gate(stack, load, choose):
    return killed(stack, "gate", "gtid-gate")


# --- changes by the operator --------------------------------------------------------------------------------------------


def up(**settings):
    """`make up` with these settings beside the stack's own."""
    containers.run("bin/up", env={"UP_IMAGES": "keep", **settings}, timeout=600)


@fault("scale", 60)
def scale(stack, load, choose):
    up(SATELLITES="3")
    hold(choose.uniform(0, 5))
    up()
    return "a third satellite came and went"


@fault("resize", 30)
def resize(stack, load, choose):
    service = choose.choice(("MASTER", "SATELLITE_1", "SATELLITE_2"))
    up(**{f"{service}_CPUS": "0", f"{service}_BUFFER_POOL": "1g"})
    hold(choose.uniform(0, 5))
    up()
    return f"{service} on one core and with a larger buffer pool, then as before"


@fault("rolling", 60, "some")
def rolling(stack, load, choose):
    up(SATELLITE_TMPFS="900m")
    up()
    return "each satellite made anew with a smaller tmpfs, which grew again"


@fault("new passwords", 60)
def new_passwords(stack, load, choose):
    """Ended at any moment, then begun once more."""
    seconds = round(choose.uniform(1, 20), 1)
    containers.run("timeout", str(seconds), "bin/rotate", check=False)
    containers.run("bin/rotate", timeout=400)
    return f"ended after {seconds} s, then once more"


# --- disks and logs --------------------------------------------------------------------------------------------------


@fault("fill Kafka's disk", 90)
def fill_kafka_disk(stack, load, choose):
    """Full until a few commits could not be written to the log; then there is room again."""
    with limited_disk(stack) as disk:
        caught_up(stack, 90)
        with disk.full():
            load.await_commits(5 * COMMITS, deadline_s=90)
            disk.await_refusal(60)
            hold(choose.uniform(1, 10))
        caught_up(stack, 90)
    return "until Kafka refused, then freed"


@fault("purge binlogs under a stopped capture", 120, "some")
def purge_binlogs(stack, load, choose):
    """What was committed meanwhile is in no binlog and in no log: satellites can only clone."""
    containers.compose("stop", "-t", "10", "capture")
    try:
        load.await_commits(COMMITS)
        stack.sql("master", "FLUSH BINARY LOGS")
        newest = stack.sql("master", "SHOW BINARY LOGS")[-1][0]

        def purged():
            """Not while a thread of the master sends a file to the capture that is gone: a stopped container does not refuse what comes."""
            for (thread,) in stack.sql("master", "SELECT id FROM performance_schema.processlist WHERE command LIKE 'Binlog Dump%'"):
                stack.sql("master", f"KILL {thread}")
            stack.sql("master", f"PURGE BINARY LOGS TO '{newest}'")
            return stack.sql("master", "SHOW BINARY LOGS")[0][0] == newest

        stack.wait_for(purged, 30, "the binlogs to be purged")
    finally:
        containers.compose("start", "capture")
    return f"to {newest}"


@fault("reset the master's GTIDs", 120, "some")
def reset_gtids(stack, load, choose):
    """The same GTIDs come again, for other transactions."""
    stack.sql("master", "RESET BINARY LOGS AND GTIDS")
    load.await_commits(COMMITS)
    return "under load"


@fault("restore an older copy of the master", 120, "some")
def restore_master(stack, load, choose):
    """What was committed after the copy is gone, whoever had read it; then its GTIDs come again, for other transactions."""
    before = {service: stack.incarnation(service) for service in stack.satellites}
    copy = stack.state / "master-copy"
    running = choose.random() < 0.5
    try:
        # A running one as a file system's snapshot has it.
        with stack.paused("master", "mysqld") if running else stopped_master(stack):
            with_master_copy(copy, "find /copy -mindepth 1 -delete && cp -a /var/lib/mysql/. /copy")
        load.await_commits(COMMITS)
        # Else nobody but the master has had what it loses, and the satellites are right to go on.
        caught_up(stack, 90)
        with load.paused():
            with stopped_master(stack):
                with_master_copy(copy, "find /var/lib/mysql -mindepth 1 -delete && cp -a /copy/. /var/lib/mysql")
            lost = load.forget_lost()
        for service in stack.satellites:
            wait_for(lambda s=service: stack.incarnation(s) != before[s], 120, f"{service} to be cloned again")
    finally:
        with_master_copy(copy, "find /copy -mindepth 1 -delete")
    return f"taken while it was {'running' if running else 'stopped'}, {lost} acknowledged transactions are gone"


@contextlib.contextmanager
def stopped_master(stack):
    """Until it answers again, to the gate too."""
    containers.compose("stop", "-t", "30", "master")
    try:
        yield
    finally:
        containers.compose("start", "master")
    wait_for(lambda: stack.sql("master", "SELECT 1"), 60, "the master to answer")
    wait_for(lambda: stack.server("master")["state"] == "up", 60, "the gate to reach the master")


def with_master_copy(copy, script):
    """As the runbook does: a container that has the master's volume, and /copy."""
    containers.compose("run", "--rm", "--no-deps", "-T", "--entrypoint", "sh", "-v", f"{copy}:/copy", "master", "-c", script)


@fault("expire the log under a stopped applier", 120, "some")
def expire_log(stack, load, choose):
    """The log begins with an epoch start that lies behind what the applier has still to write."""
    service = choose.choice(("applier-1", "applier-2"))
    containers.compose("stop", "-t", "10", service)
    try:
        load.await_commits(COMMITS)
        offset = log.restart_capture(stack)
        log.delete_before(stack, offset)
    finally:
        containers.compose("start", service)
    return f"{service}, log begins at {offset}"
