"""A client of the log's broker that asks for what it must not get.

In: an address, an account. Out: the broker's error codes. Speaks the oldest forms of Kafka's protocol that a 4.x broker knows,
so that a test needs neither Kafka's tools nor their JVMs. Must never: change the log, even where the broker would allow it.
"""

import socket
import struct

TOPIC = "multimed.log"
TOPIC_AUTHORIZATION_FAILED = 29
CLUSTER_AUTHORIZATION_FAILED = 31
SASL_AUTHENTICATION_FAILED = 58
PRODUCE, CREATE_TOPICS, DELETE_TOPICS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 0, 19, 20, 17, 36
TIMEOUT_MS = 5000


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def data(value):
    return struct.pack(">i", len(value)) + value


def array(*items):
    return struct.pack(">i", len(items)) + b"".join(items)


class Broker:
    """One connection; without a user, an anonymous one."""

    def __init__(self, host, user=None, password=None):
        self._socket = socket.create_connection((host, 9092), timeout=10)
        try:
            self.login_error = self._login(user, password) if user else None
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _ask(self, key, version, body):
        """Raises ConnectionError if the broker hangs up."""
        self._socket.sendall(data(struct.pack(">hhi", key, version, 1) + text("tests") + body))
        answer = self._read(struct.unpack(">i", self._read(4))[0])
        return answer[4:]

    def _read(self, length):
        got = b""
        while len(got) < length:
            more = self._socket.recv(length - len(got))
            if not more:
                raise ConnectionError("the broker hung up")
            got += more
        return got

    def _login(self, user, password):
        (error,) = struct.unpack_from(">h", self._ask(SASL_HANDSHAKE, 1, text("PLAIN")))
        assert error == 0, f"the broker does not take PLAIN: {error}"
        return struct.unpack_from(">h", self._ask(SASL_AUTHENTICATE, 0, data(f"\0{user}\0{password}".encode())))[0]

    def append(self):
        """Appends what is no record batch: whoever may write is told that it is none."""
        batch = array(struct.pack(">i", 0) + data(b"no record batch"))
        answer = self._ask(PRODUCE, 3, struct.pack(">hhi", -1, -1, TIMEOUT_MS) + array(text(TOPIC) + batch))
        return struct.unpack_from(">h", answer, 4 + len(text(TOPIC)) + 4 + 4)[0]

    def create_topic(self, name):
        """Asks whether it could."""
        topic = text(name) + struct.pack(">ih", 1, 1) + array() + array()
        answer = self._ask(CREATE_TOPICS, 2, array(topic) + struct.pack(">i?", TIMEOUT_MS, True))
        return struct.unpack_from(">h", answer, 4 + 4 + len(text(name)))[0]

    def delete_topic(self, name):
        answer = self._ask(DELETE_TOPICS, 1, array(text(name)) + struct.pack(">i", TIMEOUT_MS))
        return struct.unpack_from(">h", answer, 4 + 4 + len(text(name)))[0]
