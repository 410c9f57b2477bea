"""bin/images builds side by side: all of it, or an error that leaves nothing running. Docker is made up; every base image can be pulled."""

import os
import pathlib
import shutil
import time

import pytest

from support import compose as containers

ROOT = pathlib.Path(containers.ROOT)
DOCKER = """#!/bin/bash
case $1 in
  build)
    [[ -z ${FAILING:-} || "$*" != *"$FAILING"* ]] || { while [[ ! -s $0.waiting ]]; do :; done; echo no space left; exit 1; }
    [[ -z ${FAILING:-} ]] || { echo $$ >> "$0.waiting"; exec sleep 120; }
    echo "$*" >> "$0.built" ;;
esac
"""


@pytest.fixture
def images(tmp_path):
    """images(NAME=value...) -> what bin/images said and did in a copy of the repository's scripts."""
    shutil.copytree(ROOT / "bin", tmp_path / "bin", ignore=shutil.ignore_patterns("target"))
    shutil.copytree(ROOT / "mysql-satellite", tmp_path / "mysql-satellite")
    shutil.copy(ROOT / ".env.example", tmp_path)
    docker = tmp_path / "tools/docker"
    docker.parent.mkdir()
    docker.write_text(DOCKER)
    docker.chmod(0o755)

    def run(**settings):
        env = {"PATH": f"{docker.parent}:{os.environ['PATH']}", "MULTIMED_VERSION": "test", "GATE_FEATURES": "", **settings}
        return containers.run(str(tmp_path / "bin/images"), check=False, timeout=60, env=env)

    run.folder = tmp_path
    run.docker = docker
    return run


def lines(file):
    return pathlib.Path(file).read_text().splitlines()


def test_every_image_is_built_and_noted_for_the_layout(images):
    done = images()
    assert done.returncode == 0, done.stderr
    built = {line.split()[2] for line in lines(f"{images.docker}.built")}
    names = ("mysql-master", "mysql-satellite", "cdc-applier", "gtid-gate", "proxysql")
    assert built == {f"multimed/{name}:test" for name in names}
    assert lines(images.folder / ".state/images.env") == ["PROXYSQL=image"]


def stale(images, **settings):
    command = ("bash", "-euc", '. "$0/bin/lib.sh"; load_env; stale_images', str(images.folder))
    done = containers.run(*command, check=False, env={"MULTIMED_VERSION": "test", "GATE_FEATURES": "", **settings})
    return done.stdout.splitlines() if done.returncode == 0 else None


def test_what_was_built_of_other_settings_or_sources_is_known_before_it_is_built_anew(images):
    assert stale(images) is None
    assert images().returncode == 0
    assert stale(images) == []
    assert stale(images, RUST_IMAGE="rust:next") == ["gtid-gate: gate-port, gate"]
    (images.folder / "mysql-satellite/my.cnf").write_text("changed")
    assert stale(images) == ["mysql: master, satellites"]
    assert images().returncode == 0
    (images.folder / "mysql-satellite/layout").write_text("no image has it")
    assert stale(images) == []


@pytest.mark.parametrize(
    "version,suits",
    [("2.20.2", False), ("v2.24.3", False), ("1.29.2", False), ("2.24.4", True), ("v2.24.4-desktop.1", True), ("5.0.1", True)],
)
def test_a_compose_that_does_not_know_what_the_layout_says_does_not_do(images, version, suits):
    images.docker.write_text(f'#!/bin/sh\n[ "$1" != compose ] || echo {version}\n')
    # It would install one.
    (images.docker.parent / "id").write_text("#!/bin/sh\necho 1000\n")
    (images.docker.parent / "id").chmod(0o755)
    done = containers.run(
        str(images.folder / "bin/engine"), "up", check=False, env={"PATH": f"{images.docker.parent}:{os.environ['PATH']}"}
    )
    assert (done.returncode == 0) == suits, done.stderr
    assert suits or "cannot install Compose v2 without root" in done.stderr


def test_a_build_that_fails_ends_those_beside_it(images):
    done = images(FAILING="multimed/gtid-gate")
    assert done.returncode != 0
    assert "building multimed/gtid-gate:test failed" in done.stderr and "no space left" in done.stderr
    assert not (images.folder / ".state/images.env").exists()
    deadline = time.monotonic() + 10
    left = {int(line) for line in lines(f"{images.docker}.waiting")}
    while left and time.monotonic() < deadline:
        left = {process for process in left if os.path.exists(f"/proc/{process}")}
    assert not left, "builds go on that nobody waits for"
