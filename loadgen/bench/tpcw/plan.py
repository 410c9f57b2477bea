"""Which contenders are measured, under which loads, in which order, and how long that takes. Pure."""

from dataclasses import dataclass

# Guessed, for the estimate alone.
START_SECONDS = 2.5  # of sysbench, its end, and what is asked around it
LOGINS_PER_SECOND = 200
UP_SECONDS = {"single": 12, "replicas": 25, "multimed": 35, "lagging": 40}  # with a fresh copy of a small database
CHECK_SECONDS = {"single": 3, "replicas": 8, "multimed": 15, "lagging": 15}
LOAD_SECONDS = 55

LAGGING_MIX = "shopping"


@dataclass(frozen=True)
class Contender:
    """kind: single, replicas, multimed, lagging (Multimed whose satellites are late). satellites: how many servers answer reads behind the
    gate; a replica counts as one."""

    kind: str
    satellites: int = 0

    @property
    def name(self):
        return f"{self.kind}-{self.satellites}" if self.satellites else self.kind


@dataclass(frozen=True)
class Cell:
    """A load under which contenders are compared."""

    mix: str
    clients: int


def contenders(settings):
    """One MySQL first; replicas are as many as the most satellites."""
    found = {
        "single": [Contender("single")],
        "replicas": [Contender("replicas", settings.most_satellites)],
        "multimed": [Contender("multimed", count) for count in settings.satellites],
        "lagging": [Contender("lagging", settings.most_satellites)],
    }
    return [each for kind in settings.contenders for each in found[kind]]


def cells(settings, contender):
    """Where contenders are compared, at the head's number of clients, comes first, so that all do it after the same loads: the database
    grows under them, so mixes that write least come first, too. Clients are swept with the most satellites only. Late satellites have one
    load, twice: with the table stream, and without."""
    if contender.kind == "lagging":
        return 2 * [Cell(LAGGING_MIX, settings.head_clients)]
    found = [Cell(mix, settings.head_clients) for mix in settings.mixes]
    if contender.kind == "multimed" and contender.satellites != settings.most_satellites:
        return found
    return found + [Cell(mix, clients) for mix in settings.mixes for clients in settings.clients if clients != settings.head_clients]


def warm_up(settings):
    """The load that every contender has before it is measured, with many writes: code of JVMs is compiled while it works. None: none."""
    return Cell(settings.mixes[-1], settings.head_clients) if settings.warm_up_seconds else None


def estimate(settings):
    """Seconds, about."""
    total = LOAD_SECONDS
    for contender in contenders(settings):
        total += UP_SECONDS[contender.kind] + CHECK_SECONDS[contender.kind] + settings.warm_up_seconds
        total += sum(
            settings.cell_warm_up_seconds + settings.seconds + START_SECONDS + 2 * cell.clients / LOGINS_PER_SECOND
            for cell in cells(settings, contender)
        )
    return total
