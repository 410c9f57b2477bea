"""What an operator sees of the stack from outside: ports, health checks, limits, and no secret anywhere."""

import glob
import json
import os
import pathlib
import re
import subprocess

import pytest

from support import compose as containers

# What ends by itself.
ONCE = {"cores", "secrets"}


@pytest.fixture(scope="module")
def config(stack):
    return json.loads(stack.compose("--profile", "*", "config", "--format", "json").stdout)["services"]


@pytest.fixture(scope="module")
def secret_values(stack):
    files = [*glob.glob(f"{stack.secrets}/*/*_password"), f"{stack.secrets}/proxysql/users/app"]
    values = {open(file).read().strip() for file in files}
    assert len(values) >= 7 and all(len(value) >= 16 for value in values)
    return values


def test_only_front_door_gate_and_status_are_published_on_loopback(stack, config):
    published = {(service, port["host_ip"], port["target"]) for service, each in config.items() for port in each.get("ports", [])}
    # Two of them only with their profile.
    assert published == {("gate", "127.0.0.1", 8080), ("prometheus", "127.0.0.1", 9090), ("grafana", "127.0.0.1", 3000)}
    assert "observability" in config["prometheus"]["profiles"] and config["grafana"]["profiles"]
    on_host = {service for service, each in config.items() if each.get("network_mode") == "host"}
    assert on_host == {"gate-port", "proxysql"}
    assert config["gate-port"]["environment"]["GATE_HOST_ADDRESS"] == f"127.0.0.1:{stack.gate_port}"
    assert config["proxysql"]["environment"]["PROXYSQL_LISTEN"] == f"127.0.0.1:{stack.front_port}"


@pytest.mark.parametrize("dockerfile", ["gtid-gate/Dockerfile", "bin/packages/gtid-gate.Dockerfile"])
def test_the_gates_image_names_every_port_that_it_listens_on(dockerfile):
    root = pathlib.Path(containers.ROOT)
    listens = set(re.findall(r"^\| `GATE_\w*LISTEN` .*:(\d+) \|$", (root / "docs/settings.md").read_text(), re.MULTILINE))
    exposed = re.search(r"^EXPOSE (.*)$", (root / dockerfile).read_text(), re.MULTILINE)[1].split()
    assert len(listens) == 3 and set(exposed) == listens


def test_an_operators_gate_is_not_the_one_that_breaks_promises_for_tests():
    compose = (pathlib.Path(containers.ROOT) / "docker-compose.yml").read_text()
    assert "GATE_TEST_BREAK" not in compose and re.search(r"image: multimed/gtid-gate:\$\{MULTIMED_VERSION:-[^}]+\}\n", compose)


def test_every_service_gives_up_roots_rights_but_for_those_it_names(config):
    for name, service in config.items():
        assert service["cap_drop"] == ["ALL"] and "no-new-privileges:true" in service["security_opt"], name
        assert not {"SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"} & set(service.get("cap_add") or []), name


def test_every_service_has_a_cheap_health_check_and_a_memory_limit(config):
    for name, service in config.items():
        if name in ONCE:
            continue
        assert service["healthcheck"]["test"], name
        assert service["healthcheck"]["interval"] == "30s", name
        assert int(service["mem_limit"]) > 0, name
        assert service["restart"] == "unless-stopped", name


def test_every_container_is_healthy(stack, wait_for):
    for service in stack.compose("ps", "--services").stdout.split():
        wait_for(lambda s=service: containers.inspect(s)["State"]["Health"]["Status"] == "healthy", 60, f"{service} healthy")


def test_a_satellites_limit_holds_its_tmpfs(config):
    for name in ("satellite-1", "satellite-2"):
        assert any("/var/lib/mysql" in each for each in config[name]["tmpfs"]), name
        assert int(config[name]["mem_limit"]) >= (1 << 30) + (128 << 20)
        assert config[name]["memswap_limit"] == config[name]["mem_limit"]


def test_start_order_waits_for_conditions(config):
    for name, service in config.items():
        if name not in ONCE:
            assert service["depends_on"]["secrets"]["condition"] == "service_completed_successfully", name


def test_secrets_are_ignored_by_git(stack):
    assert subprocess.run(["git", "check-ignore", "-q", "secrets/master/root_password"], cwd=stack.root).returncode == 0
    assert stack.compose("ls").returncode == 0
    tracked = containers.run("git", "ls-files").stdout.split()
    assert not [file for file in tracked if file.startswith("secrets/") or file.endswith("_password")]


def test_secrets_are_closed_to_other_users_of_the_host(stack):
    assert os.stat(stack.secrets).st_mode & 0o077 == 0


def test_no_secret_in_inspect_arguments_environment_or_logs(stack, secret_values):
    ids = stack.compose("ps", "--all", "-q").stdout.split()
    places = {
        "docker inspect": containers.run("docker", "inspect", *ids).stdout,
        "logs": stack.logs(),
        "compose config": stack.compose("config").stdout,
    }
    for service in stack.compose("ps", "--services").stdout.split():
        pids = [
            line.split()[0]
            for line in containers.run("docker", "top", containers.inspect(service)["Id"], "-eo", "pid,comm").stdout.splitlines()[1:]
        ]
        for pid in pids:
            for file in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{pid}/{file}", "rb") as opened:
                        places[f"{service} /proc/{pid}/{file}"] = opened.read().decode(errors="replace")
                except (FileNotFoundError, ProcessLookupError):
                    continue  # a process that has ended since shows nothing
    assert len(places) > 10
    for place, text in places.items():
        for value in secret_values:
            assert value not in text, f"a secret is in {place}"


def test_each_service_sees_only_its_own_secrets(stack):
    seen = {
        service: set(stack.compose("exec", "-T", service, "ls", "/run/secrets").stdout.split())
        for service in ("master", "satellite-1", "capture", "applier-1", "gate")
    }
    assert seen["gate"] == {"gate_password", "admin_token"}
    assert seen["capture"] == {"capture_password", "log_writer_password", "log_reader_password"}
    assert seen["applier-1"] == {"applier_password", "log_reader_password"}
    assert seen["satellite-1"] == {"applier_password", "clone_password"}
    assert "applier_password" not in seen["master"]
