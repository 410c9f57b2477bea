"""What a sequence consists of: one client (who it is, what it can) and commands, each of them one packet or one look from outside."""

import dataclasses
import re

from fixtures import Touched

# Stands in a text for the handshake's id of the victim's connection, which each side gives.
VICTIM = b"<victim>"

ROWS = re.compile(rb"\b(insert|update|delete|replace|load)\b|\bp(fail|begin)\b", re.IGNORECASE)
COUNTER = re.compile(rb"\bai\b", re.IGNORECASE)
DROPPABLE = re.compile(rb"\b(database|schema)\b(?!\()", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Command:
    """kind: query, init, ping, reset, change (the same account), become (another one), prepare, execute, fetch, close, reset_statement, option: what the client sends;
    outside: a statement of another session, straight on the server; locks: who holds what there; victim, alive: another connection
    through the same door, and whether it lives; key: whether the RSA key that SHOW STATUS has is the one of logins."""

    kind: str
    text: bytes = b""
    slot: int = 0
    values: tuple = ()
    cursor: bool = False

    @property
    def touched(self):
        pairs = ((ROWS, Touched.ROWS), (COUNTER, Touched.COUNTER), (DROPPABLE, Touched.DROPPABLE))
        found = Touched.NOTHING
        for pattern, what in pairs:
            if pattern.search(self.text):
                found |= what
        return found

    def __str__(self):
        shown = self.text.decode("utf-8", "backslashreplace")
        if self.kind == "query":
            return shown
        detail = {"prepare": f" #{self.slot} {shown}", "execute": f" #{self.slot} {self.values}" + " cursor" * self.cursor}
        return f"[{self.kind}]" + detail.get(self.kind, f" {shown}" if shown else f" #{self.slot}" if "statement" in self.kind else "")


@dataclasses.dataclass(frozen=True)
class Sequence:
    seed: int
    account: bytes
    capabilities: int
    charset: int
    database: bytes | None
    # Whether answers are read only where they decide what comes next.
    pipelined: bool
    # Whether it begins without the SET that says who may answer reads: then nothing has run before its first command.
    bare: bool
    commands: tuple

    @property
    def touched(self):
        found = Touched.NOTHING
        for command in self.commands:
            found |= command.touched
        return found

    def with_commands(self, commands):
        return dataclasses.replace(self, commands=tuple(commands))
