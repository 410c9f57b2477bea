"""Missing and contradictory settings: each of our images reports all of them at once and ends with status 64."""

import os

import pytest

from support import compose as containers

VERSION = containers.setting("MULTIMED_VERSION")


def tag(image):
    return f"multimed/{image}:{VERSION}{'-test-break' if image == 'gtid-gate' else ''}"


def refused(image, settings, *options, command=()):
    """What the container printed when it refused to start."""
    flags = [flag for name, value in settings.items() for flag in ("-e", f"{name}={value}")]
    done = containers.run("docker", "run", "--rm", "--network", "none", *options, *flags, tag(image), *command, check=False, timeout=60)
    assert done.returncode == 64, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def assert_names(text, *names):
    lines = text.splitlines()
    for name in names:
        assert any(name in line for line in lines), f"{name} is not reported in:\n{text}"
    assert len(lines) >= len(names), "one line per mistake"


def test_satellite(stack):
    text = refused("mysql-satellite", {"CLONE_DONORS": "master", "SATELLITE_BUFFER_POOL": "much"})
    assert_names(text, "clone_password", "applier_password", "CLONE_DONORS", "SATELLITE_BUFFER_POOL")


def test_satellite_whose_data_does_not_fit_into_its_memory(stack):
    text = refused(
        "mysql-satellite",
        {"CLONE_DONORS": "master:3306", "SATELLITE_BUFFER_POOL": "256m"},
        "-v",
        f"{stack.secrets}/satellite:/run/secrets:ro",
        "--memory",
        "600m",
        "--tmpfs",
        "/var/lib/mysql:size=512m",
    )
    assert_names(text, "memory limit of 600 MiB is too small")


def test_master(stack):
    text = refused("mysql-master", {"MASTER_BUFFER_POOL": "-1", "BINLOG_RETENTION_SIZE": "10t"})
    passwords = ("root_password", "capture_password", "clone_password", "gate_password", "monitor_password")
    assert_names(text, *passwords, "MASTER_BUFFER_POOL", "BINLOG_RETENTION_SIZE")


def test_gate(stack):
    text = refused(
        "gtid-gate",
        {
            "GATE_LISTEN": "nowhere",
            "GATE_WAIT_MS": "-5",
            "GATE_FALLBACK_LIMIT": "many",
            "GATE_SATELLITES": "satellite-1:3306,satellite-1:3306",
            "GATE_PASSWORD": "hidden-1",
            "GATE_PASSWORD_FILE": "/no/such",
            "GATE_CONSISTENCY": "stong",
            "GATE_AFTER_WAIT": "retry",
            "GATE_USERS": "app: level=1",
            "GATE_CLASSES": "reports: users=bi",
        },
    )
    assert_names(
        text,
        "GATE_LISTEN",
        "GATE_CONSISTENCY",
        "GATE_AFTER_WAIT",
        "GATE_USERS",
        "GATE_CLASSES",
        "GATE_WAIT_MS",
        "GATE_FALLBACK_LIMIT",
        "GATE_SATELLITES",
        "GATE_PASSWORD",
    )
    assert "hidden-1" not in text


@pytest.mark.parametrize(
    "role,settings,names",
    [
        (
            "capture",
            {
                "KAFKA_BOOTSTRAP": "kafka:port",
                "MASTER_PORT": "x",
                "STATUS_LISTEN": "8080:0.0.0.0",
                "LOG_RETENTION_HOURS": "-1",
                "LOG_RETENTION_SIZE": "255m",
                "COMPARE_HOURS": "1d",
            },
            (
                "KAFKA_BOOTSTRAP",
                "MASTER_HOST",
                "MASTER_PORT",
                "CAPTURE_PASSWORD",
                "LOG_WRITER_PASSWORD",
                "STATUS_LISTEN",
                "LOG_RETENTION_HOURS",
                "LOG_RETENTION_SIZE",
                "COMPARE_HOURS",
            ),
        ),
        (
            "apply",
            {"SATELLITE_PORT": "0", "STATUS_LISTEN": "", "KAFKA_BOOTSTRAP": ":"},
            ("KAFKA_BOOTSTRAP", "SATELLITE_HOST", "SATELLITE_PORT", "APPLIER_PASSWORD", "LOG_READER_PASSWORD"),
        ),
    ],
)
def test_both_ends_of_the_log(stack, role, settings, names):
    assert_names(refused("cdc-applier", settings, command=(role,)), *names)


def test_an_unknown_command_of_cdc_applier(stack):
    assert "usage" in refused("cdc-applier", {}, command=("frobnicate",))


def test_a_missing_secret_file_is_named(stack):
    text = refused("cdc-applier", {"SATELLITE_HOST": "s", "APPLIER_PASSWORD_FILE": "/run/secrets/none"}, command=("apply",))
    assert_names(text, "/run/secrets/none")


def test_a_port_that_is_taken_is_a_clear_error_and_the_rest_goes_on(stack):
    """A second gate on the address of the first one, in the first one's network namespace."""
    gate = containers.inspect("gate")["Id"]
    done = containers.run(
        "docker",
        "run",
        "--rm",
        "--network",
        f"container:{gate}",
        "-v",
        f"{stack.secrets}/gate:/run/secrets:ro",
        "-e",
        "GATE_PASSWORD_FILE=/run/secrets/gate_password",
        tag("gtid-gate"),
        check=False,
        timeout=60,
    )
    assert done.returncode not in (0, 64), done
    assert "6034" in done.stdout + done.stderr and "in use" in (done.stdout + done.stderr).lower()
    with stack.gate_connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")


@pytest.mark.parametrize("service", ["capture", "applier-1"])
def test_a_status_port_that_is_taken(stack, service):
    container = containers.inspect(service)
    flags = [flag for each in container["Config"]["Env"] for flag in ("-e", each) if not each.startswith("PATH=")]
    flags += [flag for each in container["HostConfig"]["Binds"] or [] for flag in ("-v", each)]
    done = containers.run(
        "docker",
        "run",
        "--rm",
        "--network",
        f"container:{container['Id']}",
        *flags,
        f"multimed/cdc-applier:{VERSION}",
        *container["Config"]["Cmd"],
        check=False,
        timeout=90,
    )
    text = done.stdout + done.stderr
    assert done.returncode not in (0, 64), text[-2000:]
    assert "8080" in text and "in use" in text.lower(), text[-2000:]
    assert stack.page(service, "/live")[0] == 200


def test_a_published_port_that_is_taken(stack):
    """`docker compose up` of a second stack on the same ports fails and says which; the first one goes on."""
    names = {"COMPOSE_PROJECT_NAME": os.environ["COMPOSE_PROJECT_NAME"] + "-second"}
    try:
        stack.compose("up", "-d", "--no-build", "--no-deps", "gate-port", env=names)
        stack.wait_for(
            lambda: f"{stack.gate_port}: Address already in use" in stack.compose("logs", "gate-port", env=names).stdout,
            20,
            "gate-port's error",
        )
        done = stack.compose("up", "-d", "--no-build", "--no-deps", "gate", env=names, check=False)
        assert done.returncode != 0
        assert os.environ["STATUS_PORT"] in done.stderr, done.stderr
        assert "already" in done.stderr or "in use" in done.stderr, done.stderr
    finally:
        stack.compose("down", "--volumes", "--timeout", "5", env=names, check=False)
    assert stack.page("gate", "/ready")[0] == 200
