"""The settings of bench-gate.

In:  the environment, as loadgen/bench-gate fills it in. Out: one immutable value, or a ValueError with all mistakes.
"""

from dataclasses import dataclass

from reader import Reader

CONTENDERS = ("direct", "eventual", "session", "strong", "master", "proxysql", "proxysql-socket", "router")
WORKLOADS = ("point-select", "read-only", "result", "long-text", "own-write")
MODES = ("text", "prepared")
MOST_CONNECTIONS = 1900  # the servers' max_connections is 2000, and the bench itself needs some
MOST_BYTES = 16 << 20
MOST_CORES = 1024


@dataclass(frozen=True)
class Settings:
    rounds: int
    seconds: int
    side_seconds: int
    contenders: tuple
    workloads: tuple
    modes: tuple
    connections: tuple
    side_connections: tuple
    sizes: tuple
    texts: tuple
    write_rate: int
    write_connections: tuple
    quiet_connections: tuple
    write_workload: str
    write_threads: int
    write_warm_up_seconds: int
    stream_rate: int
    stream_seconds: int
    burst_seconds: int
    limits: tuple
    limit_cores: tuple
    limit_seconds: int
    limit_find_seconds: int
    load_connections: int
    saturated_seconds: int
    saturated_rate: int
    proxysql_threads: int
    tables: tuple
    user: str
    database: str
    write_database: str
    config_file: str
    password_file: str
    state: str


def read(environment):
    """The settings; ValueError with all mistakes, one a line."""
    reader = Reader(environment)
    reader.number("BENCH_PORTS", 1024, 65533)
    settings = Settings(
        rounds=reader.number("BENCH_ROUNDS"),
        seconds=reader.number("BENCH_SECONDS"),
        side_seconds=reader.number("BENCH_SIDE_SECONDS"),
        contenders=reader.words("BENCH_CONTENDERS", CONTENDERS),
        workloads=reader.words("BENCH_WORKLOADS", WORKLOADS),
        modes=reader.words("BENCH_MODES", MODES),
        connections=reader.numbers("BENCH_CONNECTIONS", MOST_CONNECTIONS),
        side_connections=reader.numbers("BENCH_SIDE_CONNECTIONS", MOST_CONNECTIONS),
        sizes=reader.numbers("BENCH_SIZES", MOST_BYTES),
        texts=reader.numbers("BENCH_TEXTS", MOST_BYTES),
        write_rate=reader.number("BENCH_WRITE_RATE", 0),
        write_connections=reader.numbers("BENCH_WRITE_CONNECTIONS", MOST_CONNECTIONS),
        quiet_connections=reader.numbers("BENCH_QUIET_CONNECTIONS", MOST_CONNECTIONS),
        write_workload=reader.text("BENCH_WRITE_WORKLOAD"),
        write_threads=reader.number("BENCH_WRITE_THREADS", 1, MOST_CONNECTIONS),
        write_warm_up_seconds=reader.number("BENCH_WRITE_WARM_UP_SECONDS", 0),
        stream_rate=reader.number("BENCH_STREAM_RATE", 0),
        stream_seconds=reader.number("BENCH_STREAM_SECONDS"),
        burst_seconds=reader.number("BENCH_BURST_SECONDS", 0),
        limits=reader.numbers("BENCH_LIMITS", MOST_CONNECTIONS),
        limit_cores=reader.numbers("BENCH_LIMIT_CORES", 100 * MOST_CORES),
        limit_seconds=reader.number("BENCH_LIMIT_SECONDS"),
        limit_find_seconds=reader.number("BENCH_LIMIT_FIND_SECONDS"),
        load_connections=reader.number("BENCH_LOAD_CONNECTIONS", 1, MOST_CONNECTIONS),
        saturated_seconds=reader.number("BENCH_SATURATED_SECONDS", 0),
        saturated_rate=reader.number("BENCH_SATURATED_RATE"),
        proxysql_threads=reader.number("BENCH_PROXYSQL_THREADS", 0, 128),
        tables=(f"--tables={reader.number('BENCH_TABLES')}", f"--table-size={reader.number('BENCH_TABLE_ROWS')}"),
        user=reader.text("BENCH_USER"),
        database=reader.text("BENCH_DATABASE"),
        write_database=reader.text("BENCH_WRITE_DATABASE"),
        config_file=reader.text("BENCH_CONFIG_FILE"),
        password_file=reader.text("BENCH_PASSWORD_FILE"),
        state=reader.text("BENCH_STATE"),
    )
    if not settings.write_workload.replace("_", "").isalnum():
        reader.mistakes.append(f"BENCH_WRITE_WORKLOAD={settings.write_workload}: a script of sysbench is needed, for example oltp_insert")
    reader.require_good()
    return settings
