"""What `make doctor` judges: pure functions from what was found to findings.

In: a dict of facts (doctor.py gathers them); what could not be asked is not in it, and its check then says so or is left out.
Out: findings: each one line, and a hint where it is not all right.
Must never: ask anybody anything.
"""

import re
from dataclasses import dataclass

OK, WARNING, WRONG = "ok", "warning", "wrong"
# What all tests have run with, as docs/limits.md says.
TESTED = {
    "MySQL": ("9.7.4",),
    "Docker": ("20.10",),
    "Compose": ("2.26",),
    "Kafka": ("4.3.1",),
    "Java": ("21",),
    "ProxySQL": ("2.7.1",),
}
# And in which images; none of a registry has run (docs/limits.md).
TESTED_IMAGES = {
    "master": "MySQL 9.7.4 of Debian's packages",
    "satellite": "MySQL 9.7.4 of Debian's packages",
    "kafka": "Kafka 4.3.1 of Maven's packages",
    "capture": "Java 21 of Debian's packages",
    "applier": "Java 21 of Debian's packages",
    "proxysql": "ProxySQL 2.7.1, built from source",
    "prometheus": "Prometheus of Debian's packages",
    "grafana": "no Grafana at all: only its dashboard's queries were asked",
}
# What capture refuses to do without (Master.requireSettings), and what the master's my.cnf says beside it.
REPLICATION = {
    "log_bin": "1",
    "gtid_mode": "ON",
    "enforce_gtid_consistency": "ON",
    "binlog_format": "ROW",
    "binlog_error_action": "ABORT_SERVER",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
    "sync_binlog": "1",
    "innodb_flush_log_at_trx_commit": "1",
}
# mysql-master/accounts.sh grants them. The latter are locked: satellites have accounts of these names.
PRIVILEGES = {
    "multimed_capture@%": {
        "CONNECTION_ADMIN",
        "SELECT",
        "SHOW DATABASES",
        "SHOW VIEW",
        "REPLICATION SLAVE",
        "REPLICATION CLIENT",
        "SESSION_VARIABLES_ADMIN",
        "SYSTEM_USER",
    },  # fmt: skip
    "multimed_clone@%": {"BACKUP_ADMIN", "SYSTEM_USER"},
    "multimed_gate@%": {"PROCESS", "SYSTEM_USER"},
    "multimed_monitor@%": {"REPLICATION CLIENT", "SYSTEM_USER"},
    "multimed_applier@%": {"SYSTEM_USER"},
    "multimed_local@localhost": {"SYSTEM_USER"},
}
GOOD_CLOCKS = {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen"}
# A satellite that is more behind is worth a look (roll waits for less than that, too), and one that is so much behind is wrong.
MUCH_LAG_MS, TOO_MUCH_LAG_MS = 1_000, 60_000
MANY_TRANSACTIONS = 10_000
# What is left of a retention, as a share of it, for who is behind.
LEAST_LEFT = 0.5
OLD_PASSWORD_DAYS = 365
CERTIFICATE_DAYS = 30
VERIFY_DAYS = 30
DAY = 86_400
KIB, MIB = 1 << 10, 1 << 20
# As mysql-master/lib.sh counts: mysqld without sessions, the kernel's part of its container; of each session beside its stack, the same two.
BASE, KERNEL = 464 * MIB, 32 * MIB
SESSION, SESSION_KERNEL = 208 * KIB, 40 * KIB
# What the worst case is made of, of one server.
BOUNDS = (
    "innodb_buffer_pool_size",
    "max_connections",
    "thread_stack",
    "temptable_max_ram",
    "global_connection_memory_limit",
    "global_connection_memory_tracking",
)


@dataclass(frozen=True)
class Finding:
    """said: the line; hint: what it means and how to mend it."""

    group: str
    name: str
    state: str
    said: str
    hint: str = ""


def ok(name, said):
    return name, OK, said, ""


def warning(name, said, hint):
    return name, WARNING, said, hint


def wrong(name, said, hint):
    return name, WRONG, said, hint


# --- host -------------------------------------------------------------------------------------------------------------


def asynchronous_io(facts):
    used, most = facts["aio"]
    if used > most * 0.8:
        yield warning(
            "asynchronous I/O",
            f"{used} of {most} requests are taken (fs.aio-max-nr)",
            "The next mysqld may not start, or reads and writes its files one at a time: sysctl -w fs.aio-max-nr=1048576",
        )
    else:
        yield ok("asynchronous I/O", f"{used} of {most} requests are taken")


def open_files(facts):
    used, most = facts["files"]
    if used > most * 0.8:
        yield warning(
            "open files",
            f"{used} of {most} are open (fs.file-max)",
            "Connections and tables need more of them: sysctl -w fs.file-max with a larger number",
        )
    else:
        yield ok("open files", f"{used} of {most} are open")


def memory_maps(facts):
    if facts["max_map_count"] < 65_530:
        yield warning(
            "memory maps",
            f"vm.max_map_count is {facts['max_map_count']}",
            "Kafka maps two files for each segment of its log: sysctl -w vm.max_map_count=65530",
        )
    else:
        yield ok("memory maps", f"up to {facts['max_map_count']} a process")


def huge_pages(facts):
    if facts["huge_pages"] == "always":
        yield warning(
            "transparent huge pages",
            "are given to everybody (always)",
            "The kernel stops servers for moments to make them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
    else:
        yield ok("transparent huge pages", facts["huge_pages"])


def numa(facts):
    nodes, balancing, reclaim = facts["numa"]
    if nodes > 1 and balancing:
        yield warning(
            "NUMA",
            f"the kernel moves memory between {nodes} nodes by itself (kernel.numa_balancing)",
            "Servers here have nodes of their own, and pay for the looking: sysctl -w kernel.numa_balancing=0",
        )
    if reclaim:
        yield warning(
            "NUMA",
            f"vm.zone_reclaim_mode is {reclaim}",
            "A full node drops what it has cached instead of using another's memory: sysctl -w vm.zone_reclaim_mode=0",
        )
    if not reclaim and (nodes == 1 or not balancing):
        yield ok("NUMA", f"{nodes} node{'s' if nodes > 1 else ''}")


def swap(facts):
    total, used, swappiness = facts["swap"]
    if used > 64 * MIB:
        yield warning(
            "swap",
            f"{used // MIB} MiB are in use",
            "A satellite that is swapped is no longer in memory: give servers less (multimed.yml), then swapoff -a && swapon -a",
        )
    elif total and swappiness > 10:
        yield warning(
            "swap",
            f"vm.swappiness is {swappiness}",
            "The kernel may swap servers out while it still caches files: sysctl -w vm.swappiness=1",
        )
    else:
        yield ok("swap", "not in use" if total else "there is none")


def disk(facts):
    free, size, where = facts["disk"]
    said = f"{free >> 30} of {size >> 30} GiB are free in {where}"
    hint = "The master's data, its binlog and the log are there; without room writes stop: make room (docker system df), or move it"
    if free < size * 0.05 or free < 1 << 30:
        yield wrong("disk", said, hint)
    elif free < size * 0.15:
        yield warning("disk", said, hint)
    else:
        yield ok("disk", said)


def clock(facts):
    if facts.get("synchronised") is False:
        yield warning(
            "clock",
            "it is not synchronised",
            "Lag, the log's retention and certificates go by the clock: install and start chrony, or another time service",
        )
    elif facts.get("synchronised"):
        yield ok("clock", "synchronised")
    source = facts.get("clocksource")
    if source and source not in GOOD_CLOCKS:
        yield warning(
            "clock source",
            f"{source}",
            "Asking for the time is a system call there, and servers do it for each statement: see why the kernel left tsc (dmesg | grep -i tsc)",
        )
    elif source:
        yield ok("clock source", source)


# --- engine -----------------------------------------------------------------------------------------------------------


def engine(facts):
    if facts.get("engine") is None:
        yield wrong("engine", facts.get("engine_error") or "no Docker engine answers", "make up installs and starts one, as root")
        return
    yield version("Docker", facts["engine"]["version"])
    if facts.get("compose"):
        yield version("Compose", facts["compose"])
    else:
        yield wrong("Compose", "there is no docker compose", "Compose v2 is needed: make up installs it")
    yield ok("control groups", f"v{facts['engine']['cgroups']}")
    refused = facts["engine"].get("refused") or []
    if refused:
        yield warning(
            "limits", f"refused here: {', '.join(refused)}", "Servers can't get cores or memory of their own: enable these controllers"
        )
    else:
        yield ok("limits", "cores and memory can be limited")


def version(what, found):
    number = re.match(r"[\d.]*\d", found)
    number = number[0] if number else found
    if any(number == each or number.startswith(each + ".") for each in TESTED[what]):
        return ok(f"{what} version", number)
    return warning(
        f"{what} version",
        f"{number}; tests ran with {', '.join(TESTED[what])}",
        "Nothing is known against it: try it with make test before you rely on it",
    )


# --- layout -----------------------------------------------------------------------------------------------------------


def layout(facts):
    for mistake in facts.get("mistakes") or ():
        yield wrong("settings", mistake, "Correct multimed.yml or .env: make plan names all mistakes")
    if not facts.get("mistakes"):
        yield ok("settings", "multimed.yml and .env can be read")
    if facts.get("layout") is False:
        yield warning(
            "layout",
            "it is not there (compose.layout.yml)",
            "Without it docker compose up deals the cores by itself, and multimed.yml is not heeded: make layout",
        )
    plan = facts.get("plan")
    if plan is None:
        return
    status, said = plan
    if status is None:
        yield warning("plan", said[-1], "The machine is busy, or a server that was asked for its sizes hangs: make plan")
    elif status != 0:
        yield wrong(
            "plan", said[-1] if said else f"ended with {status}", "What multimed.yml says can't be had on this machine: make plan says why"
        )
    elif said == ["nothing changes"]:
        yield ok("plan", "the stack is as multimed.yml and .env say")
    else:
        yield warning("plan", f"make up would change: {'; '.join(said)}", "make plan says what that costs; make up does it")


# --- containers -------------------------------------------------------------------------------------------------------


def containers(facts):
    found = facts.get("containers")
    if not found:
        yield wrong("containers", "there are none", "The stack was never started, or removed: make up")
        return
    bad = [finding for name, each in sorted(found.items()) for finding in container(name, each)]
    yield from bad
    absent = sorted(set(facts.get("services") or ()) - found.keys())
    if absent:
        yield wrong("containers", f"not there: {', '.join(absent)}", "make up starts them")
    if not bad and not absent:
        yield ok("containers", f"{len(found)} run and are healthy")


def images(facts):
    """Those that we have not built ourselves, or that ours are built on; each is named once."""
    strange = {}
    for service, base in sorted((facts.get("images") or {}).items()):
        kind = re.sub(r"-\d+$", "", service)
        if kind in TESTED_IMAGES and not re.search(r"(^|/)multimed/", base):
            strange.setdefault(base, kind)
    for base, kind in strange.items():
        yield warning(
            "image",
            f"{base} was never run by this project's tests; they ran with {TESTED_IMAGES[kind]}",
            "What differs in it was read, if at all (docs/limits.md): try with it what you need before you rely on it",
        )
    if facts.get("images") and not strange:
        yield ok("images", "as tests have run them")
    for what, found in sorted((facts.get("versions") or {}).items()):
        if found:
            yield version(what, found)


def taken_ports(facts):
    """Of what does not run; of what runs, ours answer there."""
    for name, address in facts.get("taken") or ():
        hint = f"make up can't start what listens there: ss -ltnp says who has it; end that, or another {name} in .env"
        yield wrong("ports", f"{name}: {address} is taken by somebody else", hint)
    if facts.get("taken") == []:
        yield ok("ports", "nobody else has one that the stack needs")


def container(name, found):
    look = f"Look at: make logs SERVER={name}"
    if found["status"] == "exited" and found.get("ends"):
        if found["code"]:
            yield wrong(name, f"ended with status {found['code']}", look)
        return
    if found["status"] != "running":
        mend = f"docker compose unpause {name}" if found["status"] == "paused" else "make up starts it"
        code = f", status {found['code']}" if found["code"] else ""
        yield wrong(name, f"is {found['status']}{code}", f"{mend}. {look}")
    elif found.get("health") not in (None, "healthy"):
        state = wrong if found["health"] == "unhealthy" else warning
        yield state(name, f"is {found['health']}", look)
    if found.get("oom"):
        yield wrong(
            name,
            "was ended for want of memory",
            f"It needs more than its limit: make resize SERVER={name} MEMORY=…, or its setting in .env",
        )
    if found.get("restarts", 0) > 2:
        yield warning(name, f"was restarted {found['restarts']} times by Docker", f"It fails again and again. {look}")


# --- master -----------------------------------------------------------------------------------------------------------


def master(facts):
    found = facts.get("master")
    if found is None:
        yield wrong("master", "MySQL does not answer", "No writes now, and no strong reads: make logs SERVER=master")
        return
    variables = found["variables"]
    yield version("MySQL", variables["version"])
    yield from settings(variables)
    yield from privileges(found["privileges"])
    yield from strangers(found["strangers"])
    yield binlog_retention(variables, worst_lag_ms(facts))
    yield from following(found["channel"])


def following(channel):
    """channel: states of its receiver and its applier, and the receiver's error; None: our master follows nobody (make adopt)."""
    if channel is None:
        return
    receiver, applier, error = channel
    if (receiver, applier) == ("ON", "ON"):
        yield ok("the old server", "is followed, and our master takes no other writes until make cutover")
    else:
        said = f"is not followed: receiver {receiver}, applier {applier} {error}".strip()
        yield wrong("the old server", said, "make adopt STATUS=1 says why; docs/adopt.md (Follow) what then")


def settings(variables):
    other = [f"{name}={variables.get(name)} (needed: {wanted})" for name, wanted in REPLICATION.items() if variables.get(name) != wanted]
    if other:
        yield wrong(
            "replication settings",
            ", ".join(other),
            "Capture refuses, or satellites get less than the master: mysql-master/conf.d, then restart it",
        )
    else:
        yield ok("replication settings", "as capture needs them")


def privileges(found):
    """found: {account: privileges}."""
    for account, needed in PRIVILEGES.items():
        lacking = ", ".join(sorted(needed - found.get(account, set())))
        if account not in found:
            yield wrong(
                "accounts", f"{account} is not there", "A part of the stack can't log in, or a client could take the name: make up makes it"
            )
        elif lacking == "SYSTEM_USER":
            yield wrong("accounts", f"{account} lacks {lacking}", "Who may CREATE USER can change it: make up protects it")
        elif lacking:
            name, _, host = account.partition("@")
            yield wrong("accounts", f"{account} lacks {lacking}", f"GRANT {lacking} ON *.* TO '{name}'@'{host}'")
    if all(needed <= found.get(account, set()) for account, needed in PRIVILEGES.items()):
        yield ok("accounts", "have the privileges that they need")


def strangers(found):
    """found: accounts that MySQL may take for one of the stack's, by their host or since they have no name."""
    if found:
        yield wrong(
            "other accounts",
            f"stand in the way of the stack's: {', '.join(found)}",
            "MySQL prefers the more specific host, so parts of the stack can't log in: DROP USER, and ask who made them",
        )


def binlog_retention(variables, lag_ms):
    kept = int(variables["binlog_expire_logs_seconds"])
    if kept == 0:
        return ok("binlog retention", "nothing is purged by itself")
    if lag_ms is not None and lag_ms / 1000 > kept * (1 - LEAST_LEFT):
        return wrong("binlog retention", f"{kept} s, and the slowest is {lag_ms // 1000} s behind", PURGED)
    if kept < DAY:
        return warning("binlog retention", f"{kept} s", PURGED)
    return ok("binlog retention", f"{kept // 3600} h")


PURGED = (
    "What is purged before capture has read it makes satellites clone again: a larger binlog_expire_logs_seconds in mysql-master/conf.d, "
    "and BINLOG_RETENTION_SIZE"
)


def worst_lag_ms(facts):
    lags = [each["lag_ms"] for each in facts.get("servers") or () if each["role"] == "satellite" and each["lag_ms"] is not None]
    return max(lags, default=None)


# --- log --------------------------------------------------------------------------------------------------------------


def log(facts):
    if facts.get("kafka"):
        yield ok("Kafka", "its port answers")
    else:
        yield wrong(
            "Kafka", "its port does not answer", "Satellites get transactions from capture alone, if at all: make logs SERVER=kafka"
        )
    yield from capture(facts)
    hours, lag_ms = facts["log_retention_hours"], worst_lag_ms(facts)
    if hours is None or lag_ms is None:
        return
    kept = hours * 3600
    said = f"{kept // 3600} h; the slowest satellite is {lag_ms / 1000:.1f} s behind"
    if lag_ms / 1000 > kept * (1 - LEAST_LEFT):
        yield wrong(
            "log retention",
            said,
            "What the log drops before it is applied makes the satellite clone again: mend its lag, or LOG_RETENTION_HOURS and LOG_RETENTION_SIZE",
        )
    else:
        yield ok("log retention", said)


def capture(facts):
    found = facts.get("capture")
    if found is None or not found["ready"]:
        yield wrong("capture", "is not ready", "Satellites do not move, strong reads go to the master: make logs SERVER=capture")
        return
    metrics = found["metrics"]
    behind = None
    if facts.get("master") and "multimed_capture_position_transactions" in metrics:
        behind = max(0, facts["master"]["transactions"] - int(metrics["multimed_capture_position_transactions"]))
    live = int(metrics.get("multimed_capture_live_readers", 0))
    said = f"{'lag unknown' if behind is None else f'{behind} transactions behind'}, {live} appliers read from it directly"
    if behind and behind > MANY_TRANSACTIONS:
        yield warning("capture", said, "It does not keep up with the writes: more cores (make resize SERVER=log), or smaller bursts")
    else:
        yield ok("capture", said)


# --- satellites -------------------------------------------------------------------------------------------------------


def satellites(facts):
    servers = {each["name"]: each for each in facts.get("servers") or () if each["role"] == "satellite"}
    rooms = facts.get("rooms") or {}
    ready = facts.get("appliers") or {}
    if not servers and not rooms:
        yield wrong("satellites", "none is known", "All reads run on the master: make up")
    for name in sorted(servers.keys() | rooms.keys(), key=natural):
        yield from satellite(name, servers.get(name), facts)
        applier = name.replace("satellite", "applier")
        if ready.get(applier) is False:
            yield wrong(applier, "is not ready", f"{name} does not move, its reads wait or go elsewhere: make logs SERVER={applier}")
        yield from room(name, rooms.get(name), facts.get("master"))


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def satellite(name, server, facts):
    look = f"make logs SERVER={name}"
    life = (facts.get("lives") or {}).get(name) or {}
    failing = life.get("failing")
    if server is None:
        if facts.get("servers"):
            yield warning(
                name, "the gate does not know it", f"Somebody has removed it: docker compose exec -T gate gtid-gate add {name}:3306"
            )
    elif server["state"] == "down" and failing:
        when = f"{life['failures']} attempts have failed; docs/operations.md (A satellite that can't begin) says what to do"
        yield wrong(name, f"can't begin to serve: {failing}", when)
    elif server["state"] == "down":
        yield wrong(name, "is down", f"It clones, or does not answer; the others take its reads: {look}")
    elif server["state"] == "draining":
        yield warning(name, "is drained", f"It gets no reads: docker compose exec -T gate gtid-gate undrain {name}")
    elif server["lag_ms"] is None:
        yield warning(name, "its lag is unknown", f"The gate has not heard from it: {look}")
    else:
        said = f"{server['state']}, {server['lag_ms']} ms and {server['lag_transactions']} transactions behind"
        hint = f"Strong reads wait for it, or go elsewhere. Its applier: make logs SERVER={name.replace('satellite', 'applier')}"
        state = wrong if server["lag_ms"] > TOO_MUCH_LAG_MS else warning
        yield state(name, said, hint) if server["lag_ms"] > MUCH_LAG_MS else ok(name, said)


def room(name, found, master):
    """found: of its container; nothing: it did not answer."""
    if found is None:
        yield wrong(f"{name} room", "its container does not answer", f"It is stopped or hangs: docker compose ps, make logs SERVER={name}")
        return
    mend = f"make resize SERVER={name} MEMORY=…"
    if found.get("tmpfs"):
        size, used = found["tmpfs"]
        needed = master["bytes"] + master["redo"] if master else 0
        said = f"tmpfs {used // MIB} of {size // MIB} MiB"
        if used > size * 0.9:
            yield wrong(f"{name} tmpfs", said, f"When it is full the satellite fails and clones again: {mend}")
        elif needed > size:
            yield wrong(
                f"{name} tmpfs", f"{said}; a clone asks for {needed // MIB} MiB", f"After its next restart it could not clone: {mend}"
            )
        elif max(used, needed) > size * 0.75:
            yield warning(f"{name} tmpfs", f"{said}; a clone asks for {needed // MIB} MiB", f"There is little left to grow: {mend}")
        else:
            yield ok(f"{name} tmpfs", said)
    if found.get("memory"):
        limit, used = found["memory"]
        said = f"{used // MIB} of {limit // MIB} MiB"
        if used > limit * 0.95:
            yield warning(f"{name} memory", said, f"At the limit the kernel ends its mysqld: {mend}")
        else:
            yield ok(f"{name} memory", said)


# --- memory ------------------------------------------------------------------------------------------------------------


def memory(facts):
    for name, found in sorted((facts.get("bounds") or {}).items(), key=lambda each: natural(each[0])):
        if found:
            yield bounds(f"{name} worst case", name, found)


def bounds(title, name, found):
    """found: BOUNDS, limit (of the container, without its tmpfs; 0: none), tmpfs, and heap (what mysqld may ask of malloc; None: anything)."""
    limit, pool, sessions = found["limit"], found["innodb_buffer_pool_size"], found["max_connections"]
    if not limit:
        return warning(
            title, "its container has no limit of memory", "What its sessions take, others lack: memory in multimed.yml, then make up"
        )
    beside = pool + pool // 16 + found["temptable_max_ram"] + KERNEL + sessions * (found["thread_stack"] + SESSION_KERNEL)
    heap = BASE + sessions * SESSION + found["global_connection_memory_limit"]
    asked = found["temptable_max_ram"] + found["global_connection_memory_limit"]
    said = f"{(beside + heap) // MIB} of {limit // MIB} MiB: {sessions} sessions, of which those that ask take {asked // MIB} MiB"
    if not found["global_connection_memory_tracking"]:
        return wrong(title, UNBOUNDED, f"Take global_connection_memory_tracking out of conf.d, then docker compose restart {name}")
    if found["heap"] and beside + heap > limit:
        return too_much(title, said, name, found, beside + heap)
    if not found["heap"] or beside + found["heap"] > limit:
        return wrong(title, UNBOUNDED, f"Its memory or its image was another one when it started: docker compose restart {name}")
    if found["heap"] < heap:
        return warning(
            title,
            f"{said}; when it started they were to take less, and MySQL refuses them more",
            f"When a restart suits: docker compose restart {name}",
        )
    return ok(title, said)


UNBOUNDED = "nothing bounds what its sessions take: any account can have its mysqld killed"


def too_much(title, said, name, found, worst):
    limit, pool, sessions = found["limit"], found["innodb_buffer_pool_size"], found["max_connections"]
    each = found["thread_stack"] + SESSION + SESSION_KERNEL
    fits = max(0, (limit - worst + sessions * each) // each)
    memory = -(-(worst + found["tmpfs"]) // (128 * MIB)) * 128
    return warning(
        title,
        said,
        f"If all ask at once, it refuses them, or is killed: make resize SERVER={name} MEMORY={memory}m BUFFER_POOL={pool // MIB}m, "
        f"or in its conf.d smaller ones{f' (max_connections = {fits})' if fits else ''} of: {', '.join(BOUNDS[1:5])}",
    )


# --- gate -------------------------------------------------------------------------------------------------------------


def gate(facts):
    servers, metrics = facts.get("servers"), facts.get("metrics") or {}
    if servers is None:
        yield wrong("gate", "it does not answer on its status port", "Clients at its port get nothing: make logs SERVER=gate")
        return
    up = sum(each["state"] == "up" for each in servers)
    down = [each["name"] for each in servers if each["state"] == "down"]
    if down:
        yield wrong(
            "servers",
            f"down, as the gate sees it: {', '.join(down)}",
            "Their reads run elsewhere; without the master nothing is written: make status",
        )
    else:
        yield ok("servers", f"{up} of {len(servers)} up")
    for name, what, mend in (
        (
            "gtid_gate_fallback_rejections_total",
            "reads refused since its start: the master had enough (GATE_FALLBACK_LIMIT)",
            "Satellites lag or are down: make status",
        ),
        (
            "gtid_gate_wait_errors_total",
            "reads refused since its start: no satellite was fresh in time (GATE_AFTER_WAIT=error)",
            "Satellites lag: make status",
        ),
    ):
        if metrics.get(name):
            yield warning("refusals", f"{int(metrics[name])} {what}", mend)
    if not metrics.get("gtid_gate_fallback_rejections_total") and not metrics.get("gtid_gate_wait_errors_total"):
        yield ok("refusals", f"none; {int(metrics.get('gtid_gate_fallbacks_total', 0))} reads fell back on the master since its start")
    if metrics.get("gtid_gate_table_stream_up") == 0:
        yield warning(
            "table stream", "the gate does not hear from capture", "Strong reads wait for all that the master has: make logs SERVER=capture"
        )
    if facts.get("certificate") is not None:
        yield certificate(facts["certificate"])


def certificate(left):
    """left: seconds until it ends; a text: why nobody can say."""
    if isinstance(left, str):
        return warning("TLS certificate", f"the gate's port gives none: {left}", "Clients with TLS can't connect: make logs SERVER=gate")
    days = int(left // DAY)
    hint = "Clients that verify it can't connect then: a new file for GATE_TLS_CERT_FILE, or restart the gate if it made its own"
    if left <= 0:
        return wrong("TLS certificate", "it has expired", hint)
    if days < CERTIFICATE_DAYS:
        return warning("TLS certificate", f"it ends in {days} days", hint)
    return ok("TLS certificate", f"valid for {days} days")


def verify(facts):
    found = facts.get("verify")
    if found is None:
        return
    prove = "make verify proves that the log has every transaction and each satellite every row, while clients go on"
    if not found:
        yield warning("last verify", "there was none", prove)
        return
    status, days = found["status"], int(found["age"] // DAY)
    when = f"{days} days ago" if days else "within the last day"
    if status == 1:
        yield wrong(
            "last verify", f"found something wrong, {when}", "docs/monitoring.md (VerifyFailed) says what to do; then make verify again"
        )
    elif status:
        yield warning("last verify", f"could not prove everything, {when}", "A server was out of reach, or too busy: make verify again")
    elif days > VERIFY_DAYS:
        yield warning("last verify", f"every check held, {when}", f"That is long ago: {prove}")
    else:
        yield ok("last verify", f"every check held, {when}")


def passwords(facts):
    if facts.get("rotating"):
        yield warning("passwords", "make rotate has begun and not ended", "Old passwords still work; make rotate goes on")
    age = facts.get("password_age")
    if age is None:
        return
    said = f"the oldest is {int(age // DAY)} days old"
    if age > OLD_PASSWORD_DAYS * DAY:
        yield warning("password files", said, "make rotate renews all of them while clients go on")
    else:
        yield ok("password files", said)


# --- network ----------------------------------------------------------------------------------------------------------


def network(facts):
    open_ = [f"{what} at {address}" for what, address in facts.get("ports") or () if not is_loopback(address)]
    if open_:
        yield warning(
            "published ports",
            ", ".join(open_),
            "Others than this machine reach them. If that is wanted: docs/security.md says what to mind; else BIND_ADDRESS=127.0.0.1",
        )
    elif facts.get("ports"):
        yield ok("published ports", "on loopback only")


def is_loopback(address):
    return bool(re.match(r"127\.|\[?::1\]?(:|$)|localhost", address))


# --- all --------------------------------------------------------------------------------------------------------------

# Checks of one fact of the host: without it (another kernel) there is nothing to say.
ONE_FACT = {
    asynchronous_io: "aio",
    open_files: "files",
    memory_maps: "max_map_count",
    huge_pages: "huge_pages",
    numa: "numa",
    swap: "swap",
    disk: "disk",
}
ALWAYS = {"host": (*ONE_FACT, clock), "engine": (engine,), "layout": (layout,)}
WITH_ENGINE = {"containers": (containers, images, taken_ports)}
WITH_STACK = {
    "master": (master,),
    "log": (log,),
    "satellites": (satellites,),
    "memory": (memory,),
    "gate": (gate, verify, passwords),
    "network": (network,),
}


def findings(facts):
    """In the order of the groups. Without an engine, or a container that runs, what needs them is left out: the one finding says what to do."""
    groups = dict(ALWAYS)
    if facts.get("engine"):
        groups |= WITH_ENGINE
        if any(each["status"] != "exited" for each in (facts.get("containers") or {}).values()):
            groups |= WITH_STACK
    for group, checks in groups.items():
        for check in checks:
            if check not in ONE_FACT or facts.get(ONE_FACT[check]) is not None:
                yield from (Finding(group, *found) for found in check(facts))
