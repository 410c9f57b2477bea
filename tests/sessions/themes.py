"""What commands there are: themes.txt, parsed.

Out: Theme by name, each with changes (runs of texts) and reads (texts) that show what got lost. Texts have {names} of grammar.py.
"""

import dataclasses
import pathlib

FILE = pathlib.Path(__file__).with_name("themes.txt")
PREPARED_THEME = "(what COM_STMT_PREPARE gets)"


@dataclasses.dataclass
class Theme:
    changes: list = dataclasses.field(default_factory=list)
    reads: list = dataclasses.field(default_factory=list)


def parse(lines):
    themes, part = {}, None
    for line in lines:
        mark, _, rest = line.partition(" ")
        if not line or mark == "#":
            continue
        if mark == "==":
            theme = themes[rest] = Theme()
            part = theme.changes
        elif line.startswith("-- reads"):
            part = theme.reads
            for name in filter(None, line.removeprefix("-- reads").removeprefix(": ").split(", ")):
                part += themes[name].reads
        else:
            run = [text.replace("\\n", "\n").replace("[empty]", "") for text in line.split(" >> ")]
            part += [run] if part is theme.changes else run
    return themes


THEMES = parse(FILE.read_text(encoding="utf-8").splitlines())
PREPARED = [text for (text,) in THEMES.pop(PREPARED_THEME).changes]
