"""What `make soak` judges memory by; the run itself takes an hour."""

import pytest

from chaos_judge import Broken
from chaos_soak import Soak, growth


def samples(*heaps):
    return [{("capture", "heap"): heap, ("gate", "private"): 10.0 + minute % 3} for minute, heap in enumerate(heaps)]


def judged(given):
    said = []
    soak = Soak(None, len(given), 1, said.append)
    soak.samples = given
    soak.judge_growth()
    return said


def test_the_first_sixth_does_not_count():
    assert growth(samples(50, 60, *[100] * 10))["capture", "heap"] == (100, 100)


def test_memory_that_is_flat_is_right():
    assert len(judged(samples(*[60, 100] * 6))) == 2


def test_memory_that_grows_is_found():
    with pytest.raises(Broken, match="capture heap"):
        judged(samples(*range(100, 112)))


def test_a_small_process_may_vary():
    assert len(judged(samples(*[1.0] * 6, *[1.5] * 6))) == 2
