"""What an operator with another machine gets from `make layout`: cores without overlap where there are enough, their own
wishes kept, and every mistake at once. The machine is made up: lscpu and taskset are replaced on PATH."""

import itertools
import json
import os
import re
import shutil

import pytest

from support import compose as containers

from machines import machine

# What tests/env.sh says of its servers, and what would win over multimed.yml.
OF_THE_TEST_STACK = (
    *("SATELLITES", "SATELLITE_TMPFS", "SATELLITE_BUFFER_POOL", "SATELLITE_MEMORY", "MASTER_BUFFER_POOL", "MASTER_MEMORY"),
    *("LAYOUT_CPUS", "MASTER_CPUS", "LOG_CPUS", "GATE_CPUS", "SATELLITE_1_CPUS", "SATELLITE_2_CPUS"),
)
LINE = re.compile(r"^  (\S.*?) +cores (\S+) *(.*)$")


@pytest.fixture
def layout(tmp_path):
    """layout(cores, NAME=value..., declared="text of multimed.yml", may="cores that it may use") -> (exit status, {who: set of cores}, stdout, stderr, layout file)."""
    tools = tmp_path / "bin"
    tools.mkdir()

    def tool(name, body):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)

    def run(cores, declared=None, may=None, **settings):
        rows = cores if isinstance(cores, list) else machine(1, 1, cores)
        tool("lscpu", "cat <<'END'\n" + "\n".join(rows) + "\nEND")
        tool("taskset", f'echo "pid 1\'s current affinity list: {may or f"0-{len(rows) - 2}"}"')
        file = tmp_path / "layout.yml"
        if declared is not None:
            (tmp_path / "multimed.yml").write_bytes(declared if isinstance(declared, bytes) else declared.encode())
            # What the test stack says of its own servers would win.
            settings = dict.fromkeys(OF_THE_TEST_STACK) | {"MULTIMED_FILE": str(tmp_path / "multimed.yml")} | settings
        done = containers.run(
            "mysql-satellite/layout",
            check=False,
            env={
                "PATH": f"{tools}:{os.environ['PATH']}",
                "LAYOUT_FILE": str(file),
                "LAYOUT_DIR": str(tmp_path),
                "NODES_DIR": str(tmp_path),
                **settings,
            },
        )
        found = {match[1]: cores_of(match[2]) for match in map(LINE.match, done.stdout.partition("who runs")[0].splitlines()) if match}
        return done.returncode, found, done.stdout, done.stderr, file

    return run


def cores_of(text):
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def overlap(groups):
    return [(a, b) for (a, x), (b, y) in itertools.combinations(groups.items(), 2) if x & y]


@pytest.mark.nightly(keep=2)
@pytest.mark.parametrize("cores", [5, 8, 16, 48])
def test_with_enough_cores_nobody_shares_and_none_is_idle(layout, cores):
    status, groups, out, err, _ = layout(cores)
    assert status == 0, err
    assert set(groups) == {"master", "log and capture", "gate", "satellite-1", "satellite-2"}
    assert overlap(groups) == []
    assert set().union(*groups.values()) == set(range(cores))
    assert len(groups["satellite-1"]) == len(groups["satellite-2"])
    assert "shared" not in out


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("cores", [1, 2, 3])
def test_with_few_cores_it_says_who_shares(layout, cores):
    status, groups, out, err, _ = layout(cores)
    assert status == 0, err
    assert len(groups) == 5
    assert set().union(*groups.values()) == set(range(cores)), "every core is used"
    for one, other in overlap(groups):
        line = next(line for line in out.splitlines() if line.startswith(f"  {one} "))
        assert other in line.split("shared with")[1], line


def test_cores_that_are_not_to_be_dealt_out_stay_free(layout):
    _, groups, _, _, _ = layout(16, LAYOUT_CPUS="0-2,8-12")
    assert set().union(*groups.values()) == {0, 1, 2, 8, 9, 10, 11, 12}
    _, groups, _, _, _ = layout(16, LAYOUT_CPUS="0-2,8-12", MASTER_CPUS="15", GATE_CPUS="0")
    assert groups["master"] == {15} and groups["gate"] == {0}
    assert set().union(*groups.values()) == {0, 1, 2, 8, 9, 10, 11, 12, 15}
    status, _, _, err, _ = layout(4, LAYOUT_CPUS="2-9")
    assert status == 64 and "LAYOUT_CPUS=2-9: there is no core 4 here" in err
    status, _, _, err, _ = layout(4, LAYOUT_CPUS="3-2")
    assert status == 64 and "LAYOUT_CPUS=3-2 is not a list of cores" in err


@pytest.mark.nightly(keep=2)
@pytest.mark.parametrize(
    "setting,said",
    [
        ({"MASTER_CPUS": "0-3000000000"}, "MASTER_CPUS=0-3000000000 is not a list of cores"),
        ({"MASTER_CPUS": "0-300000000"}, "MASTER_CPUS=0-300000000: there is no core 8 here"),
        ({"MASTER_CPUS": "300000000-300000001"}, "there is no core 300000000 here"),
        ({"LOG_CPUS": "0,3-2"}, "LOG_CPUS=0,3-2 is not a list of cores"),
        ({"MASTER_MEMORY": "9223372036854775807"}, "MASTER_MEMORY=9223372036854775807 is not a size"),
        ({"MASTER_MEMORY": "17179869186g"}, "MASTER_MEMORY=17179869186g is not a size"),
        ({"SATELLITE_MEMORY": "1048576g"}, "this machine has"),
        ({"BINLOG_RETENTION_SIZE": "17179869186g"}, "BINLOG_RETENTION_SIZE=17179869186g is not a size"),
    ],
)
def test_huge_numbers_are_mistakes(layout, setting, said):
    status, _, _, err, _ = layout(8, **setting)
    assert status == 64 and said in err, err


@pytest.mark.nightly(keep=3)
@pytest.mark.parametrize("size,status", [("0", 0), ("256m", 0), ("255m", 64), ("1", 64), ("much", 64), ("-1", 64)])
def test_the_log_has_no_bound_in_bytes_or_room_for_an_epochs_start(layout, size, status):
    found, _, _, err, _ = layout(8, LOG_RETENTION_SIZE=size)
    assert found == status and (status == 0 or f"LOG_RETENTION_SIZE={size} is " in err), err


def test_leading_zeros_are_decimal(layout):
    status, groups, _, err, _ = layout(12, MASTER_CPUS="08-010", MASTER_MEMORY="010g", MASTER_BUFFER_POOL="08g", SATELLITES="1")
    assert status == 0 and groups["master"] == {8, 9, 10}, err
    status, _, _, err, _ = layout(12, MASTER_MEMORY="08g", MASTER_BUFFER_POOL="010g")
    assert status == 64 and "MASTER_BUFFER_POOL 010g + 400 MiB need 10640 MiB" in err


def test_isolated_cores_and_those_outside_of_the_cpuset_stay_free(layout):
    """Of both a process does not see any in its affinity."""
    status, groups, out, err, _ = layout(machine(2, 1, 8), may="0-3,8-13")
    assert status == 0, err
    assert set().union(*groups.values()) == {*range(4), *range(8, 14)}
    assert "free: cores 4-7,14-15 (left out by machine.cpus, or not for us)" in out
    status, _, _, err, _ = layout(machine(2, 1, 8), may="0-3,8-13", MASTER_CPUS="4")
    assert status == 64 and "MASTER_CPUS=4: there is no core 4 here (cores: 0-3,8-13)" in err


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("cores", [1, 2, 4])
def test_with_fewer_cores_than_servers_none_idles_while_another_is_full(layout, cores):
    _, groups, _, _, _ = layout(cores)
    assert all(group == set(range(cores)) for group in groups.values()), groups


def test_the_operators_own_layout_wins(layout):
    status, groups, _, err, file = layout(8, MASTER_CPUS="4-6", SATELLITE_2_CPUS="0")
    assert status == 0, err
    assert groups["master"] == {4, 5, 6}
    assert groups["satellite-2"] == {0}
    assert overlap(groups) == [], "what is left open is dealt from the other cores"
    assert 'cpuset: "4-6"' in file.read_text()


def test_on_several_nodes_a_server_gets_memory_of_its_own(layout, tmp_path):
    for node in (0, 1):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}/meminfo").write_text(f"Node {node} MemTotal:  67108864 kB\n")
    status, _, out, err, file = layout(machine(2, 1, 8), NODES_DIR=str(tmp_path))
    assert status == 0, err
    labels = re.findall(r"  (\S+):\n    cpuset: \S+\n    labels: \{ multimed.memory-node: \"(\d)\" \}", file.read_text())
    assert dict(labels) == {"master": "1", "satellite-1": "0", "applier-1": "0", "satellite-2": "1", "applier-2": "1"}
    assert "node 1: 8 cores, 64 GiB" in out
    _, _, _, _, file = layout(machine(1, 1, 16), NODES_DIR=str(tmp_path))
    assert "labels" not in file.read_text()


@pytest.mark.nightly(keep=1)
@pytest.mark.parametrize("satellites", [1, 3, 6])
def test_the_layout_is_valid_compose(layout, satellites, monkeypatch):
    status, groups, _, err, file = layout(16, SATELLITES=str(satellites), SATELLITE_MEMORY="1g", SATELLITE_TMPFS="256m")
    assert status == 0, err
    assert len([name for name in groups if name.startswith("satellite-")]) == satellites
    done = containers.run(
        "docker", "compose", "-f", "docker-compose.yml", "-f", str(file), "config", "--services", env={"COMPOSE_FILE": ""}
    )
    services = set(done.stdout.split())
    for number in range(1, satellites + 1):
        assert {f"satellite-{number}", f"applier-{number}"} <= services
    assert f"satellite-{satellites + 1}" not in services
    told = (file.parent / "gate/satellites").read_text().split()
    assert told == [f"satellite-{number}:3306" for number in range(1, satellites + 1)], "what the gate is told"
    told = (file.parent / "prometheus/appliers.yml").read_text().splitlines()
    assert told == [f"- targets: [applier-{number}:8080]" for number in range(1, satellites + 1)], "what Prometheus is told"


def test_every_mistake_is_reported_at_once(layout):
    status, _, _, err, file = layout(
        4,
        SATELLITES="0",
        SATELLITE_TMPFS="4g",
        MASTER_MEMORY="lots",
        GATE_PORT="99999x",
        STATUS_PORT=os.environ["FRONT_PORT"],
        MASTER_CPUS="7",
        GATE_CPUS="1..2",
        GATE_WAIT_MS="soon",
        BIND_ADDRESS="everywhere",
        SOCKET_DIR="here",
        GATE_CONSISTENCY="stong",
        GATE_AFTER_WAIT="retry",
    )
    assert status == 64
    for name in (
        "SATELLITES",
        "SATELLITE_MEMORY",
        "MASTER_MEMORY",
        "GATE_PORT",
        "STATUS_PORT",
        "MASTER_CPUS",
        "GATE_CPUS",
        "GATE_WAIT_MS",
        "GATE_CONSISTENCY",
        "GATE_AFTER_WAIT",
        "BIND_ADDRESS",
        "SOCKET_DIR",
    ):
        assert f"setting: {name}=" in err, f"{name} is not among the mistakes:\n{err}"
    assert not file.exists(), "nothing is written when something is wrong"


def test_limits_that_together_are_more_than_the_machine_has_are_a_warning(layout):
    machine_has = int(re.search(r"MemTotal: +(\d+) kB", open("/proc/meminfo").read())[1]) >> 10
    small = {"CDC_MEMORY": "1m", "KAFKA_MEMORY": "1m", "GATE_MEMORY": "1m", "PROXYSQL_MEMORY": "1m"}
    status, _, _, err, _ = layout(4, "{}", **small)
    assert (status, err) == (0, ""), "what master and satellites may take fits"
    for name in small:
        status, _, _, err, _ = layout(4, "{}", **small | {name: f"{machine_has}m"})
        assert status == 0 and "level=warn" in err and f"this machine has {machine_has} MiB; with capture, 2 appliers, Kafka, gate" in err


@pytest.mark.nightly(keep=2)
@pytest.mark.parametrize(
    "donors,wrong",
    [
        (["[satellite-1]", "[master]"], {1}),
        (["[satellite-2]", "[satellite-1]"], {1, 2}),
        (["[satellite-2]", "[satellite-3]", "[satellite-2, satellite-1]"], {1, 2, 3}),
        (["[satellite-2]", "[satellite-3]", "[satellite-2, master]"], set()),
        (["[satellite-2]", "null"], set()),
    ],
)
def test_donors_that_never_get_data_from_the_master_are_mistakes(layout, donors, wrong):
    listed = ", ".join(f"{{memory: 600m, tmpfs: 64m, buffer_pool: 64m, donors: {each}}}" for each in donors)
    status, _, _, err, _ = layout(8, f"satellites: {{list: [{listed}]}}")
    assert {int(n) for n in re.findall(r"SATELLITE_(\d)_DONORS: none of them ever gets its data from the master", err)} == wrong
    assert status == (64 if wrong else 0), err


def test_more_memory_than_the_machine_has_is_refused(layout):
    status, _, _, err, _ = layout(4, SATELLITES="99")
    assert status == 64
    assert "MiB" in err and "SATELLITES" in err


def test_a_larger_machine_costs_no_more_processes(layout, tmp_path):
    """The layout of 1 024 threads took a minute: it forked for each core of each two servers."""
    trace = tmp_path / "trace.sh"
    trace.write_text(f"exec {{BASH_XTRACEFD}}>> {tmp_path}/trace; PS4='+$BASHPID '; set -x\n")

    def subshells(cores):
        (tmp_path / "trace").write_text("")
        status, _, _, err, _ = layout(cores, BASH_ENV=str(trace))
        assert status == 0, err
        return len(set(re.findall(r"^\++(\d+) ", (tmp_path / "trace").read_text(), re.MULTILINE)))

    assert 1 < subshells(machine(2, 1, 8)) == subshells(machine(2, 1, 64))


def services(file):
    """The services of docker-compose.yml with this layout, as Compose sees them."""
    done = containers.run(
        "docker", "compose", "-f", "docker-compose.yml", "-f", str(file), "config", "--format", "json", env={"COMPOSE_FILE": ""}
    )
    return json.loads(done.stdout)["services"]


def test_the_file_of_the_servers_says_what_each_gets(layout):
    declared = """
        machine: {cpus: 0-15}
        master: {cpus: 0-3, memory: 3g, buffer_pool: 1g}
        log: {cpus: 4}
        satellites:
          tmpfs: 256m
          list:
            - {}
            - {cpus: "8-9", memory: 1g, buffer_pool: 512m, data: disk, donors: [master, satellite-1]}
            - null
    """
    status, groups, _, err, file = layout(32, declared)
    assert status == 0, err
    assert groups["master"] == {0, 1, 2, 3} and groups["log and capture"] == {4} and groups["satellite-2"] == {8, 9}
    assert set().union(*groups.values()) == set(range(16))
    found = services(file)
    assert found["master"]["mem_limit"] == str(3 << 30) and found["master"]["environment"]["MASTER_BUFFER_POOL"] == "1g"
    first, second, third = (found[f"satellite-{number}"] for number in (1, 2, 3))
    assert first["mem_limit"] == third["mem_limit"] == str(2560 << 20) and second["mem_limit"] == str(1 << 30)
    assert all(each["memswap_limit"] == each["mem_limit"] for each in (first, second, third)), "what is in memory is not swapped out"
    assert first["environment"]["SATELLITE_BUFFER_POOL"] == "256m" and second["environment"]["SATELLITE_BUFFER_POOL"] == "512m"
    assert any(each.startswith("/var/lib/mysql:size=256m") for each in first["tmpfs"])
    assert second["tmpfs"] == ["/run:mode=0755"] and any(each["target"] == "/var/lib/mysql" for each in second["volumes"])
    assert second["environment"]["CLONE_DONORS"] == "master:3306,satellite-1:3306"
    assert "CLONE_DONORS" not in third["environment"], "how many there are changes nothing for the others"
    alike = {"cpuset", "environment"}
    assert {k: v for k, v in first.items() if k not in alike} == {k: v for k, v in third.items() if k not in alike}, (
        "the third is as the first"
    )


def test_more_reads_give_satellites_a_larger_share(layout):
    def satellites(mix):
        _, groups, _, err, _ = layout(32, f"mix: {mix}")
        assert "level=error" not in err
        return len(groups["satellite-1"]) / len(groups["master"])

    assert satellites("{reads: 1, writes: 9}") < satellites("{}") < satellites("{heavy: 1}") <= satellites("{heavy: 1, writes: 0}")


def test_every_mistake_in_the_file_is_reported_with_those_about_the_machine(layout):
    declared = """
        mashine: {}
        machine: {cpus: all}
        master: {memory: lots, cpus: 9}
        mix: {reads: -1}
        satellites:
          count: 2
          data: paper
          tmpfs: 4g
          list: [{donors: [satellite-7, slave]}, {memory: 1m}]
    """
    status, _, _, err, file = layout(4, declared)
    assert status == 64 and not file.exists()
    for said in (
        "multimed.yml: Additional properties are not allowed ('mashine' was unexpected)",
        "multimed.yml: machine.cpus: 'all' is not numbers of cores, like 0-3,8",
        "multimed.yml: master.memory: 'lots' is not a size like 512m or 2g",
        "multimed.yml: mix.reads: -1 is less than the minimum of 0",
        "multimed.yml: satellites: count and list together",
        "multimed.yml: satellites.data: 'paper' is not one of ['memory', 'disk']",
        "multimed.yml: satellites.list[0].donors[1]: 'slave' is not master, or a satellite like satellite-2",
        "SATELLITE_1_DONORS: there is no satellite-7",
        "SATELLITE_2_MEMORY=1m is too small",
        "MASTER_CPUS=9: there is no core 9 here",
    ):
        assert said in err, f"{said}\n{err}"
    lines = [line.split("setting: ")[1] for line in err.splitlines()]
    assert len(lines) == len(set(lines)), "each once"


@pytest.mark.nightly(keep=5)
@pytest.mark.parametrize(
    "text,said",
    [
        ("a: [", "line 1: "),
        ("- 3", "[3] is not of type 'object'"),
        ("[]", "[] is not of type 'object'"),
        ("log: {}\nlog: {}", "line 2: 'log' stands there twice"),
        ("log: &x [*x]", "something in it is a part of itself"),
        ("? [a]", "line 1: a key is a list"),
        (b"log: \xff", "unacceptable character #x00ff"),
        ("log: !!timestamp 2026-13-13", "month must be in 1..12"),
        ("mix: {reads: .nan}", "mix.reads: '.nan' is not of type 'number'"),
        ("mix: {reads: .inf}", "mix.reads: '.inf' is not of type 'number'"),
        ("master: {cpus: 1:30}", "master.cpus: '1:30' is not numbers of cores"),
        ("mix: {reads: 010}", "mix.reads: '010' is not of type 'number'"),
    ],
)
def test_a_file_that_is_no_such_file_is_a_mistake(layout, text, said):
    status, _, _, err, file = layout(4, text)
    assert status == 64 and f"multimed.yml: {said}" in err and not file.exists()


def test_numbers_are_decimal_and_what_satellites_share_is_merged(layout):
    declared = """
        master: {cpus: 010, memory: 03g}
        mix: {reads: 1.5, writes: .5}
        satellites: {list: [&one {memory: 3g, tmpfs: 512m}, {<<: *one, memory: 4g}, *one]}
    """
    status, groups, _, err, file = layout(16, declared)
    assert status == 0, err
    assert groups["master"] == {10}
    found = services(file)
    assert [found[name]["mem_limit"] for name in ("master", "satellite-1", "satellite-2", "satellite-3")] == [
        str(size << 30) for size in (3, 3, 4, 3)
    ]
    assert "/var/lib/mysql:size=512m,mode=0750" in found["satellite-2"]["tmpfs"]
    status, _, _, err, _ = layout(16, MIX_READS="nan")
    assert status == 64 and "MIX_READS=nan is not a number" in err


@pytest.mark.nightly(keep=2)
@pytest.mark.parametrize(
    "text,said",
    [
        ("master: {cpus: 0-3,8}", "master: Additional properties are not allowed (8 was unexpected); between braces a list of cores needs"),
        ("log: {cpus: 0,1}", "log: Additional properties are not allowed (1 was unexpected); between braces"),
        ("satellites: {list: [{cpus: 0,2-3}]}", "satellites.list[0]: Additional properties are not allowed ('2-3' was unexpected)"),
        ("satelites:", "Additional properties are not allowed ('satelites' was unexpected)"),
    ],
)
def test_a_key_without_a_value_is_a_mistake_unless_the_schema_knows_it(layout, text, said):
    status, _, _, err, file = layout(16, text)
    assert status == 64 and f"multimed.yml: {said}" in err and not file.exists()
    status, _, _, err, _ = layout(16, "machine:\nmaster: {cpus: , memory: 2g}\nsatellites:\n  list:\n")
    assert status == 0, err


@pytest.fixture
def folder(tmp_path):
    """folder(file=text...) -> what `make layout` says in a clone of one's own, in which these files are; folder.path."""
    clone = tmp_path / "clone"
    for name in containers.run(
        "git", "ls-files", "bin", "mysql-satellite", "mysql-master", "docker-compose.yml", ".env.example"
    ).stdout.split():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.join(containers.ROOT, name), clone / name)

    def run(*command, **files):
        for name, text in files.items():
            (clone / name).write_text(text)
        command = command or ("mysql-satellite/layout",)
        bare = ("env", "-i", f"PATH={os.environ['PATH']}", f"HOME={tmp_path}", "env", "-C", str(clone))
        return containers.run(*bare, *command, check=False)

    run.path = clone
    return run


def wired(folder):
    done = folder("docker", "compose", "config", "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["services"]


def test_compose_reads_the_layout_and_an_operators_override_after_it(folder):
    assert folder().returncode == 0
    assert wired(folder)["satellite-1"]["cpuset"]
    own = "# mine\nservices: { satellite-1: { mem_limit: 3g } }\n"
    assert folder(**{"docker-compose.override.yml": own}).returncode == 0
    assert folder().returncode == 0
    found = wired(folder)["satellite-1"]
    assert found["mem_limit"] == str(3 << 30) and found["cpuset"]
    assert (folder.path / "docker-compose.override.yml").read_text() == own
    assert (folder.path / ".env").read_text().count("COMPOSE_FILE=") == 1
    (folder.path / "docker-compose.override.yml").unlink()
    assert folder().returncode == 0
    assert wired(folder)["satellite-1"]["mem_limit"] == str(2560 << 20)


def test_an_operators_env_keeps_what_is_in_it(folder):
    assert folder(**{".env": "STATUS_PORT=9090"}).returncode == 0
    assert (folder.path / ".env").read_text().startswith("STATUS_PORT=9090\n")
    assert wired(folder)["gate"]["ports"][0]["published"] == "9090"
    mine = "COMPOSE_FILE=docker-compose.yml:compose.layout.yml:site.yml\n"
    assert folder(**{".env": mine, "site.yml": "services: {}\n"}).returncode == 0
    assert (folder.path / ".env").read_text() == mine
    done = folder(**{".env": "COMPOSE_FILE=docker-compose.yml:site.yml\nSATELLITES=3\nMASTER_CPUS=1\n"})
    assert done.returncode == 64
    for said in (
        "COMPOSE_FILE=docker-compose.yml:site.yml does not name compose.layout.yml",
        ".env: SATELLITES is",
        ".env: MASTER_CPUS is",
    ):
        assert said in done.stderr


def test_the_file_that_an_older_layout_wrote_is_removed(folder):
    old = "# Written by mysql-satellite/layout for this machine; change .env and run `make layout` instead.\nservices: {}\n"
    assert folder(**{"docker-compose.override.yml": old}).returncode == 0
    assert not (folder.path / "docker-compose.override.yml").exists()


def test_clean_leaves_compose_usable(folder):
    assert folder().returncode == 0
    tools = folder.path / "tools"
    tools.mkdir()
    # It would remove this machine's images.
    (tools / "docker").write_text("#!/bin/sh\nexit 1\n")
    (tools / "docker").chmod(0o755)
    done = folder("env", f"PATH={tools}:{os.environ['PATH']}", "bin/clean")
    assert done.returncode == 0, done.stderr
    assert not (folder.path / ".env").exists()
    assert "cpuset" not in wired(folder)["satellite-1"]
