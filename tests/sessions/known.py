"""The differences from MySQL that docs/connecting.md and docs/limits.md name. What is not on this list is a defect.

Each entry: what a client notices, why it is so, where users read it, and how it is recognised.
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
    # Of (what was asked, as text; name of the field that differs; MySQL's value; the gate's value).
    matches: Callable[[str, str, object, object], bool]


def asks(pattern):
    return re.compile(pattern, re.IGNORECASE).search


KNOWN = []

# Of whoever mends one defect at a time: `field: command` of differences to look past.
IGNORED = os.environ.get("FUZZ_IGNORE")
if IGNORED:
    KNOWN.append(Known("anything", "FUZZ_IGNORE", "", lambda command, field, *_: re.search(IGNORED, f"{field}: {command}")))


def known(command, field, expected, got):
    """The entry that explains a difference, or None."""
    return next((entry for entry in KNOWN if entry.matches(str(command), field, expected, got)), None)
