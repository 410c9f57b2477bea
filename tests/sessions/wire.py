"""A client of MySQL's protocol that hides nothing: every packet of every answer, field by field.

In:  an address, an account, capabilities; commands as bytes. Out: answers as lists of tuples (see `answer`). Commands may be
     sent before the answers to earlier ones were read.
Must never: retry, reconnect, or repair what a server sends.
"""

import hashlib
import socket
import struct

import oaep

CONNECT_WITH_DB, MULTI_STATEMENTS, TRACK, DEPRECATE_EOF = 8, 1 << 16, 1 << 23, 1 << 24
FOUND_ROWS, IGNORE_SPACE, EXPIRED_PASSWORDS = 2, 256, 1 << 22
# LONG_PASSWORD, LONG_FLAG, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS, PS_MULTI_RESULTS, PLUGIN_AUTH: as every client of today.
ALWAYS = 1 | 4 | 512 | 8192 | 1 << 15 | 1 << 17 | 1 << 18 | 1 << 19

MORE_RESULTS, CURSOR_EXISTS, OUT_PARAMETERS, TRACKERS_FOLLOW = 8, 64, 0x1000, 0x4000
TIMEOUT_S = 20
TRACKER_KINDS = {1: "schema", 2: "state", 3: "gtids", 4: "characteristics", 5: "transaction"}
QUERY, INIT_DB, PING, CHANGE_USER, PREPARE, EXECUTE, CLOSE, RESET_STATEMENT, SET_OPTION, FETCH, RESET = (
    b"\x03", b"\x02", b"\x0e", b"\x11", b"\x16", b"\x17", b"\x19", b"\x1a", b"\x1b", b"\x1c", b"\x1f",
)  # fmt: skip


class Closed(Exception):
    """The server has closed the connection."""


def integer(data, at):
    """A length-encoded integer and the position after it."""
    first = data[at]
    if first < 0xFB:
        return first, at + 1
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


def string(data, at):
    """A length-encoded string and the position after it."""
    size, at = integer(data, at)
    return data[at : at + size], at + size


def scramble(password, nonce):
    """The answer of caching_sha2_password."""
    if not password:
        return b""
    once = hashlib.sha256(password).digest()
    mask = hashlib.sha256(hashlib.sha256(once).digest() + nonce).digest()
    return bytes(x ^ y for x, y in zip(once, mask))


def trackers(data):
    """What an OK packet says about the session, in its order: (kind, ...) each."""
    found, at = [], 0
    while at < len(data):
        kind = data[at]
        part, at = string(data, at + 1)
        if kind == 0:
            name, inner = string(part, 0)
            found.append(("variable", name, string(part, inner)[0]))
        elif kind == 3:
            found.append(("gtids", part))
        else:
            found.append((TRACKER_KINDS.get(kind, kind), string(part, 0)[0]))
    return tuple(found)


def row(packet):
    """A text row's values."""
    values, at = [], 0
    while at < len(packet):
        if packet[at] == 0xFB:
            values.append(None)
            at += 1
        else:
            value, at = string(packet, at)
            values.append(value)
    return tuple(values)


def more_results(result):
    """Of OUT parameters only the packet before their row says so."""
    if result[0] != "result":
        return result[3] & MORE_RESULTS
    _, _, between, _, end = result
    return end[0] != "error" and (end[3] & MORE_RESULTS or between and between[3] & OUT_PARAMETERS)


class Connection:
    """A logged in session. `login` is the OK packet of its login. `only_key`: gets the server's RSA key, which a password that is not
    the account's brings about, and goes no further."""

    def __init__(self, address, account, capabilities=0, charset=255, database=None, only_key=False):
        self.account, self.charset = account, charset
        # A wrong password makes later logins from its address wait.
        source = ("127.0.0.2", 0) if only_key and address[0].startswith("127.") else None
        self.socket = socket.create_connection(address, timeout=TIMEOUT_S, source_address=source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received, self.position, self.unsent = b"", 0, []
        self.public_key, self.only_key = None, only_key
        try:
            self.login = self._log_in(ALWAYS | capabilities, database)
        except BaseException:
            self.close()
            raise

    def close(self):
        self.socket.close()

    # --- packets ----------------------------------------------------------------------------------------------

    def queue(self, payload, number=0):
        """Sent with the next `flush`."""
        self.unsent.append(len(payload).to_bytes(3, "little") + bytes((number,)) + payload)

    def flush(self):
        if self.unsent:
            data, self.unsent = b"".join(self.unsent), []
            try:
                self.socket.sendall(data)
            except (ConnectionError, BrokenPipeError):
                pass  # what the server said before it closed is still to be read

    def packet(self):
        self._need(4)
        at = self.position
        size = int.from_bytes(self.received[at : at + 3], "little")
        self.number = self.received[at + 3]
        self._need(4 + size)
        at = self.position + 4
        self.position = at + size
        return self.received[at : at + size]

    def _need(self, size):
        while len(self.received) - self.position < size:
            try:
                more = self.socket.recv(65536)
            except ConnectionError as error:
                raise Closed from error
            if not more:
                raise Closed
            self.received = self.received[self.position :] + more
            self.position = 0

    # --- login ------------------------------------------------------------------------------------------------

    def _log_in(self, capabilities, database):
        greeting = self.packet()
        if greeting[0] == 0xFF:
            return self.error(greeting)
        at = greeting.index(b"\0", 1) + 1
        self.id = struct.unpack_from("<I", greeting, at)[0]
        nonce = greeting[at + 4 : at + 12] + greeting[at + 31 : at + 43]
        if database is not None:
            capabilities |= CONNECT_WITH_DB
        self.capabilities = capabilities
        user, password = self.account
        answer = scramble(password, nonce)
        self.queue(
            struct.pack("<IIB23x", capabilities, 1 << 24, self.charset)
            + user + b"\0" + bytes((len(answer),)) + answer
            + (database + b"\0" if database is not None else b"") + b"caching_sha2_password\0",
            1,
        )  # fmt: skip
        self.flush()
        return self._finish_login(nonce)

    def _finish_login(self, nonce):
        """Follows the server through its questions to the OK or error packet."""
        while True:
            packet = self.packet()
            if packet[0] == 0xFE:
                nonce = packet[packet.index(b"\0", 1) + 1 :].rstrip(b"\0")
                self._reply(scramble(self.account[1], nonce))
            elif packet[:2] == b"\x01\x04":
                self._reply(b"\2")
                self.public_key = self.packet()[1:]
                if self.only_key:
                    return None
                self._reply(oaep.encrypted(self.account[1], nonce, self.public_key))
            elif packet[0] != 1:
                return self.error(packet) if packet[0] == 0xFF else self.ok(packet)

    def _reply(self, payload):
        self.queue(payload, self.number + 1)
        self.flush()

    def change_user(self, database, user=None):
        """COM_CHANGE_USER, to the same account if none is named; its last packet."""
        self.account = (user or self.account[0], self.account[1])
        user, password = self.account
        # The server sends a nonce of its own when the answer is empty.
        self.queue(
            CHANGE_USER + user + b"\0" + b"\0" + (database or b"") + b"\0" + struct.pack("<H", self.charset) + b"caching_sha2_password\0"
        )
        self.flush()
        return [self._finish_login(b"")]

    # --- answers ----------------------------------------------------------------------------------------------

    def answer(self):
        """All results of a command: ("ok", …), ("error", …), or ("result", columns, between, rows, end), row packets as they are."""
        results = []
        while True:
            packet = self.packet()
            if packet[0] == 0xFF:
                results.append(self.error(packet))
                return results
            result = self.ok(packet) if packet[0] == 0 else self._result_set(packet)
            results.append(result)
            if not more_results(result):
                return results

    def end_of_rows(self):
        """COM_STMT_FETCH's answer."""
        packet = self.packet()
        if packet[0] == 0xFF:
            return [self.error(packet)]
        rows = []
        while not self._is_end(packet):
            if packet[0] == 0xFF:
                return [("rows", tuple(rows)), self.error(packet)]
            rows.append(packet)
            packet = self.packet()
        return [("rows", tuple(rows)), self._end(packet)]

    def prepared(self):
        """COM_STMT_PREPARE's answer; `statement` is its id (None: refused)."""
        self.statement = None
        packet = self.packet()
        if packet[0] == 0xFF:
            return [self.error(packet)]
        self.statement, columns, parameters, warnings = struct.unpack_from("<IHHxH", packet, 1)
        definitions = tuple(self._definitions(count) for count in (parameters, columns))
        return [("prepared", parameters, columns, warnings, *definitions)]

    def option(self):
        """COM_SET_OPTION's answer: an EOF packet, whatever the capabilities."""
        packet = self.packet()
        if packet[0] == 0xFF:
            return [self.error(packet)]
        return [self.ok(packet) if packet[0] == 0 or len(packet) > 5 else self._end_of_file(packet)]

    def ok(self, packet):
        """("ok", affected rows, insert id, status, warnings, info, trackers)"""
        affected, at = integer(packet, 1)
        inserted, at = integer(packet, at)
        status, warnings = struct.unpack_from("<HH", packet, at)
        at += 4
        info, changes = b"", ()
        if not self.capabilities & TRACK:
            info = packet[at:]
        elif at < len(packet):
            info, at = string(packet, at)
            if status & TRACKERS_FOLLOW:
                changes = trackers(string(packet, at)[0])
        return ("ok", affected, inserted, status, warnings, info, changes)

    @staticmethod
    def error(packet):
        """("error", code, state, message)"""
        code = struct.unpack_from("<H", packet, 1)[0]
        if packet[3:4] == b"#":
            return ("error", code, packet[4:9], packet[9:])
        return ("error", code, b"", packet[3:])

    def _result_set(self, packet):
        columns, between = self._definitions(integer(packet, 0)[0], announced=True)
        if between and between[3] & CURSOR_EXISTS:
            return ("result", columns, between, (), between)
        rows = []
        while True:
            packet = self.packet()
            if packet[0] == 0xFF:
                return ("result", columns, between, tuple(rows), self.error(packet))
            if self._is_end(packet):
                return ("result", columns, between, tuple(rows), self._end(packet))
            rows.append(packet)

    def _definitions(self, count, announced=False):
        """Column definitions as they are; `announced`: with the EOF packet between them and rows, or None."""
        columns = tuple(self.packet() for _ in range(count))
        between = None
        if count and not self.capabilities & DEPRECATE_EOF:
            between = self._end(self.packet())
        return (columns, between)

    def _is_end(self, packet):
        return packet[0] == 0xFE and len(packet) < (0xFFFFFF if self.capabilities & DEPRECATE_EOF else 9)

    def _end(self, packet):
        """An EOF packet has the fields of an OK packet that it knows; the others are None."""
        if self.capabilities & DEPRECATE_EOF:
            return self.ok(packet)
        return self._end_of_file(packet)

    @staticmethod
    def _end_of_file(packet):
        warnings, status = struct.unpack_from("<HH", packet, 1)
        return ("end", None, None, status, warnings, None, ())
