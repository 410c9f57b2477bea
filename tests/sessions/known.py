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
LOOKS_BACK = r"(found_rows|\b(frv|rcv|rcfv)\b)"
COUNTS = "(warning|error)_count"
LOOKS_BACK_UNSEEN = rf"(?is)(/\*!|;).*{LOOKS_BACK}|{LOOKS_BACK}.*;|;.*{COUNTS}|{COUNTS}.*;"
DEPRECATE_EOF = 1 << 24
# Hints, functions, views over these, and statements with rows that commit, which change what is tracked.
CHANGES_WITH_ROWS = r"set_var|\b(analyze|check|optimize|repair)\b.*\btable|\b(mk|mkt|setp|settz|setmode|setcs|setts|setv|mkv|mktv)\b"


@dataclasses.dataclass(frozen=True)
class Seen:
    """A difference: what was asked, the name of the first field that differs, MySQL's answer, the gate's; what MySQL answered before; of which sequence."""

    command: str
    field: str
    expected: list
    got: list
    before: list
    sequence: object

    def asked(self, pattern):
        """Whether this or an earlier command has such a text."""
        texts = [str(command) for command, _ in self.before] + [self.command]
        return any(re.search(pattern, text, re.IGNORECASE) for text in texts)

    def asked_lately(self, pattern):
        """Whether this command has such a text, or one before it with at most one OK packet since."""
        answers = [answer for _, answer in self.before]
        oks = [any(part[0] == "ok" for part in answer) for answer in answers]
        since = next((at for at in range(len(oks)) if sum(oks[at:]) <= 2), len(oks))
        return dataclasses.replace(self, before=self.before[since:]).asked(pattern)

    def lacks(self, kind):
        """Whether MySQL has sent a tracker of this kind that the gate has not."""
        said = changes(self.got)
        return any(change not in said for change in changes(self.expected) if change[0] == kind)

    def errors(self):
        """The numbers of the errors that the two answers end with; 0: none."""
        return tuple(answer[-1][1] if answer[-1][0] == "error" else 0 for answer in (self.expected, self.got))

    def failed_before(self):
        """Whether a statement has failed before."""
        return any(answer[-1][0] == "error" for _, answer in self.before)

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


def columns_without_collation(answer):
    """Behind the length of the fixed fields, 12, stands the collation, in two bytes."""
    return [re.sub(rb"(?s)\x0c..", b"", column) for part in answer if part[0] == "result" for column in part[1]]


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
        "no warning about a nested comment in what the gate answers itself (SET TRANSACTION, BEGIN, COMMIT, KILL), or in SHOW WARNINGS behind it",
        "no server has seen the text",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            warnings_of(r"(?is)(?=.*/\*.*/\*)(?=.*\b(set|begin|start|commit|rollback|savepoint|kill)\b)")(seen)
            or (
                seen.field == "rows"
                and ("Nested comment" in str(seen.expected) or re.search("(?i)warning_count|@n, @r", seen.command))
                or warnings_of("(?is).*get diagnostics")(seen)
            )
            and seen.asked_lately(r"(?s)/\*.*/\*")
        ),
        ends=False,
    ),
    Known(
        "the answer to SET session_track_..., and the first OK packet behind it",
        "the trackers that it switches on are in MySQL's answer to it already, or in the next",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.asked_lately("session_track_") and only_trackers(seen, *ALL_KINDS),
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
        "FOUND_ROWS() and views that look back, in a text that the gate can't read, among several statements, or behind SET session_track_...",
        "on that connection to the master the gate has asked or set something itself",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            (seen.field == "rows" or "session_track_" in seen.command)
            and (
                re.search(LOOKS_BACK_UNSEEN, seen.command) is not None
                or re.search(LOOKS_BACK, seen.command) is not None
                and "session_track_" in str(seen.before[-1][0]).lower()
            )
        ),
    ),
    Known(
        "the name of a function in the message of error 1243",
        "the gate answers it as MySQL 8.4 does; 9.7 names another function",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.field in ("message", "rows") and "mysql_stmt_precheck" in str(seen.expected),
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
        "TRX_STATE and TRX_CHARACTERISTICS of clients that have set session_track_transaction_info",
        "a server reports them against what it has reported before, of what the gate asks, too",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            seen.asked("session_track_transaction_info")
            and only_trackers(seen, "transaction", "characteristics")
            and (not seen.lacks("transaction") or seen.asked("read.only") or seen.failed_before())
        ),
        ends=False,
    ),
    Known(
        "affected rows of CALL",
        "where a procedure has none, MySQL repeats ROW_COUNT() of the statement before, which may have run on another server",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            seen.field == "affected rows" and re.search(r"(?i)\bcall\b.*\b(pset|ptz|pout|pac|prole|pprep)\b", seen.command) is not None
        ),
        ends=False,
    ),
    Known(
        "trackers of what a statement has changed that failed, or, for clients without CLIENT_DEPRECATE_EOF, had rows",
        "they come with the next OK packet, which may be another server's",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            (seen.failed_before() or not seen.sequence.capabilities & DEPRECATE_EOF)
            and seen.asked(CHANGES_WITH_ROWS)
            and only_trackers(seen, *ALL_KINDS)
        ),
    ),
    Known(
        "what SET CHARACTER SET takes from character_set_database, where that was set by hand",
        "MySQL sets it back when it reads a view or routine, which may have been on another server",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            "character set" in seen.command.lower()
            and only_trackers(seen, *ALL_KINDS)
            and seen.asked(r"set.*(character_set|collation)_database\s*:?=")
        ),
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
        "the error of a command that deserves two",
        "the gate looks at a statement's id and at the transaction, before a server looks at the account, the schema and the syntax",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.errors() in ((1820, 1243), (1046, 1792), (1064, 1792)),
    ),
    Known(
        "rows that others commit between the first statement of a READ ONLY transaction, which failed, and the next",
        "a satellite's snapshot begins with the first statement, even with one that fails",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.field == "rows" and seen.asked("read.only") and seen.asked(r"\[outside\]") and seen.failed_before(),
    ),
    Known(
        "columns of a prepared statement whose table is now another one, after SET",
        "MySQL prepares it anew, under the settings of the moment; another server prepares it under those of its PREPARE",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.field == "columns" and seen.command.startswith("[execute]") and seen.asked("temporary table|mkt"),
    ),
    Known(
        "columns and rows of a prepared statement whose parameters have other types than at its first execution",
        "MySQL keeps what it derived then; another server derives it anew",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            seen.field == "columns"
            and seen.command.startswith("[execute]")
            and seen.asked(r"\[prepare\].*\?")
            and any(str(command).startswith("[execute]") and str(command) != seen.command for command, _ in seen.before)
        ),
    ),
    Known(
        "DATABASE() in a statement that was prepared while there was no current schema",
        "a connection can't leave its schema; the server that runs it may be another one by then",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            seen.field == "rows"
            and seen.sequence.database is None
            and seen.command.startswith("[execute]")
            and seen.asked(r"(?i)\[prepare\].*(database|schema)\(\)")
        ),
    ),
    Known(
        "the case of a variable's name in its tracker",
        "MySQL repeats the client's own spelling in session_track_system_variables, satellites the server's",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.asked("session_track_system_variables") and str(seen.expected).lower() == str(seen.got).lower(),
        ends=False,
    ),
    Known(
        "the collation of a column of a prepared statement, after SET collation_connection",
        "another server has yet to prepare it, with a SET of its character sets",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            seen.field == "columns"
            and seen.command.startswith("[execute]")
            and columns_without_collation(seen.expected) == columns_without_collation(seen.got)
        ),
    ),
    Known(
        "OK to PREPARE of a change in a READ ONLY transaction",
        "it is refused when it is executed",
        "docs/connecting.md, What a read-only transaction refuses",
        lambda seen: seen.errors() == (1792, 0) and seen.command.startswith("[prepare]"),
    ),
    Known(
        "error 1105 in a READ ONLY transaction while others define tables and views",
        "whether what it reads has been redefined is not known in time",
        "docs/connecting.md, What a view or function reads",
        gate_says(rb"^gtid-gate: a view may have been redefined while it was read"),
    ),
    Known(
        "no warning about WITH CONSISTENT SNAPSHOT in a READ ONLY transaction with READ COMMITTED",
        "on a satellite it is REPEATABLE READ, and has a snapshot",
        "docs/connecting.md, What a session is told",
        warnings_of(r"(?is).*consistent snapshot"),
        ends=False,
    ),
    Known(
        "the character set of parameters in the sandbox of an expired password, after a schema's name that is not ASCII",
        "the gate gives the master the name in UTF-8, and there SET NAMES is refused",
        "docs/connecting.md, What a session is told",
        lambda seen: "definitions" in seen.field and seen.sequence.account == b"fuzz_expired",
    ),
    Known(
        "answers that are lost with a connection that a RELEASE ends, while more commands are on their way",
        "TCP drops what was not read yet, on either side",
        "nowhere",
        lambda seen: seen.field == "flow" and seen.sequence.pipelined and "release" in str(seen.sequence.commands).lower(),
    ),
    Known(
        "error 1105 where a procedure's COMMIT or ROLLBACK has released the connection",
        "the gate learns of it with the next statement, and then ends the session",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.asked("release") and seen.asked(r"\bcall\b") and gate_says(rb"^gtid-gate: lost the master during")(seen),
    ),
    Known(
        "COM_CHANGE_USER with a schema that was just dropped is OK",
        "the gate remembers for some time who may use it",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.command.startswith(("[change]", "[become]")) and seen.errors() == (1049, 0),
    ),
    Known(
        "SHOW COUNT(*) ERRORS behind the execution of a prepared statement that is not there",
        "MySQL adds it to the errors of the statement before",
        "docs/connecting.md, What a session is told",
        lambda seen: seen.field == "rows" and "count(*) errors" in seen.command.lower() and seen.asked(r"^\[execute\]"),
    ),
    Known(
        "random numbers of a session that has not set the seeds",
        "they are random",
        "nowhere",
        lambda seen: (
            seen.field == "rows"
            and "RAND()" in seen.command
            and not any("rand_seed" in str(command) and answer[-1][0] == "ok" for command, answer in seen.before)
        ),
    ),
    Known(
        "error 1105 for a statement that was prepared in a schema, once the current one has been dropped",
        "a connection that prepares it in its schema can't leave that again",
        "docs/connecting.md, What a session is told",
        gate_says(rb"^gtid-gate: this statement was prepared while a schema was current"),
    ),
    Known(
        "trackers after session_track_system_variables was set in a text that the gate can't read, or among several statements",
        "MySQL does not report it then",
        "docs/connecting.md, What a session is told",
        lambda seen: (
            seen.asked(r"(?s)(/\*!.*/\*|;).*session_track_system_variables|session_track_system_variables.*;")
            and only_trackers(seen, *ALL_KINDS)
        ),
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
