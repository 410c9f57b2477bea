"""The settings of bench-tpcw.

In:  the environment, as loadgen/bench-tpcw fills it in over .env. Out: one immutable value, or a ValueError with all mistakes.
"""

import re
from dataclasses import dataclass

import process
from reader import Reader
from tpcw import memory

CONTENDERS = ("single", "replicas", "multimed", "lagging")
PARTS = ("commits", "light", "index")
MASTER_READS = ("spare", "fallback", "never")
MIXES = ("browsing", "shopping", "ordering")  # those that write least first
DATA = ("memory", "disk")
PROTOCOLS = ("prepared", "text")
ITEMS = (1000, 10000, 100000, 1000000, 10000000)
# Shown in the report.
GATE = (
    "GATE_CONSISTENCY",
    "GATE_WAIT_MS",
    "GATE_AFTER_WAIT",
    "GATE_FALLBACK_LIMIT",
    "GATE_FALLBACK_QUEUE_MS",
    "GATE_MASTER_READS",
    "GATE_SERVER_RUNNING",
    "GATE_HEAVY_MS",
    "GATE_SERVER_CONNECTIONS",
    "GATE_QUEUE_MS",
    "APPLIER_WORKERS",
)
DURABILITY = re.compile("sync.binlog|flush.log.at.trx.commit|log.bin|doublewrite|flush.method|gtid", re.IGNORECASE)
MOST_CLIENTS = 1900  # the servers' max_connections is 2000, and the bench itself needs some
MOST_SATELLITES = 99


@dataclass(frozen=True)
class Settings:
    contenders: tuple
    mixes: tuple
    clients: tuple
    head_clients: int
    satellites: tuple
    seconds: int
    cell_warm_up_seconds: int
    warm_up_seconds: int
    parts: tuple
    rounds: int
    light_rate: int
    light_clients: int
    light_master_reads: str
    heavy_clients: int
    heavy_ms: int
    own_indexes: tuple
    items: int
    ebs: int
    seed: int
    load_threads: int
    data: str
    protocol: str
    master_options: tuple
    single_options: tuple
    cpus: str
    load_cpus: str
    sizes: memory.Sizes
    gate: tuple
    user: str
    database: str
    config_file: str
    state: str
    results: str

    @property
    def most_satellites(self):
        return self.satellites[-1]

    @property
    def carts(self):
        """Every client has one."""
        return max(self.clients[-1], self.light_clients, self.heavy_clients)

    @property
    def scale(self):
        """What sysbench must be told of the database, whatever it does with it."""
        return f"--items={self.items}", f"--ebs={self.ebs}", f"--seed={self.seed}"


def word(reader, name, known):
    """Exactly one of those that are known."""
    value = reader.text(name)
    if value not in known:
        reader.mistakes.append(f"{name}={value}: one is needed of: {' '.join(map(str, known))}")
    return value


def at_least_one(reader, name, most):
    """Ascending; a mistake was told if it is only a stand-in."""
    before = len(reader.mistakes)
    values = reader.numbers(name, most)
    if not values and len(reader.mistakes) == before:
        reader.mistakes.append(f"{name}: at least one number is needed")
    return values or (1,)


def options(reader, name):
    """mysqld's, for example --innodb-io-capacity=2000."""
    values = tuple(reader.text(name).split())
    reader.mistakes.extend(f"{name}: {value}: the master is durable in every contender" for value in values if DURABILITY.search(value))
    reader.mistakes.extend(
        f"{name}: {value} is not an option like --innodb-io-capacity=2000" for value in values if not value.startswith("--")
    )
    return values


def parts(reader):
    """None at all is right, too."""
    return reader.words("BENCH_PARTS", PARTS) if reader.text("BENCH_PARTS") else ()


def indexes(reader, name):
    """Like item(i_subject,i_id); at least one."""
    values = tuple(reader.text(name).split())
    bad = [value for value in values if not re.fullmatch(r"\w+\(\w+(,\w+)*\)", value, re.ASCII)]
    reader.mistakes.extend(f"{name}: {value} is not an index like item(i_subject,i_id)" for value in bad)
    if not values:
        reader.mistakes.append(f"{name}: at least one index is needed, like item(i_subject,i_id)")
    return values


def cpus(reader, name, have):
    """A list like 0-3,8 of those that there are; empty: all."""
    value = reader.text(name)
    if value and not (re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", value, re.ASCII) and process.cores_in(value)):
        reader.mistakes.append(f"{name}={value} is not a list of cores like 0-3,8")
        return ""
    lacking = process.cores_in(value) - set(have)
    if lacking:
        reader.mistakes.append(f"{name}={value}: there is no core {min(lacking)} here")
    return value


def sizes(reader):
    """The memory of the servers, from .env."""
    found = {}
    for name, default in memory.DEFAULTS.items():
        value = reader.text(name) or default
        try:
            found[name.lower()] = memory.bytes_of(value)
        except ValueError:
            found[name.lower()] = 0
            reader.mistakes.append(f"{name}={value} is not a size like 512m or 2g")
    return memory.Sizes(**found)


def read(environment, have):
    """The settings; ValueError with all mistakes, one a line. have: the numbers of the machine's cores."""
    reader = Reader(environment)
    reader.number("BENCH_PORTS", 1024, 65533)
    head = reader.number("BENCH_HEAD_CLIENTS", 1, MOST_CLIENTS)
    clients = at_least_one(reader, "BENCH_CLIENTS", MOST_CLIENTS)
    items = word(reader, "BENCH_ITEMS", tuple(map(str, ITEMS)))
    settings = Settings(
        contenders=reader.words("BENCH_CONTENDERS", CONTENDERS),
        mixes=reader.words("BENCH_MIXES", MIXES),
        clients=tuple(sorted({*clients, head})),
        head_clients=head,
        satellites=at_least_one(reader, "BENCH_SATELLITES", MOST_SATELLITES),
        seconds=reader.number("BENCH_SECONDS", 2),
        cell_warm_up_seconds=reader.number("BENCH_CELL_WARM_UP_SECONDS"),
        warm_up_seconds=reader.number("BENCH_WARM_UP_SECONDS", 0),
        parts=parts(reader),
        rounds=reader.number("BENCH_ROUNDS", 1, 99),
        light_rate=reader.number("BENCH_LIGHT_RATE", 1, 100000),
        light_clients=reader.number("BENCH_LIGHT_CLIENTS", 1, MOST_CLIENTS),
        light_master_reads=word(reader, "BENCH_LIGHT_MASTER_READS", MASTER_READS),
        heavy_clients=reader.number("BENCH_HEAVY_CLIENTS", 1, MOST_CLIENTS),
        heavy_ms=reader.number("BENCH_HEAVY_MS", 1, 3600000),
        own_indexes=indexes(reader, "BENCH_OWN_INDEXES"),
        items=int(items) if items in map(str, ITEMS) else 0,
        ebs=reader.number("BENCH_EBS", 1, 250000),
        seed=reader.number("BENCH_SEED", 0, 2147483647),
        load_threads=reader.number("BENCH_LOAD_THREADS", 1, 1000),
        data=word(reader, "BENCH_SATELLITE_DATA", DATA),
        protocol=word(reader, "BENCH_PROTOCOL", PROTOCOLS),
        master_options=options(reader, "BENCH_MASTER_OPTIONS"),
        single_options=options(reader, "BENCH_SINGLE_OPTIONS"),
        cpus=cpus(reader, "BENCH_CPUS", have),
        load_cpus=cpus(reader, "BENCH_LOAD_CPUS", have),
        sizes=sizes(reader),
        gate=tuple(f"{name}={reader.text(name)}" for name in GATE),
        user=reader.text("BENCH_USER"),
        database=reader.text("BENCH_DATABASE"),
        config_file=reader.text("BENCH_CONFIG_FILE"),
        state=reader.text("BENCH_STATE"),
        results=reader.text("BENCH_RESULTS"),
    )
    if bool(reader.text("BENCH_CPUS")) != bool(reader.text("BENCH_LOAD_CPUS")):
        reader.mistakes.append("BENCH_CPUS, BENCH_LOAD_CPUS: give both, or none")
    if process.cores_in(settings.cpus) & process.cores_in(settings.load_cpus):
        reader.mistakes.append("BENCH_CPUS, BENCH_LOAD_CPUS: no core may be in both")
    reader.require_good()
    return settings
