"""What `make` offers, and what it refuses."""

import re

from support import compose as containers


def test_help_lists_every_target_with_one_line():
    makefile = containers.ROOT + "/Makefile"
    with open(makefile) as file:
        targets = re.search(r"^\.PHONY: (.*)$", file.read(), re.MULTILINE)[1].split()
    lines = containers.run("make", "-s", "help").stdout.splitlines()
    assert [line.split()[0] for line in lines] == targets
    assert all(len(line.split()) > 1 and len(line) < 120 for line in lines)


def test_make_without_a_target_is_help():
    assert containers.run("make", "-s").stdout == containers.run("make", "-s", "help").stdout


def test_import_names_every_mistake_at_once():
    done = containers.run("make", "-s", "import", check=False, env={"FILE": "/no/such/file", "DB": "no such name"})
    assert "FILE=/no/such/file" in done.stderr and "DB=no such name" in done.stderr
    assert "64" in done.stderr


def test_user_names_every_mistake_at_once(stack):
    done = containers.run("make", "-s", "user", check=False, env={"NAME": "multimed_gate", "DB": "mysql", "PASSWORD_FILE": "/no/such"})
    for each in ("NAME=multimed_gate", "DB=mysql", "/no/such"):
        assert each in done.stderr
    assert "64" in done.stderr
