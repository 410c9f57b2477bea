"""Live records, from outside: who gets transactions straight from capture."""

import time

from .wait import wait_for

LIVE = "multimed_applier_live"
APPLIERS = ("applier-1", "applier-2")


def live(stack, applier):
    return stack.metrics(applier).total(LIVE) == 1


def write_until_live(stack, appliers=APPLIERS):
    """An applier begins to follow capture when it has got a transaction from the log that was committed a moment ago."""
    stack.sql("master", "CREATE TABLE IF NOT EXISTS app.live (id BIGINT PRIMARY KEY)")

    def write():
        stack.sql("master", "INSERT INTO app.live VALUES (%s)", (time.time_ns(),))
        return all(live(stack, applier) for applier in appliers)

    wait_for(write, 60, "appliers to follow capture")
