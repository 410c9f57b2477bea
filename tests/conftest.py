"""Fixtures that every test may use, and the order of the tests: quick ones first, faults last."""

import collections
import os

import pytest

from support.load import Writers
from support.stack import Stack
from support.wait import wait_for as wait_until


@pytest.fixture(scope="session")
def stack():
    """The running test stack (support/stack.py); brought up if it does not run."""
    running = Stack()
    running.up()
    return running


@pytest.fixture(scope="session")
def wait_for():
    return wait_until


@pytest.fixture(scope="session")
def load():
    """load(stack, connect=None, threads=4, pace_s=0): writers as a context manager (support/load.py); through the gate by default,
    each waiting so long between two transactions."""
    return lambda stack, connect=None, threads=4, pace_s=0.0: Writers(stack, connect or stack.gate_connect, threads, pace_s)


@pytest.fixture(autouse=True)
def nothing_stays_stopped(request):
    """A process that a test has stopped goes on after it, however the test ended."""
    yield
    if "stack" in request.fixturenames:
        request.getfixturevalue("stack").resume_all()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """What the stack looked like when a test failed: a failure that comes once must be explained by its output alone."""
    report = yield
    if report.failed and "stack" in item.funcargs:
        report.sections.append(("the stack at that moment", item.funcargs["stack"].portrait()))
    return report


def pytest_collection_modifyitems(items):
    if os.environ.get("NIGHTLY") == "skip":
        cases = collections.Counter()
        for item in items:
            nightly = item.get_closest_marker("nightly")
            cases[item.path, item.originalname] += 1
            if nightly and cases[item.path, item.originalname] > nightly.kwargs.get("keep", 0):
                item.add_marker(pytest.mark.skip(reason="make test-nightly runs it"))
    order = ("before_faults", "fault", "final")
    items.sort(key=lambda item: max((order.index(mark.name) + 1 for mark in item.iter_markers() if mark.name in order), default=0))
