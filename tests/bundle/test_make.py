"""What `make` offers, and what it refuses."""

import json
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


def test_down_deletes_nothing_unless_somebody_says_so(stack):
    done = containers.run("make", "-s", "down", check=False, env={"YES": ""})
    assert done.returncode != 0 and "YES=1" in done.stderr and "64" in done.stderr
    asked = containers.run("script", "-qec", "make -s down", "/dev/null", check=False, input="no\n", env={"YES": ""})
    assert "nothing was removed" in asked.stdout
    assert containers.compose("ps", "-q", "master").stdout


def test_status_is_a_table_for_people_and_json_for_programs(stack):
    table = containers.run("make", "-s", "status").stdout.splitlines()
    servers = json.loads(containers.run("make", "-s", "status", env={"JSON": "1"}).stdout)
    assert table[0].startswith("master up; ")
    assert table[1].split()[:4] == ["server", "state", "lag", "reads"]
    assert [row.split()[:2] for row in table[2:]] == [[s["name"], s["state"]] for s in servers]


def test_status_of_a_gate_that_is_not_there_says_so():
    done = containers.run("make", "-s", "status", check=False, env={"STATUS_PORT": "1"})
    assert done.returncode != 0 and "does not answer on http://127.0.0.1:1 " in done.stderr
