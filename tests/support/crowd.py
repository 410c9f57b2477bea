"""Many clients that connect at once.

In: where. Out: what each was told first. Must never: count a client that was told nothing, or something else than a greeting or
error 1040.
"""

import collections
import resource
import select
import socket
import struct
import time

GREETING, ERROR, TOO_MANY = 10, 0xFF, 1040


def connect(address, count=3500, within_s=10.0):
    """Connects `count` clients to (host, port), all before any of them leaves. Returns {"greeting": n, 1040: n}."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, max(hard, count + 200)))
    clients, told, poll = {}, collections.Counter(), select.epoll()
    end = time.monotonic() + within_s
    try:
        for _ in range(count):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(address)
            clients[client.fileno()] = client
            poll.register(client, select.EPOLLIN)
        while sum(told.values()) < count:
            left = end - time.monotonic()
            assert left > 0, f"{count - sum(told.values())} of {count} have no answer within {within_s} s: {told}"
            for number, _ in poll.poll(left):
                told[first_words(clients[number])] += 1
                poll.unregister(number)
    finally:
        poll.close()
        for client in clients.values():
            client.close()
    return dict(told)


def first_words(client):
    """What a server has said: a packet is sent in one piece here."""
    data = client.recv(4096)
    assert len(data) > 7, f"closed after {data!r}"
    if data[4] == GREETING:
        return "greeting"
    code = struct.unpack_from("<H", data, 5)[0]
    assert data[4] == ERROR and code == TOO_MANY, data
    return code
