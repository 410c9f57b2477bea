"""What a run of bench-changes is to do. Pure.

In:  the environment, as loadgen/bench-changes fills it in. Out: one immutable value and the bench's own multimed.yml, or all mistakes
at once. Must never: let a satellite be too small for the data.
"""

from dataclasses import dataclass

from reader import Reader

STEPS = ("scale-3", "scale-2", "cores", "satellite-memory", "master-memory", "renew", "rotate")
LEVELS = ("strong", "session", "eventual")
# A row of sysbench's tables with its share of both indexes, in bytes.
ROW = 235
# In MiB: what is resized grows by more than one step of a buffer pool.
POOL, MORE = 512, 1024
MASTER_MEMORY = 2048


@dataclass(frozen=True)
class Settings:
    steps: tuple
    data_mib: int
    tables: int
    read_rate: int
    read_connections: int
    ranges: int
    level: str
    write_rate: int
    write_connections: int
    warm_up_seconds: int
    calm_seconds: int
    after_seconds: int
    gate_port: int
    status_port: int
    user: str
    database: str
    config_file: str
    state: str

    @property
    def rows(self):
        """Of each table."""
        return max(self.data_mib * (1 << 20) // ROW // self.tables, 1000)

    @property
    def tmpfs(self):
        """MiB: the data, what of it a clone keeps twice for a moment, redo logs, MySQL's own tables."""
        return self.data_mib * 3 // 2 + 1024

    @property
    def satellite_memory(self):
        return self.tmpfs + POOL + 512


def read(environment):
    """The settings; ValueError with all mistakes, one a line."""
    reader = Reader(environment)
    port = reader.number("BENCH_PORTS", 1024, 65533)
    settings = Settings(
        steps=reader.words("BENCH_STEPS", STEPS),
        data_mib=reader.number("BENCH_DATA_MIB", 1, 1 << 20),
        tables=reader.number("BENCH_TABLES", 1, 1000),
        read_rate=reader.number("BENCH_READ_RATE", 10, 10**6),
        read_connections=reader.number("BENCH_READ_CONNECTIONS", 1, 1000),
        ranges=reader.number("BENCH_RANGES", 0, 100),
        level=reader.text("BENCH_LEVEL"),
        write_rate=reader.number("BENCH_WRITE_RATE", 1, 10**6),
        write_connections=reader.number("BENCH_WRITE_CONNECTIONS", 1, 1000),
        warm_up_seconds=reader.number("BENCH_WARM_UP_SECONDS", 0),
        calm_seconds=reader.number("BENCH_CALM_SECONDS"),
        after_seconds=reader.number("BENCH_AFTER_SECONDS"),
        gate_port=port + 1,
        status_port=port + 2,
        user=reader.text("BENCH_USER"),
        database=reader.text("BENCH_DATABASE"),
        config_file=reader.text("BENCH_CONFIG_FILE"),
        state=reader.text("BENCH_STATE"),
    )
    if settings.level not in LEVELS:
        reader.mistakes.append(f"BENCH_LEVEL={settings.level} is not known; known: {' '.join(LEVELS)}")
    if "scale-2" in settings.steps and "scale-3" not in settings.steps:
        reader.mistakes.append("BENCH_STEPS: scale-2 takes away what scale-3 has added; name both")
    reader.require_good()
    return settings


def declaration(settings):
    """The text of a multimed.yml with two satellites."""
    return (
        f"master:\n  memory: {MASTER_MEMORY}m\n  buffer_pool: {POOL}m\n"
        f"satellites:\n  count: 2\n  memory: {settings.satellite_memory}m\n  buffer_pool: {POOL}m\n  tmpfs: {settings.tmpfs}m\n"
    )
