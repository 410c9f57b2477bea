"""The settings of the stack: every one has a default, so that there need be no .env, and .env.example lists them all."""

import json
import os
import pathlib
import re

import pytest

from support import compose as containers

ROOT = pathlib.Path(containers.ROOT)
COMPOSE_FILES = ["docker-compose.yml", "tests/compose.yml", *(str(each.relative_to(ROOT)) for each in ROOT.glob("loadgen/bench/**/*.yml"))]
READ = re.compile(r"\$\{([A-Z][A-Z0-9_]*)(?::?-([^}]*))?\}")
LISTED = re.compile(r"^#([A-Z][A-Z0-9_]*)=(.*)$", re.MULTILINE)
# What multimed.yml says.
DECLARED = dict(line.split("=", 1) for line in containers.run("mysql-satellite/declared.py").stdout.splitlines())
# What those who use the other files set themselves.
OF_TESTS = {"GATE_TEST_BREAK", "TEST_MYSQL_CONF", "TEST_STATE", "BENCH_STATE"}


def listed():
    return dict(LISTED.findall((ROOT / ".env.example").read_text()))


def test_the_example_lists_every_setting_that_compose_reads_and_no_other():
    read = {name for name, _ in READ.findall((ROOT / "docker-compose.yml").read_text())}
    # Compose itself reads that one.
    assert set(listed()) == read | {"COMPOSE_PROFILES"}
    assert not set(DECLARED) & read


@pytest.mark.parametrize("file", COMPOSE_FILES)
def test_the_example_and_every_compose_file_have_the_same_defaults(file):
    for name, default in READ.findall((ROOT / file).read_text()):
        if name not in OF_TESTS:
            assert default == (listed() | DECLARED)[name], f"{name} in {file}"


def test_a_setting_is_listed_once_and_commented_out():
    text = (ROOT / ".env.example").read_text()
    names = [name for name, _ in LISTED.findall(text)]
    assert len(names) == len(set(names))
    assert all(not line or line.startswith("#") for line in text.splitlines()), "a copy of the example would keep today's defaults"


def test_git_ignores_an_operators_env():
    assert containers.run("git", "check-ignore", ".env").stdout.strip() == ".env"
    assert not containers.run("git", "ls-files", ".env").stdout


@pytest.fixture
def clone(tmp_path):
    """A folder with nothing but docker-compose.yml, and in which no variable of the tests' own stack is set."""
    (tmp_path / "docker-compose.yml").write_text((ROOT / "docker-compose.yml").read_text())
    return tmp_path


def configuration(clone):
    command = ("env", "-i", f"PATH={os.environ['PATH']}", f"HOME={clone}", "docker", "compose", "--project-directory", str(clone))
    plugins = clone / ".docker"
    plugins.mkdir(exist_ok=True)
    done = containers.run(*command, "-f", str(clone / "docker-compose.yml"), "config", "--format", "json")
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


def test_compose_needs_no_env(clone):
    found = configuration(clone)
    assert found["name"] == listed()["COMPOSE_PROJECT_NAME"]
    assert found["services"]["gate"]["environment"]["GATE_CONSISTENCY"] == listed()["GATE_CONSISTENCY"]
    assert found["services"]["master"]["image"] == f"multimed/mysql-master:{listed()['MULTIMED_VERSION']}"


def test_an_operators_env_wins_over_the_defaults_for_compose(clone):
    (clone / ".env").write_text("GATE_CONSISTENCY=eventual\nSTATUS_PORT=9090\n")
    gate = configuration(clone)["services"]["gate"]
    assert gate["environment"]["GATE_CONSISTENCY"] == "eventual" and gate["ports"][0]["published"] == "9090"


@pytest.fixture
def setting(tmp_path):
    """setting(name, NAME=value...): what the scripts take it for, in a copy with this .env."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "mysql-satellite").mkdir()
    for file in ("bin/lib.sh", ".env.example", "mysql-satellite/declared.py", "mysql-satellite/multimed.schema.json"):
        (tmp_path / file).write_text((ROOT / file).read_text())

    def asked(name, **variables):
        given = [f"{key}={value}" for key, value in variables.items()]
        command = ("env", "-i", f"PATH={os.environ['PATH']}", *given, "bash", "-euc", 'me=test; . "$0/bin/lib.sh"; setting "$1"')
        done = containers.run(*command, str(tmp_path), name, check=False)
        return done.stdout.strip() if done.returncode == 0 else done

    asked.folder = tmp_path
    return asked


def test_the_scripts_need_no_env(setting):
    assert setting("SATELLITES") == DECLARED["SATELLITES"]
    assert setting("GATE_USERS") == ""
    assert setting("SECRETS_DIR") == f"{setting.folder}/secrets"


def test_the_environment_wins_over_env_and_env_over_the_defaults_for_the_scripts(setting):
    (setting.folder / ".env").write_text(
        "# mine\nLOG_RETENTION_HOURS=5\nGATE_USERS=app: consistency=eventual; wait_ms=5\nSECRETS_DIR=keys\nSTATUS_PORT=9090"
    )
    assert setting("LOG_RETENTION_HOURS") == "5"
    assert setting("LOG_RETENTION_HOURS", LOG_RETENTION_HOURS="3") == "3"
    assert setting("GATE_USERS") == "app: consistency=eventual; wait_ms=5"
    assert setting("SECRETS_DIR") == f"{setting.folder}/keys"
    assert setting("STATUS_PORT") == "9090", "the last line need not end"
    assert setting("GATE_PORT") == listed()["GATE_PORT"]


def test_what_the_file_of_the_servers_says_holds_for_the_scripts_and_the_environment_wins(setting):
    (setting.folder / "multimed.yml").write_text("satellites: {count: 5, tmpfs: 3g}\nmaster: {cpus: 4}\n")
    assert setting("SATELLITES") == "5" and setting("SATELLITE_TMPFS") == "3g" and setting("MASTER_CPUS") == "4"
    assert setting("SATELLITES", SATELLITES="3") == "3"
    (setting.folder / "multimed.yml").write_text("satellites: {list: [{cpus: 1-2}, null, {memory: 9g}]}")
    assert setting("SATELLITES") == "3" and setting("SATELLITE_3_MEMORY") == "9g" and setting("SATELLITE_1_CPUS") == "1-2"


def test_a_script_ends_with_every_mistake_in_these_files(setting):
    (setting.folder / "multimed.yml").write_text("satellites: {count: none, tmfs: 3g}")
    (setting.folder / ".env").write_text("SATELLITE_2_CPUS=3\n")
    done = setting("SATELLITES")
    assert done.returncode == 64
    assert "satellites.count" in done.stderr and "tmfs" in done.stderr and "SATELLITE_2_CPUS" in done.stderr


def declared(file):
    """As the scripts read it, by a Python that can."""
    command = 'me=test; . bin/lib.sh; "$(yaml_python)" mysql-satellite/declared.py "$0"'
    return containers.run("bash", "-euc", command, str(file)).stdout.splitlines()


def test_the_example_of_the_servers_file_shows_every_setting_with_its_default(setting):
    text = (ROOT / "multimed.example.yml").read_text()
    assert all(not line or line.startswith("#") for line in text.splitlines()), "a copy of the example would keep today's defaults"
    uncommented = "\n".join(line[1:] for line in text.splitlines() if re.match(r"#(\w|  )", line))
    # A list says what one has; the count would not be read beside it.
    alone = uncommented[: uncommented.index("  list:")] + uncommented[uncommented.index("\nlog:") :]
    (setting.folder / "multimed.yml").write_text(alone.replace("cpus:   ", "cpus: 1 "))
    found = dict(line.split("=", 1) for line in declared(setting.folder / "multimed.yml"))
    assert {name: value for name, value in found.items() if not name.endswith("_CPUS")} == DECLARED
    assert {name for name in found if name.endswith("_CPUS")} == {"LAYOUT_CPUS", "MASTER_CPUS", "LOG_CPUS", "GATE_CPUS"}
    (setting.folder / "multimed.yml").write_text(uncommented.replace("  count: 2", ""))
    assert "SATELLITE_2_DONORS=master:3306" in declared(setting.folder / "multimed.yml")
