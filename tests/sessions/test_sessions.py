"""A bounded part of make fuzz-sessions: what a session is told through the gate is what MySQL tells it."""

import pytest

import fuzz_sessions
import servers

SEQUENCES = 100


@pytest.mark.timeout(900)
def test_random_sessions_get_through_the_gate_what_mysql_gives_them(stack):
    with servers.running(stack) as places:
        played, differences = fuzz_sessions.many(places, first=1, last=SEQUENCES, minutes=12)
    assert played == SEQUENCES, "time was up"
    assert not differences, "\n\n".join(differences[:10])
