"""Accounts that ask for more memory than there is are refused by MySQL's own errors; no server is killed. MEMORY_MINUTES=10 for so long on each."""

import functools
import os

import pymysql
import pytest

from support import compose as containers
from support import greedy
from support.stack import USER

SECONDS = 60 * float(os.environ.get("MEMORY_MINUTES", "0.1"))
SERVERS = ("master", "satellite-1", "satellite-2")


@pytest.fixture(autouse=True)
def nobody_is_killed(stack, incarnations):
    def starts():
        return {service: containers.inspect(service)["State"]["StartedAt"] for service in (*SERVERS, "gate")}

    before, master = starts(), stack.incarnation("master")
    yield
    assert starts() == before and stack.incarnation("master") == master
    assert {service: stack.incarnation(service) for service in stack.satellites} == incarnations, "a satellite's mysqld was ended"
    stack.await_satellites()


def direct(stack, service):
    return functools.partial(
        pymysql.connect,
        host=containers.address(service),
        user=USER,
        database=USER,
        ssl_disabled=True,
        password=stack.password(USER),
        connect_timeout=15,
        read_timeout=60,
        max_allowed_packet=1 << 30,
    )


def judge(stack, service, connect):
    with greedy.crowd(connect, 2000 if SECONDS > 60 else 300) as let_in:
        answers = greedy.attack(connect, SECONDS, sessions=16)
    with greedy.unfinished(connect, sessions=40):
        pass
    print(f"{service}: {dict(answers)}; idle sessions: {dict(let_in)}")
    assert answers


@pytest.mark.timeout(60 * 20)
@pytest.mark.parametrize("service", SERVERS[:2])
def test_no_account_has_a_server_killed(stack, table, service):
    judge(stack, service, direct(stack, service))


@pytest.mark.timeout(60 * 20)
def test_no_account_has_a_server_killed_through_the_gate(stack, table):
    judge(stack, "gate", stack.gate_connect)
