"""A sequence on MySQL alone and through the gate: the first difference, the shortest sequence that still shows it, and how it reads.

In: two sides, a sequence. Out: a Difference or None. Must never: take a difference of another kind for the same one.
"""

import dataclasses

import compare
import known
from play import DEFAULT, NEVER, play

MODES = (NEVER, DEFAULT)


@dataclasses.dataclass(frozen=True)
class Difference:
    sequence: object
    mode: str
    place: int
    command: object
    field: str
    expected: object
    got: object
    sides: tuple

    @property
    def kind(self):
        """What must stay the same while the sequence is made shorter."""
        return (self.mode, self.field, str(self.command))


def duel(reference, gate, sequence, modes=MODES):
    """The first difference; None: there is none that is not known."""
    expected = None
    for mode in modes:
        if expected is None or sequence.bare:
            expected = play(reference, sequence, mode)
        found = first_difference(sequence, mode, expected, play(gate, sequence, mode, expected))
        if found:
            return found
    return None


def first_difference(sequence, mode, expected, got):
    for place, ((command, one), (asked, other)) in enumerate(zip(expected, got)):
        differs = compare.difference(one, other) if command == asked else ("flow", command, (asked, other))
        entry = differs and known.known(known.Seen(str(command), differs[0], one, other, expected[:place], sequence))
        if differs and not entry:
            return Difference(sequence, mode, place, command, *differs, (expected, got))
        if entry and (entry.ends or command != asked):
            return None
    return None


def shortest(reference, gate, found, tries=150):
    """The same difference from fewer commands: halves go first, then one after the other."""
    size = max(1, len(found.sequence.commands) // 2)
    while True:
        place, smaller = 0, False
        while place < len(found.sequence.commands):
            commands = found.sequence.commands
            rest = commands[:place] + commands[place + size :]
            tries -= 1
            again = duel(reference, gate, found.sequence.with_commands(rest), (found.mode,)) if tries > 0 else None
            if again and again.kind == found.kind:
                found, smaller = again, True
            else:
                place += size
        if tries <= 0 or size == 1 and not smaller:
            return found
        size = max(1, size // 2)


def script(found):
    """For people: who, what, and where the two sides part."""
    one = found.sequence
    lines = [
        f"seed {one.seed}, mode {found.mode}, account {one.account!r}, capabilities {one.capabilities:#x}, handshake's collation {one.charset}, "
        f"database {one.database!r}" + ", pipelined" * one.pipelined + ", bare" * one.bare
    ]
    lines += [f"    {command}" for command in one.commands]
    lines += [f"  differs: {found.field} of: {found.command}", f"    MySQL: {short(found.expected)}", f"    gate:  {short(found.got)}"]
    return "\n".join(lines)


def side_by_side(found):
    lines = []
    for place, (expected, got) in enumerate(zip(*found.sides)):
        mark = ">>" if place == found.place else "  "
        lines += [f"{mark} {expected[0]}", f"     MySQL: {short(expected[1])}", f"     gate:  {short(got[1])}"]
    return "\n".join(lines)


def short(value, most=700):
    text = f"{value:#x} = {value}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text if len(text) <= most else text[:most] + " …"
