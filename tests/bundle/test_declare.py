"""What `make scale` and `make resize` write into multimed.yml, and what they refuse."""

import fcntl
import os

import pytest

from support import compose as containers

NEEDED = (
    *("bin/lib.sh", "bin/scale", "bin/resize", ".env.example", "mysql-master/lib.sh"),
    *(f"mysql-satellite/{name}" for name in ("declare.py", "declared.py", "dealing.py", "layout", "picture.py", "multimed.schema.json")),
)


@pytest.fixture
def make(tmp_path):
    """make("scale", "text of multimed.yml", NAME=value…) -> (exit status, stderr, the new text), in a copy whose `up` does nothing."""
    for name in NEEDED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(open(os.path.join(containers.ROOT, name), "rb").read())
        (tmp_path / name).chmod(0o755)
    (tmp_path / "bin/up").write_text('#!/bin/bash\nset -e\nme=up\n. "${0%/*}/lib.sh"\nalone\necho "up${SATELLITES+ $SATELLITES}"\n')
    (tmp_path / "bin/up").chmod(0o755)

    def run(command, text, **settings):
        file = tmp_path / "multimed.yml"
        if text is not None:
            file.write_text(text)
        given = (f"{name}={value}" for name, value in settings.items())
        done = containers.run("env", "-i", f"PATH={os.environ['PATH']}", *given, str(tmp_path / "bin" / command), check=False)
        assert not list(tmp_path.glob("*.new"))
        assert (done.stdout == "up\n") == (done.returncode == 0)
        return done.returncode, done.stderr, file.read_text() if file.exists() else None

    return run


@pytest.mark.nightly(keep=3)
@pytest.mark.parametrize(
    "before,after",
    [
        (None, "satellites:\n  count: 3\n"),
        ("", "satellites:\n  count: 3\n"),
        ("# mine\n#log:", "# mine\n#log:\nsatellites:\n  count: 3\n"),
        ("master:\n  memory: 3g", "master:\n  memory: 3g\nsatellites:\n  count: 3\n"),
        ("satellites: # mine\n    memory: 2g\nlog: {}\n", "satellites: # mine\n    count: 3\n    memory: 2g\nlog: {}\n"),
        ("satellites:\n  memory: 2g\n  count: 17 # many\n", "satellites:\n  memory: 2g\n  count: 3  # many\n"),
        ("satellites:\n  list:\n    - cpus: 1 # one\n", "satellites:\n  list:\n    - cpus: 1 # one\n    - {}\n    - {}\n"),
        ("satellites:\n  list: [{}, {cpus: 1, memory: 3g}, {}, {}, {}]\n", "satellites:\n  list: [{}, {cpus: 1, memory: 3g}, {}]\n"),
        ("satellites: {count: 2}\n", "satellites: {count: 3}\n"),
    ],
)
def test_scale_declares_the_number_and_touches_nothing_else(make, before, after):
    status, said, text = make("scale", before, SATELLITES="3")
    assert (status, text) == (0, after), said


def test_a_file_that_is_a_link_stays_one(make, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/site.yml").write_text("# mine\n")
    (tmp_path / "multimed.yml").symlink_to("elsewhere/site.yml")
    assert make("scale", None, SATELLITES="3")[0] == 0
    assert (tmp_path / "multimed.yml").is_symlink() and "count: 3" in (tmp_path / "elsewhere/site.yml").read_text()


@pytest.mark.parametrize("command", ["scale", "resize"])
def test_what_runs_beside_another_change_of_the_stack_changes_nothing(make, tmp_path, command):
    (tmp_path / ".state/layout").mkdir(parents=True)
    with open(tmp_path / ".state/layout/lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, said, text = make(command, "# mine\n", SATELLITES="3", SERVER="gate", CPUS="0")
        assert status == 1 and said.endswith(f"{command}: another make up (or scale, resize, rotate) runs\n")
        assert text == "# mine\n"
    assert make("scale", "# mine\n", SATELLITES="3")[0] == 0


@pytest.mark.parametrize("number", ["", "0", "many", "100"])
def test_scale_wants_a_number(make, number):
    status, said, text = make("scale", None, SATELLITES=number)
    assert status == 64 and f"SATELLITES={number} is not a number from 1 to 99" in said
    assert text is None


@pytest.mark.nightly(keep=2)
@pytest.mark.parametrize(
    "before,said",
    [
        ("- 1\n", "multimed.yml: this is no list of keys and values"),
        ("satellites: 3\n", "multimed.yml: satellites is no list of keys and values"),
        ("a: [\n", "multimed.yml: "),
        ("unknown: 1\n", "multimed.yml: "),
        ("satellites:\n  memory: 900g\n", "this machine has"),
    ],
)
def test_what_would_be_wrong_is_not_written(make, before, said):
    status, error, text = make("scale", before, SATELLITES="3")
    assert status == 64 and said in error and "Traceback" not in error
    assert text == before


@pytest.mark.nightly(keep=5)
@pytest.mark.parametrize(
    "server,given,before,after",
    [
        ("master", {"CPUS": "0"}, "", "master:\n  cpus: 0\n"),
        ("log", {"CPUS": "0,1"}, "log: # it\n  cpus: 1\n", "log: # it\n  cpus: 0,1\n"),
        ("master", {"MEMORY": "4g"}, "", "master:\n  memory: 4g\n  buffer_pool: 768m\n"),
        ("master", {"MEMORY": "4g", "BUFFER_POOL": "3g"}, "", "master:\n  buffer_pool: 3g\n  memory: 4g\n"),
        (
            "satellite-2",
            {"CPUS": "1", "MEMORY": "4g"},
            "satellites:\n  count: 2 # of them\n\n# the log\nlog: {cpus: 0}\n",
            "satellites:\n  list:\n    - {}\n    - cpus: 1\n      memory: 4g\n      buffer_pool: 384m\n      tmpfs: 1638m\n\n"
            "# the log\nlog: {cpus: 0}\n",
        ),
        (
            "satellite-1",
            {"MEMORY": "1g"},
            "satellites:\n  list: [{}]\n",
            "satellites:\n  list: [{memory: 1g, buffer_pool: 73m, tmpfs: 295m}]\n",
        ),
        ("master", {"CPUS": "mix"}, "master:\n  cpus: 0\n# the log\nlog: {cpus: 0}\n", "master:\n  cpus:\n# the log\nlog: {cpus: 0}\n"),
        ("log", {"CPUS": "mix"}, "log: {cpus: 0}\n", "log: {cpus: null}\n"),
        ("satellite-1", {"CPUS": "mix"}, "satellites:\n  count: 1\n", "satellites:\n  count: 1\n"),
        (
            "satellite-2",
            {"CPUS": "0"},
            "satellites:\n  list: [&a {tmpfs: 512m, data: disk}, *a, *a]\n",
            "satellites:\n  list: [&a {tmpfs: 512m, data: disk}, {tmpfs: 512m, data: disk, cpus: 0}, *a]\n",
        ),
        ("satellite-1", {"TMPFS": "1200m"}, "satellites:\n  count: 1", "satellites:\n  list:\n    - tmpfs: 1200m\n"),
    ],
)
def test_resize_declares_what_was_given_and_what_follows_from_it(make, server, given, before, after):
    status, said, text = make("resize", before, SERVER=server, **given)
    assert (status, text) == (0, after), said


@pytest.mark.nightly(keep=2)
@pytest.mark.parametrize(
    "before,said",
    [
        ("satellites: {list: 3}\n", "satellites.list is no list"),
        ("satellites: {count: x}\n", "satellites.count is not a number from 1 to 99"),
        ("satellites: {count: 1000000000}\n", "satellites.count is not a number from 1 to 99"),
        ("satellites: {list: [3, {}]}\n", "satellites.list[0] is no list of keys and values"),
    ],
)
def test_resize_of_what_is_no_list_of_satellites_says_so(make, before, said):
    status, error, text = make("resize", before, SERVER="satellite-1", CPUS="0")
    assert status == 64 and f"multimed.yml: {said}" in error and "Traceback" not in error, error
    assert text == before


@pytest.mark.nightly(keep=5)
@pytest.mark.parametrize(
    "given,said",
    [
        ({}, "SERVER= is not master, satellite-1 and so on, log or gate"),
        ({"SERVER": "kafka", "CPUS": "0"}, "SERVER=kafka is not"),
        ({"SERVER": "master"}, "there is nothing to change"),
        ({"SERVER": "master", "TMPFS": "1g"}, "the master's data is on disk"),
        ({"SERVER": "gate", "MEMORY": "1g"}, "of gate only CPUS can change so"),
        ({"SERVER": "master", "MEMORY": "much"}, "MEMORY=much is not a size like 8g"),
        ({"SERVER": "master", "CPUS": "x"}, "'x' is not numbers of cores, like 0-3,8"),
        ({"SERVER": "master", "CPUS": "4000"}, "there is no core 4000 here"),
        ({"SERVER": "master", "CPUS": "4000-400000000"}, "there is no core 4000 here"),
        ({"SERVER": "master", "MEMORY": "17179869186g"}, "MEMORY=17179869186g is not a size like 8g"),
        ({"SERVER": "satellite-3", "CPUS": "0"}, "there is no satellite-3: 2 satellites are declared"),
        ({"SERVER": "satellite-2", "MEMORY": "300m"}, "is too small"),
        ({"SERVER": "satellite-2", "MEMORY": "4000g"}, "this machine has"),
    ],
)
def test_resize_refuses_what_makes_no_sense(make, given, said):
    status, error, text = make("resize", None, **given)
    assert status == 64 and said in error, error
    assert text is None
