import os

import pytest

from support import compose as containers

from plain_stack import Plain, clone


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """The stack, from a clone to two satellites that serve; KEEP=1 leaves it."""
    stack = Plain(clone(tmp_path_factory.mktemp("clone")))
    try:
        stack.up(containers.setting("MULTIMED_VERSION"), tmp_path_factory.mktemp("work"))
        yield stack
    finally:
        if not os.environ.get("KEEP"):
            stack.remove()
