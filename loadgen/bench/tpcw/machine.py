"""What this machine is, and what each server was set to: a figure without them says nothing.

In:  /proc, /sys, the running stack. Out: texts by name; {"cores", "memory"} for the contenders. Must never: tell a name, an address or a
password of this machine.
"""

import os
import pathlib
import platform
import re
import subprocess
import time

import process
from tpcw import override

# Shown even where they are MySQL's defaults: what a reader asks for first.
ALWAYS = (
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_adaptive_hash_index",
    "innodb_thread_concurrency",
    "log_bin",
    "max_connections",
    "performance_schema",
    "read_only",
    "table_open_cache",
    "thread_cache_size",
    "transaction_isolation",
    "version",
)
OF_REPLICAS = ("replica_parallel_workers", "replica_preserve_commit_order")
HIDDEN = ("report_host", "pid_file", "socket", "init_file", "datadir", "log_error", "admin_address")
VARIABLES = """SELECT g.VARIABLE_NAME, g.VARIABLE_VALUE FROM performance_schema.global_variables g
    JOIN performance_schema.variables_info i USING (VARIABLE_NAME)
    WHERE (i.VARIABLE_SOURCE <> 'COMPILED' OR g.VARIABLE_NAME IN ({always})) AND g.VARIABLE_NAME NOT IN ({hidden}) ORDER BY 1"""


def cores():
    """Those that this process may use, as a list like 0-3,8."""
    numbers, parts = sorted(os.sched_getaffinity(0)), []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def online():
    """The numbers of all cores, also of those that are isolated for the servers; which of them may be used, layout knows."""
    return process.cores_in(pathlib.Path("/sys/devices/system/cpu/online").read_text().strip())


def memory():
    """Bytes."""
    return int(re.search(r"^MemTotal:\s+(\d+) kB$", pathlib.Path("/proc/meminfo").read_text(), re.MULTILINE)[1]) * 1024


def processor():
    found = re.search(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def numa_nodes():
    """{node: its cores}"""
    folders = pathlib.Path("/sys/devices/system/node").glob("node[0-9]*")
    return {folder.name: (folder / "cpulist").read_text().strip() for folder in sorted(folders)}


def system():
    names = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', pathlib.Path("/etc/os-release").read_text(), re.MULTILINE))
    return names.get("PRETTY_NAME", platform.system())


def said_by(*command):
    """What a program says about itself; "-" if it does not."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() or "-"
    except (OSError, subprocess.CalledProcessError):
        return "-"


def facts(settings):
    nodes = numa_nodes()
    return {
        "measured on": time.strftime("%Y-%m-%d", time.gmtime()),
        "Multimed": os.environ.get("MULTIMED_VERSION") or "-",
        "processor": processor(),
        "cores of the machine": str(os.cpu_count()),
        "cores of the servers": settings.cpus or cores(),
        "cores of the load": settings.load_cpus or "the same",
        "NUMA nodes": ", ".join(f"{name}: {cpus}" for name, cpus in nodes.items()) or "-",
        "memory": f"{memory() / (1 << 30):.1f} GiB",
        "operating system": system(),
        "kernel": platform.release(),
        "Docker": said_by("docker", "version", "--format", "{{.Server.Version}}"),
        "sysbench": said_by("sysbench", "--version"),
    }


def quoted(names):
    return ",".join(f"'{name}'" for name in names)


def server_settings(stack, contender):
    """{service: {name: value}}: its cores, its memory; of MySQL every variable that is not the default, and some that are."""
    always = ALWAYS + (OF_REPLICAS if contender.kind == "replicas" else ())
    found = {}
    for service in override.services(contender):
        limits = stack.docker.inspect(stack.ids[service])["HostConfig"]
        found[service] = {"cores (cpuset)": limits["CpusetCpus"] or "all", "memory limit, MiB": str(limits["Memory"] >> 20)}
        if service in override.servers(contender):
            rows = stack.sql(service, VARIABLES.format(always=quoted(always), hidden=quoted(HIDDEN)))
            found[service].update((row[0], row[1] if len(row) > 1 else "") for row in rows)
    return found
