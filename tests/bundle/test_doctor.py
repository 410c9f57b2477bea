"""What `make doctor` makes of what it finds: made-up machines, engines and stacks."""

import concurrent.futures
import contextlib
import datetime
import json
import os
import re
import socket
import subprocess
import sys

import pytest

from support import compose as containers

# The scripts import what lies beside them.
sys.path.insert(0, os.path.join(containers.ROOT, "bin"))
import checks  # noqa: E402
import doctor  # noqa: E402

GIB = 1 << 30
RUNS = {"status": "running", "health": "healthy", "oom": False, "code": 0, "restarts": 0, "ends": False}


BOUNDED = {
    "innodb_buffer_pool_size": 512 << 20,
    "max_connections": 1_000,
    "thread_stack": 280 << 10,
    "temptable_max_ram": 100 << 20,
    "global_connection_memory_limit": 300 << 20,
    "global_connection_memory_tracking": True,
    "limit": 2 * GIB,
    "tmpfs": 0,
    "heap": 1040 << 20,
}


def server(name, **changes):
    role = "master" if name == "master" else "satellite"
    return {"name": name, "role": role, "state": "up", "lag_ms": 0, "lag_transactions": 0} | changes


def healthy(**changes):
    """All that is found of a stack with nothing wrong; a name with __ reaches into it: master__bytes."""
    facts = {
        "aio": (100, 65_536),
        "files": (100, 100_000),
        "max_map_count": 65_530,
        "huge_pages": "madvise",
        "numa": (2, 0, 0),
        "swap": (GIB, 0, 1),
        "disk": (50 * GIB, 100 * GIB, "/var/lib/docker"),
        "synchronised": True,
        "clocksource": "tsc",
        "engine": {"version": "20.10.24+dfsg1", "cgroups": "2", "refused": []},
        "compose": "2.26.1-4",
        "mistakes": [],
        "layout": True,
        "plan": (0, ["nothing changes"]),
        "containers": dict.fromkeys(("master", "kafka", "capture", "gate", "satellite-1", "applier-1", "satellite-2", "applier-2"), RUNS),
        "services": ["master", "gate"],
        "master": {
            "variables": {"version": "9.7.4", "binlog_expire_logs_seconds": "604800"} | checks.REPLICATION,
            "privileges": {name: set(needed) for name, needed in checks.PRIVILEGES.items()},
            "strangers": [],
            "channel": None,
            "transactions": 100,
            "bytes": 100 << 20,
            "redo": 100 << 20,
        },
        "kafka": True,
        "capture": {"ready": True, "metrics": {"multimed_capture_position_transactions": 100.0, "multimed_capture_live_readers": 2.0}},
        "log_retention_hours": 24,
        "servers": [server("master"), server("satellite-1"), server("satellite-2")],
        "rooms": {name: {"tmpfs": (GIB, 200 << 20), "memory": (2 * GIB, GIB)} for name in ("satellite-1", "satellite-2")},
        "bounds": {"master": BOUNDED, "satellite-1": BOUNDED},
        "appliers": {"applier-1": True, "applier-2": True},
        "metrics": {"gtid_gate_table_stream_up": 1.0},
        "certificate": 300 * 86_400.0,
        "verify": {"status": 0, "age": 3600.0},
        "taken": [],
        "images": {
            "master": "multimed/mysql-base:packages",
            "satellite-1": "r.example/multimed/mysql-base:1",
            "gate": "multimed/gtid-gate:1",
        },
        "versions": {"Kafka": "4.3.1", "Java": "21.0.5", "ProxySQL": None},
        "password_age": 86_400.0,
        "ports": [("gate", "127.0.0.1:8080"), ("gate-port", "127.0.0.1:6034"), ("gate", "[::1]:8080")],
    }
    for name, value in changes.items():
        place, *path = facts, *name.split("__")
        for each in path[:-1]:
            place = place[each]
        place[path[-1]] = value
    return facts


def found(facts):
    """(state, name) of what is not all right."""
    return [(each.state, each.name) for each in checks.findings(facts) if each.state != "ok"]


def test_nothing_is_wrong_with_a_healthy_stack():
    assert found(healthy()) == []
    assert {each.group for each in checks.findings(healthy())} == {
        *checks.ALWAYS,
        *checks.WITH_ENGINE,
        *checks.WITH_STACK,
    }


# fmt: off
@pytest.mark.parametrize("state, name, changes", [
    ("warning", "asynchronous I/O", {"aio": (60_000, 65_536)}),
    ("warning", "open files", {"files": (90, 100)}),
    ("warning", "memory maps", {"max_map_count": 4_096}),
    ("warning", "transparent huge pages", {"huge_pages": "always"}),
    ("warning", "NUMA", {"numa": (2, 1, 0)}),
    ("warning", "NUMA", {"numa": (1, 0, 1)}),
    ("warning", "swap", {"swap": (GIB, GIB // 2, 1)}),
    ("warning", "swap", {"swap": (GIB, 0, 60)}),
    ("warning", "disk", {"disk": (10 * GIB, 100 * GIB, "/d")}),
    ("wrong", "disk", {"disk": (4 * GIB, 100 * GIB, "/d")}),
    ("warning", "clock", {"synchronised": False}),
    ("warning", "clock source", {"clocksource": "hpet"}),
    ("warning", "Docker version", {"engine__version": "28.0.1"}),
    ("wrong", "the old server", {"master__channel": ("CONNECTING", "ON", "Error connecting to source")}),
    ("warning", "Compose version", {"compose": "v3.0"}),
    ("wrong", "Compose", {"compose": None}),
    ("warning", "limits", {"engine__refused": ["memory"]}),
    ("wrong", "settings", {"mistakes": ["multimed.yml: satellites: count is missing"]}),
    ("warning", "layout", {"layout": False}),
    ("warning", "plan", {"plan": (0, ["gate  cores 0-1 -> 2, while it runs"])}),
    ("wrong", "plan", {"plan": (64, ["no room"])}),
    ("warning", "plan", {"plan": (None, ["no answer within 60 s"])}),
    ("wrong", "containers", {"services": ["master", "gate-port"]}),
    ("wrong", "gate", {"containers__gate": RUNS | {"status": "exited", "code": 1}}),
    ("wrong", "gate", {"containers__gate": RUNS | {"status": "paused"}}),
    ("wrong", "gate", {"containers__gate": RUNS | {"health": "unhealthy"}}),
    ("warning", "gate", {"containers__gate": RUNS | {"health": "starting"}}),
    ("wrong", "capture", {"containers__capture": RUNS | {"oom": True}}),
    ("warning", "capture", {"containers__capture": RUNS | {"restarts": 9}}),
    ("wrong", "secrets", {"containers__secrets": RUNS | {"status": "exited", "code": 64, "ends": True}}),
    ("wrong", "master", {"master": None}),
    ("warning", "MySQL version", {"master__variables__version": "8.4.7"}),
    ("wrong", "replication settings", {"master__variables__gtid_mode": "OFF_PERMISSIVE"}),
    ("wrong", "replication settings", {"master__variables__sync_binlog": "0"}),
    ("wrong", "accounts", {"master__privileges__multimed_capture@%": {"SELECT"}}),
    ("wrong", "accounts", {"master__privileges__multimed_clone@%": {"BACKUP_ADMIN"}}),
    ("wrong", "other accounts", {"master__strangers": ["multimed_gate@172.%"]}),
    ("warning", "binlog retention", {"master__variables__binlog_expire_logs_seconds": "3600"}),
    ("wrong", "Kafka", {"kafka": None}),
    ("wrong", "capture", {"capture": None}),
    ("wrong", "capture", {"capture__ready": False}),
    ("warning", "capture", {"master__transactions": 1_000_000}),
    ("wrong", "applier-2", {"appliers__applier-2": False}),
    ("wrong", "satellite-1 room", {"rooms__satellite-1": None}),
    ("wrong", "satellite-1 tmpfs", {"rooms__satellite-1__tmpfs": (GIB, GIB - 1)}),
    ("wrong", "satellite-1 tmpfs", {"rooms__satellite-1__tmpfs": (150 << 20, 100 << 20)}),
    ("warning", "satellite-1 tmpfs", {"rooms__satellite-1__tmpfs": (250 << 20, 100 << 20)}),
    ("warning", "satellite-1 memory", {"rooms__satellite-1__memory": (GIB, GIB)}),
    ("wrong", "master worst case", {"bounds__master": BOUNDED | {"global_connection_memory_tracking": False}}),
    ("wrong", "master worst case", {"bounds__master": BOUNDED | {"heap": None}}),
    ("wrong", "satellite-1 worst case", {"bounds__satellite-1": BOUNDED | {"heap": 3 * GIB}}),
    ("warning", "satellite-1 worst case", {"bounds__satellite-1": BOUNDED | {"heap": 900 << 20}}),
    ("warning", "master worst case", {"bounds__master": BOUNDED | {"max_connections": 5_000}}),
    ("warning", "master worst case", {"bounds__master": BOUNDED | {"limit": 0}}),
    ("wrong", "gate", {"servers": None}),
    ("warning", "refusals", {"metrics__gtid_gate_fallback_rejections_total": 3.0}),
    ("warning", "refusals", {"metrics__gtid_gate_wait_errors_total": 3.0}),
    ("warning", "table stream", {"metrics__gtid_gate_table_stream_up": 0.0}),
    ("warning", "TLS certificate", {"certificate": 3 * 86_400}),
    ("wrong", "TLS certificate", {"certificate": -1}),
    ("warning", "TLS certificate", {"certificate": "[SSL] handshake failure"}),
    ("warning", "last verify", {"verify": {}}),
    ("wrong", "last verify", {"verify__status": 1}),
    ("warning", "last verify", {"verify__status": 2}),
    ("warning", "last verify", {"verify__status": 137}),
    ("warning", "last verify", {"verify__age": 31 * 86_400.0}),
    ("warning", "image", {"images__master": "mysql:8.4.7"}),
    ("warning", "image", {"images__kafka": "docker.io/apache/kafka:4.3.1"}),
    ("warning", "image", {"images__applier-2": "eclipse-temurin:21-jre-noble"}),
    ("warning", "image", {"images__grafana": "grafana/grafana:12.1.1"}),
    ("warning", "Kafka version", {"versions__Kafka": "3.9.0"}),
    ("warning", "Java version", {"versions__Java": "25"}),
    ("warning", "ProxySQL version", {"versions__ProxySQL": "2.7.3"}),
    ("wrong", "ports", {"taken": [("GATE_PORT", "127.0.0.1:6034")]}),
    ("warning", "passwords", {"rotating": True}),
    ("warning", "password files", {"password_age": 400 * 86_400}),
    ("warning", "published ports", {"ports": [("gate", "0.0.0.0:8080")]}),
    ("warning", "published ports", {"ports": [("gate", "[::]:8080")]}),
])
# fmt: on
def test_each_thing_that_is_not_right_is_named_alone_with_a_hint(state, name, changes):
    facts = healthy(**changes)
    assert found(facts) == [(state, name)]
    assert all(each.hint for each in checks.findings(facts) if each.state != "ok")


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"state": "down", "lag_ms": None}, [("wrong", "satellite-2"), ("wrong", "servers")]),
        ({"state": "draining"}, [("warning", "satellite-2")]),
        ({"lag_ms": None}, [("warning", "satellite-2")]),
        ({"lag_ms": 5_000}, [("warning", "satellite-2")]),
        ({"lag_ms": 90_000}, [("wrong", "satellite-2")]),
        ({"lag_ms": 20 * 3_600_000}, [("wrong", "log retention"), ("wrong", "satellite-2")]),
        ({"lag_ms": 5 * 86_400_000}, [("wrong", "binlog retention"), ("wrong", "log retention"), ("wrong", "satellite-2")]),
    ],
)
def test_a_satellite_that_does_not_serve_or_lags_is_named_with_what_that_endangers(changes, expected):
    facts = healthy(servers=[server("master"), server("satellite-1"), server("satellite-2", **changes)])
    assert found(facts) == expected


def test_a_satellite_that_somebody_has_removed_from_the_gate_is_a_warning():
    assert found(healthy(servers=[server("master"), server("satellite-1")])) == [("warning", "satellite-2")]


def test_an_account_that_is_gone_is_named():
    facts = healthy()
    del facts["master"]["privileges"]["multimed_gate@%"]
    assert found(facts) == [("wrong", "accounts")]


def test_what_ends_by_itself_need_not_run():
    assert found(healthy(containers__secrets=RUNS | {"status": "exited", "ends": True})) == []


def test_where_nothing_is_installed_only_the_engine_is_wrong():
    facts = {"engine_error": "docker: not found", "layout": False, "mistakes": []}
    assert found(facts) == [("wrong", "engine"), ("warning", "layout")]
    assert "make up" in next(each.hint for each in checks.findings(facts) if each.name == "engine")


def test_of_a_stack_that_was_never_started_or_is_stopped_only_the_containers_are_named():
    assert found(healthy(containers={})) == [("wrong", "containers")]
    stopped = {name: RUNS | {"status": "exited"} for name in ("gate", "master")}
    assert found(healthy(containers=stopped)) == [("wrong", "gate"), ("wrong", "master")]


def test_tested_versions_are_those_that_the_documentation_names():
    with open(os.path.join(containers.ROOT, "docs/limits.md")) as file:
        page = file.read()
    for what, versions in checks.TESTED.items():
        row = {"Compose": "Docker", "Java": "Kafka"}.get(what, what)
        line = next(line for line in page.splitlines() if line.startswith(f"| {row} |"))
        assert all(each in line for each in versions), line


def test_what_replication_needs_is_what_capture_requires():
    with open(os.path.join(containers.ROOT, "cdc-applier/src/main/java/multimed/master/Master.java")) as file:
        needed = file.read().partition(" NEEDED = ")[2].partition(";")[0]
    required = dict(re.findall(r'"(\w+)", "(\w+)"', needed))
    assert required and required.items() <= checks.REPLICATION.items()


def test_privileges_are_those_that_the_master_grants():
    script = ". mysql-master/lib.sh; . mysql-master/accounts.sh; for each in capture clone gate monitor; do printf -v ${each}_password x; done; accounts_sql"
    granted = re.findall(r"^GRANT (.+) ON \*\.\* TO '(\w+)'@'(\S+)';$", containers.run("bash", "-euc", script).stdout, re.MULTILINE)
    assert {f"{name}@{host}": set(each.split(", ")) for each, name, host in granted} == checks.PRIVILEGES


def test_a_satellite_that_cannot_begin_is_named_with_the_reason():
    lives = {"satellite-2": {"failing": "dropping triggers: ERROR 1064", "failures": "7"}}
    facts = healthy(servers=[server("master"), server("satellite-1"), server("satellite-2", state="down")], lives=lives)
    assert found(facts) == [("wrong", "satellite-2"), ("wrong", "servers")]
    assert any("dropping triggers: ERROR 1064" in each.said and "7 attempts" in each.hint for each in checks.findings(facts))


def test_what_a_masters_account_is_called_splits_no_line():
    out = "executed\tu:1-3\nbytes\t5\nchannel\tON\tON\ta\u2028b\\n\x0cc\nprivilege\tmultimed_gate@%\tPROCESS\nstranger\t@a\x85b\nlog_bin\tON\n"
    parsed = doctor.parsed_master(out)
    assert parsed["channel"] == ("ON", "ON", "a\u2028b\\n\x0cc") and parsed["strangers"] == ["@a\x85b"]
    assert parsed["privileges"] == {"multimed_gate@%": {"PROCESS"}}


def test_transactions_of_a_gtid_set_are_counted_with_tags_and_gaps():
    one, other = "600a5995-e98a-11f1-b6b8-0242ac170007", "700a5995-e98a-11f1-b6b8-0242ac170007"
    assert doctor.transactions("") == 0
    assert doctor.transactions(f"{one}:7") == 1
    assert doctor.transactions(f"{one}:1-9:11,\\n{other}:1-3:tag:5-6") == 15


def test_room_is_what_the_kernel_would_not_give_up_at_once():
    assert doctor.parsed_room("tmpfs 1000 200\n4000\n3000\n500\n") == {"tmpfs": (1000, 200), "memory": (4000, 2500)}
    assert doctor.parsed_room("ext4 1000 200\nmax\n3000\n500\n") == {"tmpfs": None, "memory": None}


def test_metrics_without_labels_are_read():
    assert doctor.parsed_metrics('# HELP a b\na_b 1.5E3\r\nc{d="e"} 2\ng 0') == {"a_b": 1500.0, "g": 0.0}


@pytest.mark.parametrize(
    "validity, end",
    [
        (b"\x17\x0d240101000000Z\x17\x0d340102030405Z", (2034, 1, 2, 3, 4, 5)),
        (b"\x17\x0d240101000000Z\x18\x0f40960101000000Z", (4096, 1, 1, 0, 0, 0)),
        (b"\x17\x0d700101000000Z\x17\x0d990101000000Z", (1999, 1, 1, 0, 0, 0)),
    ],
)
def test_the_end_of_a_certificate_is_the_second_of_its_times(validity, end):
    assert doctor.end_of(b"0\x82" + validity + b"0") == datetime.datetime(*end, tzinfo=datetime.UTC).timestamp()


def test_doctor_works_where_no_docker_is_installed(tmp_path):
    for tool in ("bash", "dirname", "sed", "awk", "grep", "tr", "mktemp", "rm", "env"):
        (tmp_path / tool).symlink_to(subprocess.check_output(("which", tool), text=True).strip())
    (tmp_path / "python3").symlink_to(os.path.realpath(sys.executable))
    done = containers.run("bin/doctor", check=False, env={"PATH": str(tmp_path), "COMPOSE_PROJECT_NAME": "none"})
    assert done.returncode == 1
    assert "✗ engine:" in done.stdout and "make up installs and starts one" in done.stdout and "containers" not in done.stdout


@pytest.mark.parametrize(
    "name, value", [("LOG_RETENTION_HOURS", "24h"), ("LOG_RETENTION_HOURS", "0"), ("STATUS_PORT", "8080x"), ("GATE_PORT", "99999")]
)
def test_a_setting_that_is_no_number_is_a_finding_and_ends_nothing(name, value):
    done = containers.run("bin/doctor", check=False, env={name: value, "COMPOSE_PROJECT_NAME": "none", "JSON": "1"})
    said = [each["said"] for each in json.loads(done.stdout) if (each["name"], each["state"]) == ("settings", "wrong")]
    assert len(said) == 1 and f"{name}={value} is not" in said[0], said
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_a_status_page_of_somebody_else_or_at_no_address_is_as_none(monkeypatch):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        monkeypatch.setenv("BIND_ADDRESS", "127.0.0.1")
        monkeypatch.setenv("STATUS_PORT", str(listening.getsockname()[1]))
        for said in (b"no HTTP\r\n", b'HTTP/1.0 200 OK\r\n\r\n{"status": "UP"}', b"HTTP/1.0 200 OK\r\n\r\n<html>"):
            with concurrent.futures.ThreadPoolExecutor() as threads:
                asked = threads.submit(doctor.answered, doctor.servers)
                with listening.accept()[0] as connection:
                    connection.recv(4096)
                    connection.sendall(said)
                assert asked.result() is None
    monkeypatch.setenv("BIND_ADDRESS", "a b")
    assert doctor.status_page("/metrics") is None


def test_without_a_retention_that_is_a_number_nothing_is_said_of_it():
    assert found(healthy(log_retention_hours=None)) == []


def test_what_make_verify_found_last_is_read_from_where_it_leaves_it(monkeypatch, tmp_path):
    monkeypatch.setenv("LAYOUT_DIR", str(tmp_path))
    assert doctor.verified() == {}
    (tmp_path / "gate").mkdir()
    file = tmp_path / "gate/verify"
    file.write_text("at=1700000000\nstatus=2\n")
    assert doctor.verified()["status"] == 2 and doctor.verified()["age"] > 86_400
    file.write_text("cut off")
    assert doctor.verified() == {}


def test_a_port_is_taken_where_somebody_answers_and_its_service_does_not_run(monkeypatch):
    monkeypatch.setenv("BIND_ADDRESS", "127.0.0.1")
    up, down = {"State": {"Running": True}}, {"State": {"Running": False}}
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        settings = {"GATE_PORT": listening.getsockname()[1]}
        expected = [("GATE_PORT", f"127.0.0.1:{settings['GATE_PORT']}")]
        assert list(doctor.taken({}, ["gate-port"], settings)) == list(doctor.taken({"gate-port": down}, ["gate-port"], settings)) == expected
        assert list(doctor.taken({"gate-port": up}, ["gate-port"], settings)) == list(doctor.taken({}, ["gate"], settings)) == []
    assert list(doctor.taken({}, ["gate-port"], settings)) == []


def test_a_port_without_tls_says_why_there_is_no_certificate(monkeypatch):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        monkeypatch.setenv("BIND_ADDRESS", "127.0.0.1")
        monkeypatch.setenv("GATE_PORT", str(listening.getsockname()[1]))
        with concurrent.futures.ThreadPoolExecutor() as threads:
            asked = threads.submit(doctor.certificate)
            with listening.accept()[0] as connection:
                connection.sendall(b"greeting")
                connection.recv(4096)
                connection.sendall(b"no TLS here")
            assert re.search("(?i)ssl|version", asked.result())
    assert "refused" in doctor.certificate()


def test_an_image_is_named_once_with_what_tests_ran_with():
    facts = healthy(images={"master": "mysql:8.4.7", "satellite-1": "mysql:8.4.7", "satellite-2": "mysql:8.4.7", "extra": "redis:8"})
    said = [each.said for each in checks.findings(facts) if each.name == "image"]
    assert len(said) == 1 and "mysql:8.4.7 was never run" in said[0] and "MySQL 9.7.4 of Debian's packages" in said[0]


def test_of_our_own_image_what_it_is_built_on_counts():
    config = {"Image": "multimed/mysql-master:1", "Labels": {"multimed.base": "mysql:8.4.7"}}
    assert doctor.image({"Config": config}) == "mysql:8.4.7"
    assert doctor.image({"Config": config | {"Labels": {}}}) == "multimed/mysql-master:1"


@pytest.mark.parametrize("file, argument", [("mysql-master", "MYSQL"), ("mysql-satellite", "MYSQL"), ("proxysql", "PROXYSQL"), ("cdc-applier", "JAVA")])
def test_an_image_of_ours_says_what_it_is_built_on(file, argument):
    with open(os.path.join(containers.ROOT, file, "Dockerfile")) as dockerfile:
        last = dockerfile.read().split("\nFROM ")[-1]
    assert last.startswith(f"${{{argument}_IMAGE}}\n") and f"ARG {argument}_IMAGE\nLABEL multimed.base=${argument}_IMAGE\n" in last


def test_a_worst_case_beyond_the_memory_names_what_would_fit():
    (found,) = [each for each in checks.findings(healthy(bounds__master=BOUNDED | {"max_connections": 5_000})) if each.name == "master worst case"]
    assert found.said == "4018 of 2048 MiB: 5000 sessions, of which those that ask take 400 MiB"
    assert "MEMORY=4096m BUFFER_POOL=512m" in found.hint and "max_connections = 1179" in found.hint


def test_bounds_are_parsed_with_what_the_container_has():
    out = "\n".join(f"{name}\t{'ON' if name.endswith('tracking') else 7}" for name in checks.BOUNDS) + "\nheap 1048576\n"
    room = {"tmpfs": (GIB, 5), "memory": (2 * GIB, GIB)}
    parsed = doctor.parsed_bounds(out, room)
    assert (parsed["limit"], parsed["tmpfs"], parsed["heap"], parsed["max_connections"]) == (GIB, GIB, 1048576, 7)
    assert parsed["global_connection_memory_tracking"] is True
    assert doctor.parsed_bounds(out.replace("heap 1048576\n", ""), room)["heap"] is None
