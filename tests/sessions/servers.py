"""Where the two sides are: a MySQL of the master's image that lives as long as the run, and the test stack's gate and master.

In:  the test stack, or addresses in the environment (fuzz_sessions.py). Out: addresses and administrators.
Must never: leave the reference behind, or be reachable beyond this machine.
"""

import contextlib
import dataclasses
import os
import time

import fixtures
import wire


@dataclasses.dataclass(frozen=True)
class Places:
    reference: tuple
    reference_account: tuple
    gate: tuple
    master: tuple
    master_account: tuple


def address(text):
    host, port = text.split(":")
    return host, int(port)


def account(text):
    return tuple(part.encode() for part in text.split(":"))


@contextlib.contextmanager
def running():
    named = os.environ.get
    yield Places(
        address(named("FUZZ_REFERENCE")),
        account(named("FUZZ_REFERENCE_ACCOUNT")),
        address(named("FUZZ_GATE")),
        address(named("FUZZ_MASTER")),
        account(named("FUZZ_MASTER_ACCOUNT")),
    )


def prepare(places):
    """Accounts, once; the gate's servers must have them before anybody logs in there."""
    for server, administrator in ((places.reference, places.reference_account), (places.master, places.master_account)):
        connection = wire.Connection(server, administrator)
        for statement in fixtures.accounts():
            connection.queue(wire.QUERY + statement.encode())
            connection.flush()
            answer = connection.answer()
            assert answer[0][0] != "error", (statement, answer)
        connection.close()
    time.sleep(0)
