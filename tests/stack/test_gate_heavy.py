"""Heavy queries beside light ones (GATE_HEAVY_MS)."""

import concurrent.futures
import contextlib

import pytest

TURNS = 4
HEAVY = 4 * TURNS


@pytest.fixture
def heavy_from_half_a_second(stack):
    """On each satellite four turns: one is for heavy queries, and two while the others are idle."""
    stack.recreate("gate", GATE_HEAVY_MS="500", GATE_SERVER_RUNNING=f"fixed:{TURNS}", GATE_QUEUE_MS="60000")
    try:
        yield
    finally:
        stack.recreate("gate")


def heavy(cursor, seconds):
    cursor.execute(f"SELECT SLEEP({seconds}), COUNT(*) FROM items")
    return cursor.fetchall()


def shown(stack, field):
    """Of each satellite."""
    return [server[field] for server in stack.servers() if server["role"] == "satellite"]


def test_light_queries_do_not_wait_behind_heavy_ones(stack, table, heavy_from_half_a_second):
    with contextlib.ExitStack() as opened:

        def session():
            connection = opened.enter_context(contextlib.closing(stack.gate_connect()))
            return opened.enter_context(connection.cursor())

        light, *others = (session() for _ in range(1 + HEAVY))
        # The gate learns what the shape takes; what runs meanwhile is not counted as heavy. A light one takes 20 ms on a busy machine, too.
        heavy(light, 1)
        with concurrent.futures.ThreadPoolExecutor(HEAVY) as pool:
            waiting = [pool.submit(heavy, cursor, 3) for cursor in others]
            stack.wait_for(lambda: sum(shown(stack, "heavy")) == HEAVY, 10, "heavy queries to run")
            for _ in range(20):
                assert light.execute("SELECT COUNT(*) FROM items") == 1
            now = shown(stack, "load")
            # Of those before them in the queue all but the last few would have ended. On a busy machine the first may have.
            assert sum(one.done() for one in waiting) <= HEAVY // 2, "the light ones waited for heavy ones"
            assert all(0 < count <= TURNS // 2 for count in now), now
            assert len([one.result() for one in waiting]) == HEAVY
    assert shown(stack, "heavy") == [0, 0]
