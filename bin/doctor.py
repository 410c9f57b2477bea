"""Gathers what `make doctor` judges (checks.py), and prints the findings.

usage: doctor.py   (bin/doctor sets the environment)

In:  this machine, Docker, the containers, MySQL in them, the gate's status page. Settings, as bin/doctor has them; SETTINGS_MISTAKES: a line for
     each mistake in them; JSON=1.
Out: a line for each check, a hint below what is not all right; exit status 1 if something is wrong.
Must never: change anything; wait for long for who does not answer; show a secret.
"""

import concurrent.futures
import contextlib
import ctypes
import dataclasses
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

import checks

ROOT = pathlib.Path(__file__).resolve().parent.parent
MYSQL = "mysql --defaults-file=/run/multimed/client.cnf --batch --skip-column-names"
ASK_S, PLAN_S = 10, 60
LOOK = {checks.OK: "✓", checks.WARNING: "!", checks.WRONG: "✗"}
# By the service that listens there.
PORTS = {
    "proxysql": "FRONT_PORT",
    "gate-port": "GATE_PORT",
    "gate": "STATUS_PORT",
    "prometheus": "PROMETHEUS_PORT",
    "grafana": "GRAFANA_PORT",
}
COLOURS = {checks.OK: "32", checks.WARNING: "33", checks.WRONG: "31"}
MASTER_QUERY = """
    SHOW GLOBAL VARIABLES WHERE Variable_name IN (%(variables)s);
    SELECT 'executed', @@GLOBAL.gtid_executed;
    SELECT 'bytes', SUM(FILE_SIZE) FROM information_schema.INNODB_TABLESPACES;
    SELECT 'channel', c.SERVICE_STATE, a.SERVICE_STATE, c.LAST_ERROR_MESSAGE FROM performance_schema.replication_connection_status c
      JOIN performance_schema.replication_applier_status a USING (CHANNEL_NAME) WHERE CHANNEL_NAME = 'adopt';
    SELECT 'privilege', REPLACE(GRANTEE, '''', ''), PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES
      WHERE REPLACE(GRANTEE, '''', '') IN (%(accounts)s);
    SELECT 'stranger', CONCAT(User, '@', Host) FROM mysql.user WHERE User IN ('', %(users)s) AND CONCAT(User, '@', Host) NOT IN ('@%%', %(accounts)s);
    SELECT 'stranger', CONCAT(User, '@', Host, ', not locked') FROM mysql.user WHERE User IN (%(locked)s) AND account_locked = 'N';
"""
# What says which version runs, by service.
VERSIONS = {
    "kafka": ("Kafka", r"ls /opt/kafka/lib /opt/kafka/libs 2> /dev/null | sed -nE 's/^kafka-clients-([0-9.]+)\.jar$/\1/p'"),
    "capture": ("Java", r"""java -version 2>&1 | sed -nE '1s/.*"([0-9.]+).*/\1/p'"""),
    "proxysql": ("ProxySQL", r"proxysql --version | sed -nE '1s/^ProxySQL version ([0-9.]+).*/\1/p'"),
}
# Of control groups v2 or v1: the limit, what is used, and what of that the kernel gives up at once.
ROOM = """
    df -B1 --output=fstype,size,used /var/lib/mysql | tail -n 1
    cd /sys/fs/cgroup
    cat memory.max 2> /dev/null || cat memory/memory.limit_in_bytes
    cat memory.current 2> /dev/null || cat memory/memory.usage_in_bytes
    cat memory.stat memory/memory.stat 2> /dev/null | sed -nE 's/^(total_)?inactive_file ([0-9]+)$/\\2/p' | tail -n 1
"""

# Of a server: the name and value of each of checks.BOUNDS; what mysqld may ask of malloc (bound_memory in mysql-master/lib.sh).
LIMITS = f"""
    {MYSQL} -e "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({", ".join(f"'{name}'" for name in checks.BOUNDS)})" || exit
    sed 's/.* /heap /' /run/multimed/bounded 2> /dev/null || true
"""


def run(*command, seconds=ASK_S, input=None):
    """(status, output, errors); all that it has started ends with it. A status of None: it did not answer in time, or is not there."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
        )
    except OSError as error:
        return None, "", str(error)
    try:
        out, errors = process.communicate(input or "", timeout=seconds)
        return process.returncode, out, errors
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, "", f"no answer within {seconds} s"


def within(container, script, input=None):
    """What a shell in the container prints; nothing if it fails. There, too, it ends in time."""
    status, out, _ = run("docker", "exec", "-i", container, "timeout", str(ASK_S - 2), "bash", "-c", script, input=input)
    return out if status == 0 else None


# --- host -------------------------------------------------------------------------------------------------------------


def host():
    facts = {}
    for name, read in {
        "aio": lambda: (kernel("fs/aio-nr"), kernel("fs/aio-max-nr")),
        "files": lambda: tuple(int(text("/proc/sys/fs/file-nr").split()[at]) for at in (0, 2)),
        "max_map_count": lambda: kernel("vm/max_map_count"),
        "huge_pages": lambda: re.search(r"\[(\w+)\]", text("/sys/kernel/mm/transparent_hugepage/enabled"))[1],
        "numa": lambda: (len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1, numa_balancing(), reclaims()),
        "swap": swap,
        "synchronised": synchronised,
        "clocksource": lambda: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }.items():
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
            facts[name] = read()
    return facts


def text(path):
    return pathlib.Path(path).read_text().strip()


def kernel(name):
    return int(text(f"/proc/sys/{name}"))


def numa_balancing():
    return kernel("kernel/numa_balancing") if os.path.exists("/proc/sys/kernel/numa_balancing") else 0


def reclaims():
    return kernel("vm/zone_reclaim_mode") if os.path.exists("/proc/sys/vm/zone_reclaim_mode") else 0


def swap():
    memory = dict(re.findall(r"^(\w+): +(\d+)", text("/proc/meminfo"), re.MULTILINE))
    total, free = int(memory["SwapTotal"]) << 10, int(memory["SwapFree"]) << 10
    return total, total - free, kernel("vm/swappiness")


def synchronised():
    """As the kernel says; adjtimex(2) with no modes only asks."""
    state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))
    return None if state < 0 else state != 5


def disk(directory):
    """Of the nearest directory above that is there."""
    place = pathlib.Path(directory)
    while not place.exists():
        place = place.parent
    usage = shutil.disk_usage(place)
    return usage.free, usage.total, str(directory)


# --- Docker -----------------------------------------------------------------------------------------------------------


def engine():
    status, out, errors = run("docker", "info", "--format", "{{json .}}")
    info = json.loads(out) if status == 0 and out.strip() else {}
    if not info.get("ServerVersion"):
        said = (info.get("ServerErrors") or errors.strip().splitlines() or ["no Docker engine answers"])[-1]
        return {"engine_error": said, "disk": disk("/var/lib/docker")}
    refused = [
        what for what, name in (("memory", "MemoryLimit"), ("cores", "CPUSet"), ("CPU shares", "CPUShares")) if info.get(name) is False
    ]
    found = {"version": info["ServerVersion"], "cgroups": info.get("CgroupVersion") or "1", "refused": refused}
    status, out, _ = run("docker", "compose", "version", "--short")
    return {"engine": found, "compose": out.strip() if status == 0 else None, "disk": disk(info["DockerRootDir"])}


def containers():
    """{service: what inspect says}, of this project alone."""
    label = f"label=com.docker.compose.project={os.environ['COMPOSE_PROJECT_NAME']}"
    _, ids, _ = run("docker", "ps", "-aq", "--filter", label, "--filter", "label=com.docker.compose.oneoff=False")
    if not ids.split():
        return {}
    _, out, _ = run("docker", "inspect", *ids.split())
    return {each["Config"]["Labels"]["com.docker.compose.service"]: each for each in json.loads(out or "[]")}


def container(inspected):
    state = inspected["State"]
    return {
        "status": state["Status"],
        "health": (state.get("Health") or {}).get("Status"),
        "oom": state["OOMKilled"],
        "code": state["ExitCode"],
        "restarts": inspected["RestartCount"],
        "ends": inspected["HostConfig"]["RestartPolicy"]["Name"] in ("", "no"),
    }


def image(inspected):
    """What one of ours is built on, as its Dockerfile says; another as it is called."""
    return inspected["Config"]["Labels"].get("multimed.base") or inspected["Config"]["Image"]


def services():
    """The names that Compose's files have; nothing where they can't be read."""
    status, out, _ = run("docker", "compose", "config", "--services")
    return out.split() if status == 0 else []


def ports(found):
    for name, each in sorted(found.items()):
        for published in filter(None, (each["NetworkSettings"].get("Ports") or {}).values()):
            yield from ((name, f"{port['HostIp']}:{port['HostPort']}") for port in published)
    for name, setting in (("gate-port", "GATE_PORT"), ("proxysql", "FRONT_PORT")):
        if name in found and found[name]["State"]["Running"]:
            yield name, f"{os.environ['BIND_ADDRESS']}:{os.environ[setting]}"


def taken(found, needed, settings):
    """The ports of services that do not run, where somebody answers: not ours. needed: services; as bin/up looks."""
    address = os.environ["BIND_ADDRESS"].strip("[]")
    address = {"0.0.0.0": "localhost", "::": "localhost"}.get(address, address)
    for service, name in PORTS.items():
        if name in settings and service in needed and not (service in found and found[service]["State"]["Running"]):
            with contextlib.suppress(OSError, ValueError), socket.create_connection((address, settings[name]), timeout=2):
                yield name, f"{os.environ['BIND_ADDRESS']}:{settings[name]}"


def plan():
    """(exit status, what would change). A status of None: it did not answer in time."""
    status, out, errors = run("bin/plan", seconds=PLAN_S)
    if status != 0:
        return status, errors.strip().splitlines()
    return 0, [line.strip() for line in out.rpartition("plan:\n")[2].splitlines() if line.strip()]


# --- in the containers ------------------------------------------------------------------------------------------------


def master(name):
    users = {account: account.partition("@")[0] for account in checks.PRIVILEGES}
    lists = {
        "variables": ("version", "binlog_expire_logs_seconds", "innodb_redo_log_capacity", *checks.REPLICATION),
        "accounts": checks.PRIVILEGES,
        "users": users.values(),
        "locked": [users[account] for account, needed in checks.PRIVILEGES.items() if needed == {"SYSTEM_USER"}],
    }
    out = within(name, MYSQL, MASTER_QUERY % {what: ", ".join(f"'{each}'" for each in each_of) for what, each_of in lists.items()})
    return out and parsed_master(out)


def parsed_master(out):
    found, privileges, strangers, channel = {}, {}, [], None
    # Only a newline ends a row: names and messages may hold what splitlines takes for one.
    for name, *values in (line.split("\t") for line in out.removesuffix("\n").split("\n")):
        if name == "privilege":
            privileges.setdefault(values[0], set()).add(values[1])
        elif name == "stranger":
            strangers.append(values[0])
        elif name == "channel":
            channel = tuple(values)
        else:
            found[name] = values[0] if values else ""
    # As a SELECT says them; SHOW has words.
    found["log_bin"] = {"ON": "1"}.get(found.get("log_bin"), found.get("log_bin"))
    return {
        "variables": found,
        "privileges": privileges,
        "strangers": strangers,
        "channel": channel,
        "transactions": transactions(found["executed"]),
        "bytes": int(found["bytes"]),
        "redo": int(found.get("innodb_redo_log_capacity", 0)),
    }


def transactions(gtid_set):
    """How many there are in it: u:1-9:11 has ten."""
    ranges = re.findall(r":(\d+)(?:-(\d+))?(?=[:,]|$)", re.sub(r"\s|\\n", "", gtid_set))
    return sum(int(last or first) - int(first) + 1 for first, last in ranges)


def room(name):
    out = within(name, ROOM)
    return out and parsed_room(out)


def parsed_room(out):
    kind, size, used, limit, memory, *inactive = out.split()
    limit = 0 if limit == "max" or int(limit) > 1 << 50 else int(limit)
    return {
        "tmpfs": (int(size), int(used)) if kind == "tmpfs" else None,
        "memory": (limit, int(memory) - int(inactive[0] if inactive else 0)) if limit else None,
    }


def bounds(name):
    out, found = within(name, LIMITS), room(name)
    return out and found and parsed_bounds(out, found)


def parsed_bounds(out, room):
    found = dict(line.split() for line in out.splitlines())
    tmpfs, limit = (room["tmpfs"] or (0, 0))[0], (room["memory"] or (0, 0))[0]
    told = {
        "limit": limit and limit - tmpfs,
        "tmpfs": tmpfs,
        "heap": int(found["heap"]) if "heap" in found else None,
        "global_connection_memory_tracking": found["global_connection_memory_tracking"] == "ON",
    }
    return {name: int(found[name]) for name in checks.BOUNDS if name not in told} | told


def life(name):
    """Since when a satellite serves, or why it can't (mysql-satellite/attempts.sh)."""
    return dict(line.split("=", 1) for line in (within(name, "cat /run/multimed/life") or "").splitlines())


def ready(name):
    return within(name, "health") is not None


def capture(name):
    metrics = within(name, r"""exec 3<> /dev/tcp/localhost/8080; printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3; cat <&3""")
    return {"ready": ready(name), "metrics": parsed_metrics(metrics or "")}


def parsed_metrics(page):
    """Of those without labels."""
    return {name: float(value) for name, value in re.findall(r"^([a-z_]+) ([-+.\deE]+)\r?$", page, re.MULTILINE)}


def status_page(path):
    url = f"http://{os.environ['BIND_ADDRESS']}:{os.environ['STATUS_PORT']}{path}"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, OSError, ValueError, http.client.HTTPException):
        return None


def servers():
    """As the gate lists them; nothing where somebody else answers."""
    found = json.loads(status_page("/servers") or "null")
    return found if isinstance(found, list) and all("role" in each for each in found) else None


def certificate():
    """Seconds until the gate's ends, or why nobody can say."""
    try:
        return seconds_left()
    except (OSError, ValueError, TypeError) as error:
        return str(error)


def seconds_left():
    """Asked as clients do: greeting, request for TLS, handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((os.environ["BIND_ADDRESS"].strip("[]"), int(os.environ["GATE_PORT"])), timeout=5) as plain:
        plain.recv(4096)
        # Packet 1 with 32 bytes: protocol 4.1, TLS and secure authentication; the longest packet; utf8mb4.
        plain.sendall(struct.pack("<IIIB23x", 32 | 1 << 24, 0x200 | 0x800 | 0x8000 | 0x80000, 1 << 24, 45))
        with context.wrap_socket(plain) as secured:
            return end_of(secured.getpeercert(binary_form=True)) - time.time()


def end_of(der):
    """The second of the two times that follow each other in a certificate; in seconds since 1970."""
    times = re.search(rb"(?:\x17\x0d\d{12}Z|\x18\x0f\d{14}Z)(?:\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z)", der)
    # Of two digits, years from 50 on are of the last century (RFC 5280).
    digits = (times[2] or (b"19" if times[1] >= b"50" else b"20") + times[1]).decode()
    return ssl.cert_time_to_seconds(time.strftime("%b %d %H:%M:%S %Y GMT", time.strptime(digits, "%Y%m%d%H%M%S")))


def verified():
    """What the last `make verify` ended with, and how many seconds ago; an empty one: there was none."""
    try:
        told = dict(line.split("=", 1) for line in text(ROOT / os.environ["LAYOUT_DIR"] / "gate/verify").splitlines())
        return {"status": int(told["status"]), "age": time.time() - int(told["at"])}
    except (OSError, ValueError, KeyError):
        return {}


def passwords():
    """Their age by their files; nobody reads them. Those of application users are not the stack's own."""
    directory = pathlib.Path(os.environ["SECRETS_DIR"])
    files = [file for file in directory.glob("*/*_password") if file.parent.name != "next"]
    with contextlib.suppress(OSError):
        ages = [time.time() - file.stat().st_mtime for file in files]
        return {"rotating": (directory / "next").exists(), "password_age": max(ages, default=None)}
    return {}


# --- all --------------------------------------------------------------------------------------------------------------


def numbers():
    """({setting: number} of those that are asked for here, a line for each that is none or too large). make plan checks all settings."""
    found, mistakes = {}, []
    observed = "observability" in os.environ.get("COMPOSE_PROFILES", "").split(",")
    ports = [port for service, port in PORTS.items() if observed or service not in ("prometheus", "grafana")]
    for name, default, most in (*((port, "", 65_535) for port in ports), ("LOG_RETENTION_HOURS", "24", 24 * 3650)):
        value = os.environ.get(name) or default
        if re.fullmatch("[0-9]{1,9}", value) and 1 <= int(value) <= most:
            found[name] = int(value)
        else:
            mistakes.append(f"{name}={value} is not a whole number from 1 to {most}")
    return found, mistakes


def gathered():
    facts = host() | engine()
    settings, mistakes = numbers()
    facts["mistakes"] = [line for line in os.environ.get("SETTINGS_MISTAKES", "").splitlines() if line][-5:] + mistakes
    facts["layout"] = (ROOT / os.environ.get("LAYOUT_FILE", "compose.layout.yml")).exists()
    facts["log_retention_hours"] = settings.get("LOG_RETENTION_HOURS")
    if not facts.get("engine"):
        return facts
    found = containers()
    facts["containers"] = {service: container(each) for service, each in found.items()}
    facts["images"] = {service: image(each) for service, each in found.items()}
    facts["services"] = services()
    facts["ports"] = list(ports(found))
    facts["taken"] = list(taken(found, facts["services"] or PORTS, settings))
    facts["verify"] = verified()
    questions = asked({service: each["Name"].lstrip("/") for service, each in found.items() if each["State"]["Running"]})
    if found and not facts["mistakes"]:
        questions["plan"] = plan
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        answers = {key: threads.submit(answered, question) for key, question in questions.items()}
    for key, answer in answers.items():
        if isinstance(key, tuple):
            facts.setdefault(key[0], {})[key[1]] = answer.result()
        else:
            facts[key] = answer.result()
    return facts | passwords()


def asked(names):
    """{fact: how to get it} of what runs; names: {service: container}."""
    questions = {
        "servers": servers,
        "metrics": lambda: parsed_metrics(status_page("/metrics") or ""),
        "certificate": certificate,
    }
    for service, name in names.items():
        if service == "master" or service.startswith("satellite-"):
            questions["bounds", service] = lambda name=name: bounds(name)
        if service.startswith("satellite-"):
            questions["rooms", service] = lambda name=name: room(name)
            questions["lives", service] = lambda name=name: life(name)
        elif service.startswith("applier-"):
            questions["appliers", service] = lambda name=name: ready(name)
    for service, fact, ask in (("master", "master", master), ("capture", "capture", capture)):
        if service in names:
            questions[fact] = lambda ask=ask, name=names[service]: ask(name)
    for service in VERSIONS.keys() & names.keys():
        what, command = VERSIONS[service]
        questions["versions", what] = lambda name=names[service], command=command: within(name, command).strip()
    if "kafka" in names:
        questions["kafka"] = lambda: within(names["kafka"], "exec 3<> /dev/tcp/localhost/9092") is not None
    return questions


def answered(question):
    """Nothing, where what comes is not what is expected: its check says what that means."""
    try:
        return question()
    except (OSError, ValueError, TypeError, KeyError, IndexError):
        return None


def printed(findings, coloured):
    group = None
    for each in findings:
        if each.group != group:
            group = each.group
            yield f"{group}"
        mark = f"\033[{COLOURS[each.state]}m{LOOK[each.state]}\033[0m" if coloured else LOOK[each.state]
        yield f"  {mark} {each.name}: {each.said}"
        if each.hint:
            yield f"      {each.hint}"
    count = {state: sum(each.state == state for each in findings) for state in LOOK}
    yield f"{count[checks.OK]} ok, {count[checks.WARNING]} warnings, {count[checks.WRONG]} wrong"


def main():
    findings = list(checks.findings(gathered()))
    if os.environ.get("JSON") == "1":
        print(json.dumps([dataclasses.asdict(each) for each in findings], indent=2))
    else:
        print(*printed(findings, sys.stdout.isatty() and not os.environ.get("NO_COLOR")), sep="\n")
    sys.exit(any(each.state == checks.WRONG for each in findings))


if __name__ == "__main__":
    main()
