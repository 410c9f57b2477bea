"""One sequence on one side, and how the two sides are put back afterwards.

In:  a side (its door, its server), a sequence. Out: an answer for every command, and what others find afterwards.
Must never: let one sequence meet what another left.
"""

import contextlib
import re
import struct
import time

import fixtures
import wire
from commands import VICTIM

NEVER, DEFAULT = "never", "default"
UNKNOWN_STATEMENT = 99999
KEY_QUESTION = b"SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'"
GONE_S, MOMENT_S = 2, 0.2
PATIENCE = "SET innodb_lock_wait_timeout = {0}, lock_wait_timeout = {0}"
# Between two looks at what another server does by itself.
PAUSE_S = 0.005


class Side:
    """A door for clients (MySQL's or the gate's), and the server behind it, on which an administrator looks and repairs."""

    def __init__(self, name, door, server, names, administrator):
        self.name, self.door, self.names, self.dirty = name, door, names, fixtures.Touched.NOTHING
        self.administrator = wire.Connection(server, administrator, wire.MULTI_STATEMENTS | wire.DEPRECATE_EOF)
        self.ask(PATIENCE.format(1))
        self.locks_held = locks_question(names)

    def ask(self, *statements):
        """Answers to statements of the administrator, sent at once."""
        for statement in statements:
            self.administrator.queue(wire.QUERY + (statement if isinstance(statement, bytes) else statement.encode()))
        self.administrator.flush()
        return [self.administrator.answer() for _ in statements]

    def build(self):
        for statement, answer in zip(fixtures.build(self.names), self.ask(*fixtures.build(self.names))):
            assert answer[-1][0] != "error", (statement, answer)

    def remove(self):
        self.ask(*fixtures.remove(self.names))

    def repair(self):
        """What the last sequence left goes; afterwards both sides are as built."""
        touched, self.dirty = self.dirty, fixtures.Touched.NOTHING
        if not touched:
            return
        statements = [PATIENCE.format(30), *fixtures.repair(self.names, touched), PATIENCE.format(1)]
        for statement, answer in zip(statements, self.ask(*statements)):
            assert answer[-1][0] != "error", (self.name, statement, answer)

    def locks(self):
        """What sessions hold on this worker's schemas, and its named lock."""
        return sorted(set(self.ask(self.locks_held)[0][0][3]))

    def left(self):
        """What others find when the client has gone: rows; locks, unless they go in time."""
        deadline = time.monotonic() + GONE_S
        while (held := self.locks()) and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
        rows = self.ask(*fixtures.stored_rows(self.names)) if self.dirty else []
        return [("rows", tuple(answer[0][3] for answer in rows)), ("locks", tuple(held))]


def locks_question(names):
    schemas = ", ".join(f"'{schema}'" for schema in (*names.lasting, names.droppable))
    return (
        "SELECT object_type, object_schema, object_name, lock_type FROM performance_schema.metadata_locks "
        "JOIN performance_schema.threads ON thread_id = owner_thread_id "
        "WHERE lock_status = 'GRANTED' AND processlist_user IN ('fuzz', 'fuzz_é', 'fuzz_expired', 'fuzz_role') AND "
        f"(object_type = 'TABLE' AND object_schema IN ({schemas}) OR object_type = 'USER LEVEL LOCK' AND object_name = '{names.lock}')"
    )


def play(side, sequence, mode, reference=None):
    """Runs it; a list of (what was asked, answer): the login first, what is left last. `reference`: what MySQL answered."""
    side.repair()
    side.dirty = sequence.touched
    player = Player(side, sequence, mode, reference)
    with contextlib.closing(player):
        answers = player.run()
    return [*answers, ("what others find", side.left())]


class Player:
    def __init__(self, side, sequence, mode, reference):
        self.side, self.sequence, self.mode, self.reference = side, sequence, mode, reference
        self.statements, self.victims, self.victim, self.connection = {}, [], None, None
        self.answers, self.awaited = [], []

    def close(self):
        for connection in (self.victim, self.connection):
            if connection:
                connection.close()

    def run(self):
        sequence = self.sequence
        account = (sequence.account, fixtures.PASSWORD)
        try:
            self.connection = wire.Connection(self.side.door, account, sequence.capabilities, sequence.charset, sequence.database)
            self.note("login", [self.connection.login])
            if self.connection.login[0] != "error":
                self.run_commands()
        except (wire.Closed, TimeoutError) as error:
            self.note("connection", [("closed" if isinstance(error, wire.Closed) else "silent",)])
        return self.answers

    def run_commands(self):
        self.choose_servers()
        for command in self.sequence.commands:
            getattr(self, f"do_{command.kind}")(command)
            if not self.sequence.pipelined:
                self.read_all()
        self.read_all()

    def choose_servers(self):
        if not self.sequence.bare or self.mode == NEVER:
            servers, wait = ("'never'", 10000) if self.mode == NEVER else ("NULL", "NULL")
            self.send("(who may answer)", wire.QUERY + f"SET @multimed_master_reads = {servers}, @multimed_wait_ms = {wait}".encode())

    def send(self, command, payload, read=None):
        self.connection.queue(payload)
        self.awaited.append((command, read or self.connection.answer))

    def read_all(self):
        awaited, self.awaited = self.awaited, []
        self.connection.flush()
        for command, read in awaited:
            self.note(command, read())

    def note(self, command, answer):
        for number in self.victims:
            answer = [with_victim(part, str(number).encode()) for part in answer]
        self.answers.append((command, answer))

    def expected(self):
        """MySQL's answer to the command whose answer comes next."""
        if self.reference and len(self.reference) > len(self.answers):
            return self.reference[len(self.answers)][1]
        return None

    # --- what the client sends --------------------------------------------------------------------------------

    def do_query(self, command):
        text = command.text
        if VICTIM in text and self.victim:
            text = text.replace(VICTIM, str(self.victim.id).encode())
        self.send(command, wire.QUERY + text)

    def do_init(self, command):
        self.send(command, wire.INIT_DB + command.text)

    def do_ping(self, command):
        self.send(command, wire.PING)

    def do_reset(self, command):
        self.statements.clear()
        self.send(command, wire.RESET)
        self.choose_servers()

    def do_change(self, command):
        self.change_user(command, command.text)

    def do_become(self, command):
        self.change_user(command, self.sequence.database, command.text)

    def change_user(self, command, database, user=None):
        self.statements.clear()
        self.read_all()
        self.note(command, self.connection.change_user(database, user))
        if self.answers[-1][1][0][0] == "error":
            raise wire.Closed
        self.choose_servers()

    def do_option(self, command):
        self.send(command, wire.SET_OPTION + struct.pack("<H", 1 - int(command.text)), self.connection.option)

    def do_prepare(self, command):
        self.send(command, wire.PREPARE + command.text, self.connection.prepared)
        self.read_all()
        self.statements[command.slot] = self.connection.statement

    def do_execute(self, command):
        self.send(command, wire.EXECUTE + execution(self.statement(command), command))

    def do_fetch(self, command):
        """After an EXECUTE that has opened a cursor."""
        self.read_all()
        end = self.answers[-1][1][-1]
        if end[0] == "result" and end[2] and end[2] is end[4]:
            self.send(command, wire.FETCH + struct.pack("<II", self.statement(command), 2), self.connection.end_of_rows)

    def do_reset_statement(self, command):
        self.send(command, wire.RESET_STATEMENT + struct.pack("<I", self.statement(command)))

    def do_close(self, command):
        self.connection.queue(wire.CLOSE + struct.pack("<I", self.statement(command)))
        self.statements.pop(command.slot, None)

    def statement(self, command):
        return self.statements.get(command.slot) or UNKNOWN_STATEMENT

    # --- looks from outside -----------------------------------------------------------------------------------

    def do_outside(self, command):
        self.read_all()
        self.note(command, self.side.ask(command.text)[0])

    def do_locks(self, command):
        """Behind the gate only what is held beyond what MySQL holds counts, unless it goes in a moment: reads hold theirs elsewhere."""
        self.read_all()
        held, expected = self.side.locks(), self.expected()
        if expected is not None:
            allowed = list(expected[0][1]) if expected[0][0] == "locks" else []
            deadline = time.monotonic() + MOMENT_S
            while set(held) - set(allowed) and time.monotonic() < deadline:
                time.sleep(PAUSE_S)
                held = self.side.locks()
            held = sorted({*held, *allowed})
        self.note(command, [("locks", tuple(held))])

    def do_key(self, command):
        """Whether the RSA key that the server names is the one that it uses."""
        self.send(command, wire.QUERY + KEY_QUESTION)
        self.read_all()
        result = self.answers.pop()[1][0]
        with contextlib.closing(wire.Connection(self.side.door, (fixtures.OTHER_ACCOUNT.encode(), b"wrong"), only_key=True)) as asked:
            self.note(command, [("key", result[0] == "result" and (asked.public_key or b"none") in b"".join(result[3]))])

    def do_victim(self, command):
        self.read_all()
        if self.victim:
            self.victim.close()
        account = (command.text or b"fuzz", fixtures.PASSWORD)
        self.victim = wire.Connection(self.side.door, account)
        self.victims.append(self.victim.id)
        self.note(command, [self.victim.login])

    def do_alive(self, command):
        """Whether the victim lives after a moment, which a KILL may take."""
        self.read_all()
        expected = self.expected()
        moment = MOMENT_S if expected is None else 0 if expected[0][1] else GONE_S
        self.note(command, [("alive", self.victim is not None and lives(self.victim, moment))])


def uncut(message):
    """An error of syntax quotes 80 characters, among them an id that is of another length on each side: of these, what stands before it."""
    return re.sub(rb"(?s)(near '.*?" + re.escape(VICTIM) + rb").*' at", rb"\1...' at", message)


def with_victim(part, number):
    """An answer that has a victim's id: each side gives its own."""
    alone = re.compile(rb"(?<!\d)" + number + rb"(?!\d)")
    if part[0] == "error":
        return (*part[:3], uncut(alone.sub(VICTIM, part[3])))
    if part[0] == "result" and any(alone.search(value or b"") for row in part[3] if number in row for value in wire.row(row)):
        rows = (tuple(value and alone.sub(VICTIM, value) for value in wire.row(row)) for row in part[3])
        return (*part[:3], tuple(rows), part[4])
    return part


def lives(connection, moment):
    deadline = time.monotonic() + moment
    while True:
        connection.queue(wire.PING)
        connection.flush()
        try:
            if connection.answer()[0][0] == "error":
                return False
        except wire.Closed:
            return False
        if time.monotonic() > deadline:
            return True
        time.sleep(PAUSE_S)


def execution(statement, command):
    """COM_STMT_EXECUTE's body; values as strings and integers."""
    head = struct.pack("<IBI", statement, 1 if command.cursor else 0, 1)
    if not command.values:
        return head
    nulls = bytearray((len(command.values) + 7) // 8)
    kinds, data = b"", b""
    for place, value in enumerate(command.values):
        if value is None:
            nulls[place // 8] |= 1 << place % 8
            kinds += b"\x06\0"
        elif isinstance(value, int):
            kinds += b"\x08\0"
            data += struct.pack("<q", value)
        else:
            kinds += b"\xfd\0"
            data += bytes((len(value),)) + value.encode()
    return head + bytes(nulls) + b"\1" + kinds + data
