"""The differences from MySQL that docs/connecting.md names. What is not on this list is a defect.

Each entry: what a client notices, why it is so, where users read it, and how it is recognised. What follows in that sequence is not
compared: it may rest on what differs.
"""

import dataclasses
import os
import re
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Known:
    what: str
    why: str
    where: str
    # Of (what was asked, name of the first field that differs, MySQL's answer, the gate's).
    matches: Callable[[str, str, list, list], bool]
    ends: bool = True


def gate_says(message):
    """The gate answers with this error, whatever MySQL says."""
    pattern = re.compile(message)

    def matches(command, field, expected, got):
        return got[-1][0] == "error" and pattern.search(got[-1][3]) is not None

    return matches


def statuses(answer):
    """Of each packet that has status flags."""
    found = []
    for part in answer:
        if part[0] in ("ok", "end"):
            found.append(part[3])
        elif part[0] == "result":
            found += [end[3] for end in (part[2], part[4]) if end]
    return found


def only_differs_in(flag):
    def matches(command, field, expected, got):
        here, there = statuses(expected), statuses(got)
        return field.endswith("status") and len(here) == len(there) and all((a ^ b) & ~flag == 0 for a, b in zip(here, there))

    return matches


def warnings_of(commands):
    return lambda command, field, *_: field == "warnings" and re.match(commands, command) is not None


KNOWN = [
    Known(
        "error 1105 in a READ ONLY transaction that has read on a satellite",
        "the master has other rows than the transaction's snapshot, and a satellite does not know the session",
        "docs/connecting.md, What a read-only transaction refuses",
        gate_says(rb"^gtid-gate: not possible in a read-only transaction on a satellite"),
    ),
    Known(
        "SERVER_STATUS_IN_TRANS_READONLY after START TRANSACTION READ ONLY; BEGIN",
        "MySQL does not end the first one's access mode; the master has seen only BEGIN",
        "docs/connecting.md, What a session is told",
        # With it comes a tracker flag without trackers.
        only_differs_in(0x2000 | 0x4000),
        ends=False,
    ),
    Known(
        "the warning count in the answer to COM_PING and COM_INIT_DB",
        "MySQL repeats that of the statement before, which may have run on another server",
        "docs/connecting.md, What a session is told",
        warnings_of(r"\[(ping|init)"),
        ends=False,
    ),
    Known(
        "no warning about a nested comment in what the gate answers itself (SET TRANSACTION, BEGIN, COMMIT)",
        "no server has seen the text",
        "docs/connecting.md, What a session is told",
        warnings_of(r"(?s).*/\*!"),
        ends=False,
    ),
    Known(
        "the answer to SET session_track_transaction_info and session_track_system_variables",
        "the trackers that it switches on are in MySQL's answer to it already",
        "docs/connecting.md, What a session is told",
        lambda command, field, *_: "session_track_" in command.lower() and field.endswith(("status", "trackers")),
        ends=False,
    ),
    Known(
        "trackers of a routine that ended at KILL",
        "the master ends it with an error; the gate kills and answers OK itself",
        "docs/connecting.md, KILL",
        lambda command, field, *_: "pkill" in command and field.endswith(("status", "trackers")),
        ends=False,
    ),
    Known(
        "COM_CHANGE_USER with a schema to an account whose password has expired is OK",
        "MySQL answers it with error 1820, and lets the client go on in the sandbox all the same",
        "docs/connecting.md, What a session is told",
        lambda command, field, expected, got: command.startswith(("[change]", "[become]")) and expected[-1][:2] == ("error", 1820),
    ),
    Known(
        "error 1105 for KILL before statements that do not run, in a routine or a text that the gate can't read",
        "the master ends a routine or text at KILL of an id that it does not know; then the gate kills",
        "docs/connecting.md, KILL",
        gate_says(rb"is killed, but what follows KILL in the text or routine did not run"),
    ),
    Known(
        "FOUND_ROWS() of a first statement that the gate can't read",
        "on the new connection to the master the gate has asked something itself",
        "docs/connecting.md, What a session is told",
        lambda command, field, *_: field == "rows" and "found_rows" in command.lower() and "/*!" in command,
    ),
    Known(
        "the name of a function in the message of error 1243",
        "the gate answers it as MySQL 8.4 does; 9.7 names another function",
        "docs/connecting.md, What a session is told",
        lambda command, field, expected, got: field == "message" and b"mysql_stmt_precheck" in expected[-1][3],
        ends=False,
    ),
    Known(
        "error 1105 for FOUND_ROWS(), ROW_COUNT(), @@warning_count or GET DIAGNOSTICS in a statement that runs elsewhere than the one before",
        "what the statement before left stays on the server that ran it",
        "docs/connecting.md, Questions about the session",
        gate_says(rb"^gtid-gate: what the statement before left"),
    ),
]

# Of whoever mends one defect at a time: `field: command` of differences to look past.
IGNORED = os.environ.get("FUZZ_IGNORE")
if IGNORED:
    KNOWN.append(
        Known("any", "FUZZ_IGNORE", "", lambda command, field, *_: re.search(IGNORED, f"{field}: {command}") is not None, ends=False)
    )


def known(command, field, expected, got):
    """The entry that explains a difference, or None."""
    return next((entry for entry in KNOWN if entry.matches(str(command), field, expected, got)), None)
