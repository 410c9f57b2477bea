"""The differences from MySQL that docs/connecting.md names. What is not on this list is a defect.

Each entry: what a client notices, why it is so, where users read it, and how it is recognised. What follows in that sequence is not
compared: it may rest on what differs.
"""

import dataclasses
import os
import re
from collections.abc import Callable

import compare

ALL_KINDS = ("variable", "schema", "state", "gtids", "characteristics", "transaction")
EARLY_FOUND_ROWS = r"(?is)(/\*!|;).*(found_rows|\bfrv\b)|(found_rows|\bfrv\b).*;"


@dataclasses.dataclass(frozen=True)
class Seen:
    """A difference: what was asked, the name of the first field that differs, MySQL's answer, the gate's; what MySQL answered before."""

    command: str
    field: str
    expected: list
    got: list
    before: list

    def asked(self, pattern):
        """Whether this or an earlier command has such a text."""
        texts = [str(command) for command, _ in self.before] + [self.command]
        return any(re.search(pattern, text, re.IGNORECASE) for text in texts)

    def asked_lately(self, pattern):
        """Whether this command or one of the two before it has such a text."""
        return dataclasses.replace(self, before=self.before[-2:]).asked(pattern)

    def no_rows_yet(self):
        """No result since the login or the last reset."""
        begins = [at for at, (command, _) in enumerate(self.before) if str(command).startswith(("login", "[reset", "[change", "[become"))]
        return not any(part[0] == "result" for _, answer in self.before[begins[-1] :] for part in answer)

    def lacks(self, kind):
        """Whether MySQL has sent a tracker of this kind that the gate has not."""
        said = changes(self.got)
        return any(change not in said for change in changes(self.expected) if change[0] == kind)

    def errors(self):
        """The numbers of the errors that the two answers end with; 0: none."""
        return tuple(answer[-1][1] if answer[-1][0] == "error" else 0 for answer in (self.expected, self.got))

    def schema(self):
        """The current schema, as MySQL has reported it."""
        found = [change[1] for _, answer in self.before for change in changes(answer) if change[0] == "schema"]
        return found[-1] if found else None


@dataclasses.dataclass(frozen=True)
class Known:
    what: str
    why: str
    where: str
    matches: Callable[[Seen], bool]
    ends: bool = True


def gate_says(message):
    """The gate answers with this error, whatever MySQL says."""
    pattern = re.compile(message)
    return lambda seen: seen.got[-1][0] == "error" and pattern.search(seen.got[-1][3]) is not None


def ends_of(answer):
    """The packets of an answer that have trackers."""
    for part in answer:
        if part[0] in ("ok", "end"):
            yield part
        elif part[0] == "result":
            yield from (end for end in (part[2], part[4]) if end and end[0] != "error")


def changes(answer):
    return [change for end in ends_of(answer) for change in end[6]]


def without_trackers(answer, kinds):
    """The same without trackers of these kinds, and without the flag that says that there are some."""

    def stripped(part):
        if part and part[0] in ("ok", "end"):
            left = tuple(change for change in part[6] if change[0] not in kinds)
            return (*part[:3], part[3] & ~compare.TRACKERS_FOLLOW, *part[4:6], left)
        if part and part[0] == "result":
            return (*part[:2], stripped(part[2]), part[3], stripped(part[4]))
        return part

    return [stripped(part) for part in answer]


def only_trackers(seen, *kinds):
    here, there = (compare.normal(without_trackers(answer, kinds)) for answer in (seen.expected, seen.got))
    return here == there


def names_current_schema(seen):
    told, said = changes(seen.expected), changes(seen.got)
    news = [change for change in told if change[0] == "schema" and change not in said]
    return only_trackers(seen, "schema") and all(change[1] in (seen.schema(), b"") for change in news)


def warnings_of(commands):
    return lambda seen: seen.field == "warnings" and re.match(commands, seen.command) is not None


KNOWN = [
    Known(
        "error 1105 in a READ ONLY transaction that has read on a satellite",
        "the master has other rows than the transaction's snapshot, and a satellite does not know the session",
        "docs/connecting.md, What a read-only transaction refuses",
        gate_says(rb"^gtid-gate: not possible in a read-only transaction on a satellite"),
    ),
    Known(
        "the warning count in the answer to COM_PING, COM_INIT_DB and COM_SET_OPTION",
        "MySQL repeats that of the statement before, which may have run on another server",
        "docs/connecting.md, What a session is told",
        warnings_of(r"\[(ping|init|option)"),
        ends=False,
    ),
    Known(
        "no warning about a nested comment in what the gate answers itself (SET TRANSACTION, BEGIN, COMMIT)",
        "no server has seen the text",
        "docs/connecting.md, What a session is told",
        warnings_of(r"(?is)(?=.*/\*.*/\*)(?=.*\b(set|begin|start|commit|rollback|savepoint)\b)"),
        ends=False,
    ),
    Known(
        "the answer to SET session_track_transaction_info and session_track_system_variables",
        "the trackers that it switches on are in MySQL's answer to it already",
        "docs/connecting.md, What a session is told",
        lambda seen: "session_track_" in seen.command.lower() and only_trackers(seen, *ALL_KINDS),
        ends=False,
    ),
    Known(
        "trackers of a routine that ended at KILL",
        "the master ends it with an error; the gate kills and answers OK itself",
        "docs/connecting.md, KILL",
        lambda seen: "pkill" in seen.command and seen.field.endswith(("status", "trackers")),
        ends=False,
    ),
    Known(
        "COM_CHANGE_USER with a schema to an account whose password has expired is OK",
        "MySQL answers it with error 1820, and lets the client go on in the sandbox all the same",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.command.startswith(("[change]", "[become]")) and seen.expected[-1][:2] == ("error", 1820),
    ),
    Known(
        "error 1105 for KILL before statements that do not run, in a routine or a text that the gate can't read",
        "the master ends a routine or text at KILL of an id that it does not know; then the gate kills",
        "docs/connecting.md, KILL",
        gate_says(rb"is killed, but what follows KILL in the text or routine did not run"),
    ),
    Known(
        "FOUND_ROWS() before the first query, in a text that the gate can't read, or among several statements",
        "on the new connection to the master the gate has asked something itself",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.field == "rows" and re.search(EARLY_FOUND_ROWS, seen.command) is not None and seen.no_rows_yet(),
    ),
    Known(
        "the name of a function in the message of error 1243",
        "the gate answers it as MySQL 8.4 does; 9.7 names another function",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.field == "message" and b"mysql_stmt_precheck" in seen.expected[-1][3],
        ends=False,
    ),
    Known(
        "error 1105 for FOUND_ROWS(), ROW_COUNT(), @@warning_count or GET DIAGNOSTICS in a statement that runs elsewhere than the one before",
        "what the statement before left stays on the server that ran it",
        "docs/connecting.md, Questions about the session",
        gate_says(rb"^gtid-gate: what the statement before left"),
    ),
    Known(
        "no tracker of a schema that is the current one anyway",
        "MySQL sends it behind what names views and routines; a client without CLIENT_DEPRECATE_EOF gets it with a later answer, of another server",
        "docs/connecting.md, What a session is told",
        names_current_schema,
        ends=False,
    ),
    Known(
        "no TRX_STATE where START TRANSACTION, COMMIT or ROLLBACK follows WITH CONSISTENT SNAPSHOT",
        "the snapshot is a satellite's",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.asked("consistent snapshot") and only_trackers(seen, "transaction"),
        ends=False,
    ),
    Known(
        "TRX_STATE of clients that have set session_track_transaction_info",
        "a server reports it against what it has reported before, of what the gate asks, too",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.asked("session_track_transaction_info") and only_trackers(seen, "transaction") and not seen.lacks("transaction"),
        ends=False,
    ),
    Known(
        "rows that others commit while a READ ONLY transaction with READ COMMITTED is open",
        "on a satellite it keeps its first snapshot",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.field == "rows" and seen.asked("read.(un)?committed") and seen.asked("read.only"),
    ),
    Known(
        "warnings of SET session_track_...",
        "the gate sets again what it needs to be told itself",
        "docs/connecting.md, What a session is told",
        lambda seen: bool(seen.before) and "session_track_" in str(seen.before[-1][0]).lower() and "warnings" in seen.command.lower(),
    ),
    Known(
        "trackers after a text of several statements has switched some on",
        "which statements were to be reported is known after the text",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.asked_lately(r"(?s)session_track_.*;\s*\S|;.*session_track_") and only_trackers(seen, *ALL_KINDS),
    ),
    Known(
        "the error of a command that deserves two",
        "the gate looks at a statement's id and at the transaction, before a server looks at the account and the schema",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.errors() in ((1820, 1243), (1046, 1792)),
    ),
    Known(
        "OK to SET of what must not be set in a transaction",
        "the read-only transaction is not on the master",
        "docs/connecting.md, What a read-only transaction refuses",
        lambda seen: seen.errors() in ((1766, 0), (1685, 0), (1679, 0), (1694, 0)),
    ),
]

# Of whoever mends one defect at a time: `field: command` of differences to look past.
IGNORED = os.environ.get("FUZZ_IGNORE")
if IGNORED:
    KNOWN.append(Known("any", "FUZZ_IGNORE", "", lambda seen: re.search(IGNORED, f"{seen.field}: {seen.command}") is not None, ends=False))


def known(seen):
    """The entry that explains a difference, or None."""
    return next((entry for entry in KNOWN if entry.matches(seen)), None)
