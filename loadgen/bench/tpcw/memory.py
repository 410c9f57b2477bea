"""Which server gets how much memory, so that every contender has the same. Pure.

A satellite of few gets the memory of many: what the absent ones would have taken goes into the buffer pools of those that are there.
One MySQL alone gets all: the master's memory and the satellites', and besides what log, appliers and gate may take; no more than the
machine has, though. Its data are in its buffer pool only; of that memory the satellites hold their data in the tmpfs.
"""

from dataclasses import dataclass

DEFAULTS = {
    "MASTER_MEMORY": "2560m",
    "MASTER_BUFFER_POOL": "512m",
    "SATELLITE_MEMORY": "2560m",
    "SATELLITE_BUFFER_POOL": "256m",
    "KAFKA_MEMORY": "1g",
    "CDC_MEMORY": "2g",
    "GATE_MEMORY": "1g",
}  # of docker-compose.yml and .env
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
POOL_SHARE = 0.75  # of the memory of one MySQL alone: the rest is for a thousand connections, and the kernel's files
LEFT_TO_THE_MACHINE = 1 << 30


@dataclass(frozen=True)
class Sizes:
    """Bytes, as .env has them."""

    master_memory: int
    master_buffer_pool: int
    satellite_memory: int
    satellite_buffer_pool: int
    kafka_memory: int
    cdc_memory: int
    gate_memory: int


@dataclass(frozen=True)
class Share:
    """Bytes: the limit of a container, and the buffer pool in it."""

    limit: int
    buffer_pool: int


def bytes_of(text):
    """512m, 2g, 1048576; ValueError of anything else."""
    number, unit = (text[:-1], text[-1:].lower()) if text[-1:].lower() in UNITS else (text, "")
    if not (number.isascii() and number.isdigit()):
        raise ValueError(text)
    return int(number) * UNITS.get(unit, 1)


def single(sizes, most_satellites, machine):
    """machine: its memory in bytes."""
    whole = (
        sizes.master_memory
        + sizes.satellite_memory * most_satellites
        + sizes.kafka_memory
        + sizes.gate_memory
        + sizes.cdc_memory * (most_satellites + 1)
    )
    limit = min(whole, machine - LEFT_TO_THE_MACHINE)
    return Share(limit, int(limit * POOL_SHARE))


def master(sizes):
    return Share(sizes.master_memory, sizes.master_buffer_pool)


def satellite(sizes, satellites, most_satellites):
    limit = sizes.satellite_memory * most_satellites // satellites
    return Share(limit, sizes.satellite_buffer_pool + limit - sizes.satellite_memory)
