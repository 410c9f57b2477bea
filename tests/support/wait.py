"""Waiting without sleeping blindly.

In: a predicate and a deadline. Out: the predicate's first truthy value. Must never: wait longer than the deadline
plus one call of the predicate, or hide why it gave up.
"""

import time

# No deadline is about speed: a machine that stands still for some seconds fails nothing.
LEAST_S = 30


def wait_for(predicate, deadline_s, what):
    """Like poll, and never gives up before LEAST_S."""
    return poll(predicate, max(deadline_s, LEAST_S), what)


def poll(predicate, deadline_s, what):
    """Calls predicate every 50 ms until it is truthy; an exception counts as `not yet` and is shown at the end."""
    end = time.monotonic() + deadline_s
    while True:
        try:
            last = predicate()
            if last:
                return last
        except Exception as error:  # what is not there yet may fail in any way
            last = error
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s} s: {what}; last: {last!r}")
        time.sleep(0.05)
