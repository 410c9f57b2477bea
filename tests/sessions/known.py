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


KNOWN = [
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
