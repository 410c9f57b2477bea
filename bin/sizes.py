"""The sizes of the master and of satellites: what a configuration says, what the server says, and how it gets others while it runs.

They are three: the container's memory, the buffer pool, and the tmpfs of a satellite whose data is in memory.
Must never: let the latter two be more than the memory.
"""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

# Whose sizes change while it runs, and where each says how large its buffer pool is.
POOLS = {"master": "MASTER_BUFFER_POOL", "satellite": "SATELLITE_BUFFER_POOL"}
DATA = "/var/lib/mysql"
# Where the entrypoints look for a buffer pool that has become another one: it goes with the container.
RESIZED = "/var/lib/multimed/buffer_pool"
# A buffer pool grows and shrinks by so much at a time: InnoDB lets nobody read while it adds memory.
STEP = 512 << 20
STEP_PAUSE_S = 0.5
# When the limit of private memory becomes smaller, so much is left to a mysqld that has more already.
LEAST_LEFT = 64 << 20
CLIENT = "mysql --defaults-file=/run/multimed/client.cnf --batch --skip-column-names"


@dataclass(frozen=True)
class Sizes:
    """In bytes. tmpfs: 0 where it is not ours to say. unit: buffer pools are rounded up to multiples of it."""

    memory: int
    pool: int
    tmpfs: int
    unit: int = 1

    def differences(self, want):
        """(part, now, wanted) of all that differ."""
        found = ((part, getattr(self, part), getattr(want, part)) for part in ("memory", "pool", "tmpfs"))
        return [(part, now, then) for part, now, then in found if then and not then <= now < then + (self.unit if part == "pool" else 1)]


def pool_of(service):
    return POOLS.get(service.partition("-")[0])


def of(service, config):
    """What it is to have; nothing where sizes do not change while it runs."""
    pool = config and (config.get("environment") or {}).get(pool_of(service))
    if not pool or not config.get("mem_limit"):
        return None
    tmpfs = next(
        (match[1] for each in config.get("tmpfs") or [] if (match := re.search(rf"^{DATA}:.*?size=(\d+[kmgKMG]?)(,|$)", each))), "0"
    )
    return Sizes(in_bytes(config["mem_limit"]), in_bytes(pool), in_bytes(tmpfs))


def without(service, config):
    """The configuration without its sizes."""
    if not of(service, config):
        return config
    left = {name: value for name, value in config.items() if name not in ("mem_limit", "memswap_limit")}
    left["environment"] = {name: value for name, value in config["environment"].items() if name != pool_of(service)}
    left["tmpfs"] = [re.sub(rf"^({DATA}:.*?)size=[^,]*", r"\1", each) for each in config.get("tmpfs") or []]
    return left


def steps(now, want):
    """(part, bytes) one after the other: what shrinks, then the limit, then what grows. So the parts always fit."""
    parts = now.differences(want)
    shrinking = [(part, before, after) for part, before, after in parts if after < before and part != "memory"]
    growing = [(part, before, after) for part, before, after in parts if after > before and part != "memory"]
    for part, before, after in shrinking + [each for each in parts if each[0] == "memory"] + growing[::-1]:
        if part == "pool":
            step = max(STEP // now.unit, 1) * now.unit
            yield from ((part, size) for size in range(before - step, after, -step) if after < before)
            yield from ((part, size) for size in range(before + step, after, step) if after > before)
        yield part, after


def in_bytes(text):
    number, unit = re.fullmatch(r"(\d+)([kmg]?)b?", str(text).lower()).groups()
    return int(number) << {"": 0, "k": 10, "m": 20, "g": 30}[unit]


def in_units(number):
    """2147483648 -> 2g"""
    for shift, unit in ((30, "g"), (20, "m"), (10, "k")):
        if number and not number % (1 << shift):
            return f"{number >> shift}{unit}"
    return f"{number}"


# --- a running server ------------------------------------------------------------------------------------------------


def ask(container, memory):
    """Nothing while its MySQL does not answer."""
    script = f"""
        df -B1 --output=fstype,size {DATA} | tail -n 1
        {CLIENT} -e 'SELECT @@innodb_buffer_pool_size, @@innodb_buffer_pool_chunk_size * @@innodb_buffer_pool_instances'"""
    asked = subprocess.run(("docker", "exec", container, "sh", "-c", script), capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        return None
    kind, size, pool, unit = asked.stdout.split()
    return Sizes(memory, int(pool), int(size) if kind == "tmpfs" else 0, int(unit))


def resize(service, container, want):
    """To the sizes in the configuration. Where something refuses, what follows is not done, and the next run goes on from there."""
    # When the plan was made, it may not have answered.
    now = await_answer(lambda: ask(container.id, container.memory), service)
    for part, size in steps(now, of(service, want.config)):
        if part == "memory":
            # With the swap in it as Docker has it by default: as much again.
            swap = want.config.get("memswap_limit") or 2 * size
            output("docker", "update", "--memory", str(size), "--memory-swap", str(swap), container.id)
            bound(container.id)
        elif part == "tmpfs":
            set_tmpfs(container.id, size)
        else:
            set_pool(container.id, size, service)
    bound(container.id)


def bound(container):
    """What sessions may take, by the sizes of now; what conf.d says stays. An image that is older than the bounds has none."""
    pool = sql(container, "SELECT @@innodb_buffer_pool_size")
    asked = f". /usr/local/lib/multimed/lib.sh && memory_bounds {pool} {DATA} && echo heap=$(heap_limit {pool} {DATA}) data=$(data_limit {pool} {DATA})"
    answer = subprocess.run(("docker", "exec", container, "bash", "-c", asked), capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return
    bounds = dict(re.findall(r"(\w+)=(\d+)", answer.stdout))
    heap, data = bounds.pop("heap"), bounds.pop("data")
    if set_data_limit(container, data):
        output("docker", "exec", container, "sh", "-c", f"echo system {heap} > /run/multimed/bounded")
    names = ", ".join(f"'{name}'" for name in bounds)
    ours = sql(
        container,
        f"SELECT VARIABLE_NAME FROM performance_schema.variables_info WHERE VARIABLE_NAME IN ({names}) "
        "AND (VARIABLE_SOURCE = 'DYNAMIC' OR VARIABLE_PATH = '/run/multimed/my.cnf')",
    )
    for name in ours.split():
        sql(container, f"SET GLOBAL {name} = {bounds[name]}")


def set_data_limit(container, size):
    """Where the system bounds mysqld: its own user may. Never below what it has: then its next request, however small, would fail."""
    script = f"""
        for each in /proc/[0-9]*; do
          [[ $(cat $each/comm 2> /dev/null) == mysqld ]] || continue
          [[ $(prlimit --pid ${{each##*/}} --data --noheadings --output=SOFT) != *unlimited* ]] || continue
          least=$((($(sed -nE 's/^VmData:\\s*([0-9]+) kB/\\1/p' $each/status) << 10) + {LEAST_LEFT}))
          prlimit --pid ${{each##*/}} --data=$((least > {size} ? least : {size})): && echo bounded
        done"""
    return output("docker", "exec", "--user", "mysql", container, "bash", "-ec", script) != ""


def set_tmpfs(container, size):
    """A container may not mount anything; who may do it is the host."""
    process = output("docker", "inspect", "--format", "{{.State.Pid}}", container).strip()
    output("nsenter", "--target", process, "--mount", "mount", "-o", f"remount,size={size}", DATA)


def set_pool(container, size, service):
    folder = RESIZED.rpartition("/")[0]
    output("docker", "exec", container, "sh", "-c", f"mkdir -p {folder} && echo {size} > {RESIZED}.new && mv {RESIZED}.new {RESIZED}")
    await_answer(lambda: sql(container, f"SET GLOBAL innodb_buffer_pool_size = {size}; SELECT 'done'"), service)
    await_answer(lambda: sql(container, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status_code'").endswith("\t0"), service)
    # So that no second of the readers has more of this than one step.
    time.sleep(STEP_PAUSE_S)


def output(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def sql(container, statement):
    """What it answers; empty while it does not."""
    command = ("docker", "exec", "-i", container, *CLIENT.split())
    return subprocess.run(command, input=statement, capture_output=True, text=True, check=False).stdout.strip()


def await_answer(ask, service):
    end = time.monotonic() + float(os.environ.get("UP_TIMEOUT_S", "300"))
    while not (answer := ask()):
        if time.monotonic() > end:
            sys.exit(f"roll: {service} does not answer; its sizes are not what they should be. Look at: docker compose logs {service}")
        time.sleep(0.1)
    return answer
