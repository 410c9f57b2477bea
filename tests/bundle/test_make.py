"""What `make` offers, and what it refuses."""

import json
import os
import re
import shutil
import socket

import pytest

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


@pytest.fixture
def clone(tmp_path):
    """clone(*command, file=text…): what it says in a copy with these files, whose `bin/engine` only leaves the file touched; clone.path."""
    for name in containers.run(
        "git", "ls-files", "bin", "mysql-satellite", "mysql-master", "docker-compose.yml", ".env.example"
    ).stdout.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.join(containers.ROOT, name), tmp_path / name)
    (tmp_path / "bin/engine").write_text("#!/bin/sh\ntouch touched\nexit 3\n")

    def run(*command, **files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return containers.run("env", "-i", f"PATH={os.environ['PATH']}", "env", "-C", str(tmp_path), *command, check=False)

    run.path = tmp_path
    return run


def test_up_names_every_mistake_before_it_touches_anything(clone):
    done = clone("bin/up", **{"multimed.yml": "mashine: {}\nmaster: {memory: 1m}\n", ".env": "STATUS_PORT=x\nGATE_WAIT_MS=soon\n"})
    assert done.returncode == 64
    for each in ("mashine", "MASTER_MEMORY=1m is too small", "STATUS_PORT=x is not a port", "GATE_WAIT_MS=soon is not"):
        assert each in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        front, gate = one.getsockname()[1], other.getsockname()[1]
        env = f"COMPOSE_PROJECT_NAME=multimed-test-none\nFRONT_PORT={front}\nGATE_PORT={gate}\n"
        done = clone("bin/up", **{"multimed.yml": "", ".env": env})
    assert done.returncode == 1
    for each in (f"GATE_PORT: 127.0.0.1:{gate} is in use", f"FRONT_PORT: 127.0.0.1:{front} is in use"):
        assert each in done.stderr
    assert not (clone.path / "touched").exists() and not (clone.path / "compose.layout.yml").exists()
    assert clone("bin/up").returncode == 3 and (clone.path / "touched").exists(), "without mistakes it goes on"


def test_plan_reads_an_override_that_make_up_has_not_seen_yet_and_says_what_it_does_not_know_of_images(clone):
    own = "services: {theirs: {image: x}}"
    done = clone("bin/plan", **{".env": "COMPOSE_PROJECT_NAME=multimed-test-none\n", "docker-compose.override.yml": own})
    assert "  theirs        new\n" in done.stdout, done.stderr
    assert "which of them are new, and who is made anew for that, is not known before" in done.stdout
    assert "COMPOSE_FILE" not in (clone.path / ".env").read_text(), "it changes nothing"
    assert "images:" not in clone("env", "UP_IMAGES=keep", "bin/plan").stdout
