"""What Compose is told about one contender, beside the layout of cores: options, memory, where satellites keep their data. Pure.

In:  the settings, a contender, the machine's cores and memory. Out: the text of a Compose file, and which services make the contender.
Must never: touch what makes the master durable.
"""

import json

from tpcw import memory

# As many as clients may be: the bound by memory would be less, and these do no more than the cores can.
CONNECTIONS = ("--max-connections=2000",)

LATE_MS = 20  # of each transaction, from the log to a late satellite

DISK = '\n    tmpfs: !override ["/run:mode=0755"]\n    volumes: [/var/lib/mysql]'


def services(contender):
    """Those that are started; who is not named is not there. Native replicas need no log."""
    numbers = range(1, contender.satellites + 1)
    found = ["master"] if contender.kind == "single" else ["master", "gate", *(f"satellite-{number}" for number in numbers)]
    if contender.is_multimed:
        found += ["kafka", "capture", *(f"applier-{number}" for number in numbers)]
    return found


def servers(contender):
    """The MySQL servers of a contender, the master first."""
    return [service for service in services(contender) if service == "master" or service.startswith("satellite-")]


def master(contender, settings, machine):
    """machine: {cores: a list like 0-3, memory: bytes}. One MySQL alone has all of both."""
    alone = contender.kind == "single"
    share = memory.single(settings.sizes, settings.most_satellites, machine["memory"]) if alone else memory.master(settings.sizes)
    options = CONNECTIONS + settings.master_options + (settings.single_options if alone else ())
    # Without that capability a container may not spread its memory over NUMA nodes (innodb_numa_interleave).
    whole = f"\n    cpuset: {json.dumps(machine['cores'])}\n    cap_add: [SYS_NICE]" if alone else ""
    return (
        f"  master:\n    command: {json.dumps(options)}{whole}\n    mem_limit: {share.limit}\n"
        f'    environment: {{MASTER_BUFFER_POOL: "{share.buffer_pool}"}}\n'
    )


def satellite(name, contender, settings):
    most = max(contender.satellites, settings.most_satellites)
    share = memory.satellite(settings.sizes, contender.satellites, most)
    return (
        f'  {name}:\n    command: {json.dumps(CONNECTIONS)}\n    mem_limit: {share.limit}\n    environment: {{SATELLITE_BUFFER_POOL: "{share.buffer_pool}"}}'
        f"{DISK if settings.data == 'disk' else ''}\n"
    )


def late(contender, table_stream):
    """Appliers that keep each transaction for a while; and the gate, without the table stream if that is what is compared."""
    appliers = [f"applier-{number}" for number in range(1, contender.satellites + 1)]
    found = "".join(f'  {name}:\n    environment: {{APPLIER_TEST_DELAY_MS: "{LATE_MS}"}}\n' for name in appliers)
    # What the master answers sooner does not wait either, and says nothing of the stream.
    stream = "" if table_stream else ', GATE_TABLE_STREAM: ""'
    return found + f"  gate:\n    environment: {{GATE_MASTER_READS: fallback{stream}}}\n"


def separating(heavy_ms):
    """The gate, with another limit from which on queries are heavy."""
    return f'  gate:\n    environment: {{GATE_HEAVY_MS: "{heavy_ms}"}}\n'


def text(contender, settings, machine, table_stream=True, heavy_ms=None):
    satellites = [satellite(name, contender, settings) for name in servers(contender)[1:]]
    found = "services:\n" + master(contender, settings, machine) + "".join(satellites)
    if contender.kind == "lagging":
        return found + late(contender, table_stream)
    return found + ("" if heavy_ms is None else separating(heavy_ms))
