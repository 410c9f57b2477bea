"""The servers that are compared, as the phases of the bench see them.

In:  the running stack with the replica of compose.yml. Out: positions, CPU times, contenders that can be stopped and started.
Must never: touch a service of another project, or leave a container paused: `close` wakes all.
"""

import contextlib
import os
import subprocess
import time
import urllib.request

import containers

OURS = ("capture", "kafka", "applier-1", "satellite-1")
IDLE = ("master", "kafka", "capture", "satellite-1", "applier-1", "satellite-2", "applier-2", "gate", "proxysql")
DUMP_THREADS = """SELECT PROCESSLIST_USER, THREAD_OS_ID FROM performance_schema.threads
    WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'"""
REPLICA_USER, CAPTURE_USER = "multimed_bench", "multimed_capture"
CATCH_UP_SECONDS = 300
HTTP_SECONDS = 5
SPARE_CONNECTIONS = 50


def followers(numbers):
    """The services of these satellites."""
    return [f"{what}-{number}" for number in numbers for what in ("applier", "satellite")]


def total(exposition, name):
    """The sum of a metric over its labels, in Prometheus' text format. name: with labels, as they are written there, only that series."""
    if "{" in name:
        return sum(float(line.split()[-1]) for line in exposition.splitlines() if line.startswith(f"{name} "))
    return sum(float(line.split()[-1]) for line in exposition.splitlines() if line.split("{")[0].split(" ")[0] == name)


def buckets(exposition, name):
    """{upper bound: how many values were not above it} of a histogram without labels, in Prometheus' text format."""
    begin = f'{name}_bucket{{le="'
    lines = [line.removeprefix(begin).split('"} ') for line in exposition.splitlines() if line.startswith(begin)]
    return {float(bound): float(count) for bound, count in lines}


class Stack:
    """servers: those that are asked where they are."""

    def __init__(self, servers=("master", "satellite-1", "replica")):
        self.docker = containers.DockerApi()
        self.services = containers.compose("ps", "--services").split()
        self.ids = {service: containers.container_of(service) for service in self.services}
        self._sessions = {service: containers.Session(self.ids[service]) for service in servers}
        self.uuid = self._sessions["master"].value("SELECT @@server_uuid")
        self._paused = set()

    def sql(self, service, text):
        return self._sessions[service].ask(text)

    def address(self, service):
        networks = self.docker.inspect(self.ids[service])["NetworkSettings"]["Networks"]
        return next(iter(networks.values()))["IPAddress"]

    def close(self):
        for service in list(self._paused):
            self.unpause(service)
        for session in self._sessions.values():
            session.close()

    # --- the native replica -------------------------------------------------------------------------------------

    def start_replication(self, password):
        """From the first transaction that the master's binlog has: the replica's data directory is empty."""
        same_cores = self.docker.inspect(self.ids["satellite-1"])["HostConfig"]["CpusetCpus"]
        if same_cores:
            subprocess.run(("docker", "update", "--cpuset-cpus", same_cores, self.ids["replica"]), check=True, stdout=subprocess.DEVNULL)
        self.sql(
            "master",
            f"DROP USER IF EXISTS {REPLICA_USER}@'%'; CREATE USER {REPLICA_USER}@'%' IDENTIFIED BY '{password}';"
            f" GRANT REPLICATION SLAVE ON *.* TO {REPLICA_USER}@'%'",
        )
        self.sql(
            "replica",
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='master', SOURCE_USER='{REPLICA_USER}',"
            f" SOURCE_PASSWORD='{password}', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA",
        )

    def leave_only_satellite_1(self):
        """One satellite against one replica: what serves reads, and further satellites, would only take CPU from both."""
        self._stop("proxysql", "gate", *self._further(2))

    def leave_two_satellites(self):
        self._stop(*self._further(3))

    def _further(self, first):
        """The services of the satellites from this number on."""
        return followers(number for number in range(first, len(self.services)) if f"satellite-{number}" in self.services)

    @staticmethod
    def _stop(*services):
        running = containers.compose("ps", "--services").split()
        unwanted = [service for service in services if service in running]
        if unwanted:
            containers.compose("stop", *unwanted)

    def start_satellites(self, count):
        """They clone themselves, and come back with another address. Returns when each serves."""
        containers.compose("start", *followers(range(2, count + 1)))
        deadline = time.monotonic() + CATCH_UP_SECONDS
        for service in (f"satellite-{number}" for number in range(2, count + 1)):
            while self.docker.inspect(self.ids[service])["State"]["Health"]["Status"] != "healthy":
                if time.monotonic() > deadline:
                    raise OSError(f"{service} does not serve after {CATCH_UP_SECONDS} s")
                time.sleep(0.5)
            self._sessions[service] = containers.Session(self.ids[service])

    def let_follow(self, count, most):
        """The first so many satellites follow the log; the others stand still."""
        for service in followers(range(1, count + 1)):
            self.unpause(service)
        for service in followers(range(count + 1, most + 1)):
            self.pause(service)

    def records(self):
        """(raw, all) records of transactions in the log."""
        text = self.metrics("capture")
        raw, rows = (total(text, f'multimed_capture_records_total{{kind="{kind}"}}') for kind in ("raw", "rows"))
        return raw, raw + rows

    # --- positions ----------------------------------------------------------------------------------------------

    def position(self, service="master"):
        """Transactions of the master that the server has executed. Only this bench writes, so they are numbered without gaps."""
        text = self._sessions[service].value("SELECT @@global.gtid_executed")
        part = next((part for part in text.replace("\\n", "").split(",") if part.strip().startswith(self.uuid)), "")
        return int(part.rpartition(":")[2].rpartition("-")[2] or 0)

    def await_room(self, service, connections, seconds=CATCH_UP_SECONDS):
        """Until the server can take so many connections more: those who were there before may still hold some."""
        ask = self._sessions[service].value
        limit, deadline = int(ask("SELECT @@max_connections")), time.monotonic() + seconds
        while int(ask("SELECT COUNT(*) FROM performance_schema.processlist")) + connections + SPARE_CONNECTIONS > limit:
            if time.monotonic() > deadline:
                raise OSError(f"{service} has no room for {connections} connections after {seconds} s")
            time.sleep(0.1)

    def await_position(self, service, number, seconds=CATCH_UP_SECONDS):
        """Returns when the server has executed the master's transactions up to this number."""
        answer = self._sessions[service].value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{self.uuid}:1-{number}', {seconds})") if number else "0"
        if answer != "0":
            raise OSError(f"{service} did not reach transaction {number} within {seconds} s")

    def await_captured(self, number):
        """Returns when the log has the master's transactions up to this number."""
        deadline = time.monotonic() + CATCH_UP_SECONDS
        while self.metric("capture", "multimed_capture_position_transactions") < number:
            if time.monotonic() > deadline:
                raise OSError(f"capture did not reach transaction {number} within {CATCH_UP_SECONDS} s")
            time.sleep(0.05)

    def metric(self, service, name):
        """The sum of a metric over its labels."""
        return total(self.metrics(service), name)

    def metrics(self, service):
        """All of a service, in Prometheus' text format."""
        with urllib.request.urlopen(f"http://{self.address(service)}:8080/metrics", timeout=HTTP_SECONDS) as answer:
            return answer.read().decode()

    # --- who runs -----------------------------------------------------------------------------------------------

    def pause(self, service):
        if service not in self._paused:
            self._paused.add(service)
            self.docker.pause(self.ids[service])

    def unpause(self, service):
        if service in self._paused:
            self.docker.unpause(self.ids[service])
            self._paused.discard(service)

    def stop(self, contender):
        """native: its two threads stop. ours: capture does (the rest then has nothing to do). applier: only that."""
        if contender == "native":
            self.sql("replica", "STOP REPLICA")
        else:
            self.pause({"ours": "capture", "applier": "applier-1"}[contender])

    def start(self, contender):
        if contender == "native":
            self.sql("replica", "START REPLICA")
        else:
            self.unpause({"ours": "capture", "applier": "applier-1"}[contender])

    @staticmethod
    def server_of(contender):
        return "replica" if contender == "native" else "satellite-1"

    @contextlib.contextmanager
    def decoder(self):
        """The lines of Debezium's engine alone, in a container of its own beside capture's."""
        name = f"{os.environ['COMPOSE_PROJECT_NAME']}-decode"
        process = subprocess.Popen(
            ("docker", "compose", "run", "--rm", "--no-deps", "-T", "--name", name, "capture", "decode"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield process.stdout
        finally:
            subprocess.run(("docker", "kill", name), check=False, capture_output=True)
            process.wait()

    # --- CPU ----------------------------------------------------------------------------------------------------

    def cpu(self, services):
        """{service: CPU seconds so far}"""
        return {service: self.docker.cpu_seconds(self.ids[service]) for service in services if service in self.ids}

    def dump_threads_cpu(self):
        """{native, ours: CPU seconds of the master's threads that send them the binlog}"""
        process = self.docker.inspect(self.ids["master"])["State"]["Pid"]
        threads = {"native": set(), "ours": set()}
        for user, thread in self.sql("master", DUMP_THREADS):
            if user in (REPLICA_USER, CAPTURE_USER):
                threads["native" if user == REPLICA_USER else "ours"].add(int(thread))
        return {name: containers.thread_cpu_seconds(process, inner) for name, inner in threads.items()}
