"""Row by row, definition by definition, account by account: what all other tests have left on the satellites is what the
master has. Once before the faults, since a rebuilt satellite would hide what replay did wrong; once after them."""

import pytest


@pytest.mark.before_faults
def test_satellites_equal_the_master_after_everything_that_was_replayed(stack):
    assert stack.compare().count("identical") == len(stack.satellites)


@pytest.mark.final
def test_satellites_equal_the_master_after_all_faults(stack):
    stack.await_satellites(deadline_s=120)
    assert stack.compare().count("identical") == len(stack.satellites)
