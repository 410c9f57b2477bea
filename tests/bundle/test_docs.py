"""Every command that README and docs/ tell a reader to type: run on the test stack, or checked in another way for a stated reason."""

import re
import shlex
from pathlib import Path

import pytest

from support import compose as containers

ROOT = Path(containers.ROOT)
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)

# Commands that are not run here, and where they are.
ELSEWHERE = {
    r"make (demo|test)": "takes minutes; CI runs make test, which brings up the same stack as make demo",
    r"make (up|images)": "make test's first step",
    r"make (stop|down|clean)": "ends the stack under test; test_make.py has what make down asks",
    r"make chaos( .*)?": "takes minutes; chaos/ runs a short one",
    r"make soak( .*)?": "takes an hour; chaos/test_soak.py tests what it judges by",
    r"make bench-(replication|gate|tpcw|changes)": "takes minutes; loadgen/tests has their parts",
    r"make prepare-tpcw": "stack/test_tpcw.py",
    r"make import FILE=dump\.sql DB=shop": "stack/test_replay_import.py",
    r"make precheck .*": "needs another server: stack/test_precheck_server.py",
    r"make (adopt|cutover) .*": "needs another server: stack/test_adopt.py",
    r"make (verify|compare)": "stack/test_verify.py, which knows when no load runs",
    r"make (scale|resize) .*": "stack/test_scale.py, test_roll.py; here it would write multimed.yml",
    r"make logs .* FOLLOW=1": "goes on until it is ended; test_operators.py has the rest",
    r"make rotate": "stack/test_rotate.py; here it would restart Kafka and what follows it under other tests",
    r"make layout": "test_layout.py; here it would replace the layout of the stack under test",
    r"docker compose up -d": "plain/test_plain.py",
    r"docker compose (stop|rm|run|start|up -d --no-deps) .*": "stack/test_history.py runs whole runbooks; here each line would run alone",
    r"docker volume rm .*": "the same",
    r"COMPOSE_PROFILES=observability make up": "stack/test_observability.py starts Prometheus alone",
    r"docker compose --profile observability up -d": "the same",
    r"sysbench loadgen/tpcw\.lua .*": "stack/test_tpcw.py",
    r"BENCH_ROUNDS=1 .*make bench-gate": "takes minutes",
    r"SATELLITE_TMPFS=5g .*make bench-tpcw": "needs a machine with 48 cores",
}


def commands():
    """(file, command) of each line in a block of shell, comments gone and lines that a backslash breaks joined."""
    for file in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]):
        for block in BLOCK.findall(file.read_text()):
            for line in block.replace("\\\n", "").splitlines():
                command = shlex.join(shlex.split(line, comments=True))
                if command:
                    yield file.name, command


def reason(command):
    return next((why for pattern, why in ELSEWHERE.items() if re.fullmatch(pattern, command)), None)


RUN = sorted({c for _, c in commands() if not reason(c)})
NOT_RUN = sorted({c for _, c in commands() if reason(c)})


def test_there_are_commands():
    assert len(RUN) >= 8 and len(NOT_RUN) >= 8


@pytest.fixture(scope="module")
def limits(stack):
    """Those of the satellite whose limits the page about operations changes."""
    yield
    containers.compose("exec", "-T", "gate", "gtid-gate", "limit", "satellite-2", "running=default", "connections=default")


@pytest.mark.parametrize("command", RUN)
def test_a_documented_command_works(limits, command):
    command = command.replace("127.0.0.1:8080", "127.0.0.1:$STATUS_PORT").replace("NAME=app DB=shop", "NAME=documented DB=documented")
    done = containers.run("bash", "-c", command, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", [c for c in NOT_RUN if re.search(r"\bmake ", c)])
def test_a_documented_target_exists(command):
    target = re.search(r"\bmake ([a-z-]+)", command)[1]
    done = containers.run("make", "-n", target, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_stands_in_the_list_that_no_page_has():
    texts = [c for _, c in commands()]
    assert [p for p in ELSEWHERE if not any(re.fullmatch(p, text) for text in texts)] == []
