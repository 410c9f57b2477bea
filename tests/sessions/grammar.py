"""Sequences at random, each made of its seed alone.

In: a seed, names. Out: a Sequence. Must never: ask a server, a clock or another source of chance.
"""

import random
import re

import themes
import wire
from commands import Command, Sequence
from fixtures import OTHER_ACCOUNT

UTF8, LATIN1 = "utf-8", "latin-1"
# Handshake's collation and how such a client writes text: utf8mb4_0900_ai_ci, latin1_swedish_ci, utf8mb4_general_ci, utf8mb3_general_ci.
CLIENTS = ((255, UTF8), (8, LATIN1), (45, UTF8), (33, UTF8))
DIRECTIVE = re.compile(r"\[(\w+)\] ?(.*)", re.DOTALL)
SPEAKS = re.compile(r"set\s+(?:names|character set|charset|character_set_client\s*=)\s*'?(latin1|utf8mb4|cp1252|default)", re.IGNORECASE)
FEWEST, MOST = 5, 30
# Whether a victim lives takes a moment to see.
WEIGHTS = [1 if name == "kills" else 8 for name in themes.THEMES]


def generate(seed, names):
    return Maker(seed, names).sequence()


class Maker:
    def __init__(self, seed, names):
        self.seed, self.random = seed, random.Random(seed)
        self.charset, self.own = self.random.choices(CLIENTS, (65, 22, 8, 5))[0]
        self.speaks = self.own
        self.texts = {
            "a": names.first, "b": names.second, "accented": names.accented, "digit": names.digit, "dollar": names.dollar,
            "droppable": names.droppable, "lock": names.lock, "other": OTHER_ACCOUNT,
        }  # fmt: skip
        self.prepared = {}
        self.themes = self.random.choices(list(themes.THEMES), WEIGHTS, k=self.random.choice((1, 1, 2, 2, 3)))

    def chance(self, of_hundred):
        return self.random.random() * 100 < of_hundred

    def sequence(self):
        account, expired = self.account()
        wanted, commands = self.random.randint(FEWEST, MOST), []
        database = self.database()
        while len(commands) < wanted:
            commands += self.step()
        capabilities = self.capabilities() | (wire.EXPIRED_PASSWORDS if expired else 0)
        return Sequence(
            self.seed, account, capabilities, self.charset, database, self.chance(75), self.chance(30), tuple(commands[:MOST])
        )  # fmt: skip

    # --- the client -------------------------------------------------------------------------------------------

    def account(self):
        """Its name as the client writes it, and whether it says that it can do with an expired password."""
        name = self.random.choices(("fuzz", "fuzz_é", "fuzz_expired", "fuzz_role"), (90, 3, 2, 5))[0]
        return name.encode(self.own), name == "fuzz_expired" and self.chance(70)

    def capabilities(self):
        odds = (
            (wire.TRACK, 60), (wire.DEPRECATE_EOF, 65), (wire.MULTI_STATEMENTS, 80), (wire.FOUND_ROWS, 15), (wire.IGNORE_SPACE, 5),
        )  # fmt: skip
        return sum(flag for flag, percent in odds if self.chance(percent))

    def database(self):
        names = ("{a}", None, "{b}", "{accented}", "{droppable}", "information_schema", "{digit}")
        name = self.random.choices(names, (65, 14, 6, 6, 3, 3, 3))[0]
        return name and self.filled(name).encode(self.own)

    # --- steps ------------------------------------------------------------------------------------------------

    def step(self):
        """One command or a run of them; often with a read after it that shows what got lost."""
        theme = self.random.choice(self.themes)
        if theme == "prepared" and self.chance(75):
            return self.statement()
        reads = themes.THEMES[theme].reads
        steps = [self.command(text) for text in self.random.choice(themes.THEMES[theme].changes)]
        while self.chance(55):
            pool = reads if self.chance(75) else themes.THEMES[self.random.choice(list(themes.THEMES))].reads
            steps.append(self.command(self.random.choice(pool)))
        return steps

    def statement(self):
        """A prepared statement is made, executed or ended; or what it stands on changes."""
        slot, what = self.random.randrange(3), self.random.random()
        if what < 0.3 or slot not in self.prepared:
            self.prepared[slot] = text = self.random.choice(themes.PREPARED)
            return [Command("prepare", self.encoded(self.decorated(self.filled(text))), slot)]
        if what < 0.75:
            values = tuple(self.random.choice((1, 2, 3, 2, "Two", None, "x' or 1=1 -- ")) for _ in range(self.prepared[slot].count("?")))
            if self.chance(8):
                # Executed again with its cursor open, MySQL ends its rows twice, which no client can follow.
                return [Command("execute", b"", slot, values, True), Command("fetch", b"", slot), Command("close", b"", slot)]
            return [Command("execute", b"", slot, values)]
        if what < 0.82:
            return [Command(self.random.choice(("close", "reset_statement")), b"", slot)]
        theme = themes.THEMES[self.random.choice(("settings", "schemas", "charsets", "login state"))]
        return [self.command(text) for text in self.random.choice(theme.changes)]

    def command(self, text):
        text = self.filled(text)
        directive = DIRECTIVE.fullmatch(text)
        if not directive:
            if self.chance(5):
                reads = themes.THEMES[self.random.choice(self.themes)].reads
                text += "; " + self.filled(self.random.choice([read for read in reads if not DIRECTIVE.match(read)]))
            return Command("query", self.query(text))
        kind, argument = directive.groups()
        if kind in ("reset", "change", "become"):
            self.speaks = self.own
        if kind == "prepare":
            self.prepared[0] = argument
        return Command(kind, self.encoded(argument))

    def query(self, text):
        encoded = self.encoded(self.decorated(text))
        spoken = SPEAKS.search(text)
        if spoken:
            self.speaks = {"utf8mb4": UTF8, "default": UTF8}.get(spoken[1].lower(), LATIN1)
        return encoded

    def filled(self, text):
        for name, value in self.texts.items():
            text = text.replace("{" + name + "}", value)
        return text

    def encoded(self, text):
        """As the client's character set has it; now and then wrongly."""
        return text.encode(self.speaks if self.chance(92) else UTF8)

    def decorated(self, text):
        """Comments, blanks and case, which change nothing."""
        if not self.chance(30):
            return text
        first, blank, rest = text.partition(" ")
        return self.random.choice(
            (
                f"/* c */ {text}",
                f"-- c\n{text}",
                f"#c\n {text}",
                f"/*!50000 */{text}",
                f"/*!99999 nothing */ {text}",
                f"{text} /*!80100 */",
                f"{text} -- c",
                f"{text};",
                f"\t\n{text}\n",
                f"/*!50000 {text} */",
                f"/*!080000 {text} */",
                f"/*! {text} */",
                f"/*!80000 {first} */{blank}{rest}",
                f"{first}/**/{rest}" if blank else text,
                f"{first}/* ' \" */\n{rest}" if blank else text,
                f"/*!80000 {first} /* inner */ {rest} */",
                f"/*!99999 /* inner */ x */ {text}",
                f"({text})",
                text.lower(),
                text.upper(),
            )
        )
