"""Which contenders are measured, under which loads, in which order, and how long that takes. Pure."""

from dataclasses import dataclass

import process

# Guessed, for the estimate alone.
START_SECONDS = 2.5  # of sysbench, its end, and what is asked around it
LOGINS_PER_SECOND = 200
UP_SECONDS = {"single": 12, "replicas": 25, "multimed": 35, "lagging": 40, "apart": 35}  # with a fresh copy of a small database
CHECK_SECONDS = {"single": 3, "replicas": 8, "multimed": 15, "lagging": 15, "apart": 15}
LOAD_SECONDS = 55
GATE_SECONDS = 6  # until another gate serves
INDEX_SECONDS = 2

LAGGING_MIX = "shopping"
APART_SATELLITES = 2
COMMIT_MIXES = ("shopping", "ordering")
POLICIES = ("spare", "never")  # of reads on the master
MASTER_READS = "SET @multimed_master_reads = '{policy}'"
NEVER_WAIT_MS = 30000  # with never a read that waits in vain is an error, which would end the run
SEPARATED, UNSEPARATED = "separated", "unseparated"


@dataclass(frozen=True)
class Contender:
    """kind: single, replicas, multimed, lagging (Multimed whose satellites are late), apart (Multimed whose satellites have a core of their
    own each). satellites: how many servers answer reads behind the gate; a replica counts as one."""

    kind: str
    satellites: int = 0

    @property
    def name(self):
        return f"{self.kind}-{self.satellites}" if self.satellites else self.kind

    @property
    def is_multimed(self):
        return self.kind in ("multimed", "lagging", "apart")


@dataclass(frozen=True)
class Cell:
    """A load. rate: interactions a second (open loop); 0: as many as there can be. heavy: connections beside it that ask for best sellers
    all the time. session_sql: what its connections begin with."""

    mix: str
    clients: int
    rate: int = 0
    heavy: int = 0
    session_sql: str = ""


def contenders(settings):
    """One MySQL first; replicas are as many as the most satellites. Satellites with cores of their own come last, if a part needs them."""
    found = {
        "single": [Contender("single")],
        "replicas": [Contender("replicas", settings.most_satellites)],
        "multimed": [Contender("multimed", count) for count in settings.satellites],
        "lagging": [Contender("lagging", settings.most_satellites)],
    }
    apart = [Contender("apart", APART_SATELLITES)] if {"light", "index"} & set(settings.parts) else []
    return [each for kind in settings.contenders for each in found[kind]] + apart


def cells(settings, contender):
    """Where contenders are compared, at the head's number of clients, comes first, so that all do it after the same loads: the database
    grows under them, so mixes that write least come first, too. Clients are swept with the most satellites only. Late satellites have one
    load, twice: with the table stream, and without. Those apart have parts only."""
    if contender.kind == "apart":
        return []
    if contender.kind == "lagging":
        return 2 * [Cell(LAGGING_MIX, settings.head_clients)]
    found = [Cell(mix, settings.head_clients) for mix in settings.mixes]
    if contender.kind == "multimed" and contender.satellites != settings.most_satellites:
        return found
    return found + [Cell(mix, clients) for mix in settings.mixes for clients in settings.clients if clients != settings.head_clients]


def session_sql(policy):
    patience = f", @multimed_wait_ms = {NEVER_WAIT_MS}" if policy == "never" else ""
    return MASTER_READS.format(policy=policy) + patience


def warm_up(settings, contender):
    """The load that every contender has before it is measured, with many writes: code of JVMs is compiled while it works. None: none, as
    for those apart, which only read."""
    return Cell(settings.mixes[-1], settings.head_clients) if settings.warm_up_seconds and contender.kind != "apart" else None


def own_cores(cores):
    """Settings of the layout: a core of its own for each satellite, as far as there are any. cores: a list like 0-3."""
    numbers = sorted(process.cores_in(cores))
    return {f"SATELLITE_{number}_CPUS": str(numbers[(number - 1) % len(numbers)]) for number in range(1, APART_SATELLITES + 1)}


# --- parts ----------------------------------------------------------------------------------------------------------------


def parts(settings, contender):
    """Those that are measured on a contender: commits on Multimed with the most satellites."""
    if contender.kind == "apart":
        return [part for part in ("light", "index") if part in settings.parts]
    is_most = contender == Contender("multimed", settings.most_satellites)
    return ["commits"] if is_most and "commits" in settings.parts else []


def alternating(rounds, names):
    """Each name once a round, in turn from the front and from the back: drift is nobody's, and neighbours are often the same."""
    return [name for number in range(rounds) for name in (names if number % 2 == 0 else names[::-1])]


def commit_cells(settings):
    """[(mix, policy, cell)]: the mix in which most is written, and shopping; each with both policies in turn."""
    found = []
    for mix in (each for each in settings.mixes if each in COMMIT_MIXES):
        for policy in alternating(settings.rounds, POLICIES):
            found.append((mix, policy, Cell(mix, settings.head_clients, session_sql=session_sql(policy))))
    return found


def light_steps(settings):
    """[(SEPARATED or UNSEPARATED, GATE_HEAVY_MS)]: which gate is up, in turn."""
    return [(name, settings.heavy_ms if name == SEPARATED else 0) for name in alternating(settings.rounds, (SEPARATED, UNSEPARATED))]


def light_cell(settings, heavy):
    policy = session_sql(settings.light_master_reads)
    return Cell("light", settings.light_clients, settings.light_rate, settings.heavy_clients if heavy else 0, policy)


def index_cell():
    return Cell("best_sellers", 1)


def part_cells(settings, contender):
    """How many loads, and how many seconds beside them. Without heavy queries light ones are measured once a round."""
    found = {
        "commits": (len(commit_cells(settings)), 0),
        "light": (3 * settings.rounds, (settings.rounds + 1) * GATE_SECONDS),
        "index": (2 * settings.rounds, settings.rounds * INDEX_SECONDS),
    }
    chosen = [found[part] for part in parts(settings, contender)]
    return sum(count for count, _ in chosen), sum(seconds for _, seconds in chosen)


def estimate(settings):
    """Seconds, about."""
    total = LOAD_SECONDS
    for contender in contenders(settings):
        total += UP_SECONDS[contender.kind] + CHECK_SECONDS[contender.kind]
        total += settings.warm_up_seconds if warm_up(settings, contender) else 0
        count, beside = part_cells(settings, contender)
        total += count * (settings.cell_warm_up_seconds + settings.seconds + START_SECONDS) + beside
        total += sum(
            settings.cell_warm_up_seconds + settings.seconds + START_SECONDS + 2 * cell.clients / LOGINS_PER_SECOND
            for cell in cells(settings, contender)
        )
    return total
