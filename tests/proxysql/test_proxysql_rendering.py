"""The configuration that the entrypoint makes: right values in the right place, all mistakes at once, no secret shown."""

import os
import stat

import pytest

import frontdoor


def render(tmp_path, users=None, files=None, **settings):
    secrets = frontdoor.write_secrets(tmp_path / "secrets", users=users, **(files or {}))
    target = tmp_path / "proxysql.cnf"
    done = frontdoor.run(
        str(frontdoor.FOLDER / "entrypoint.sh"),
        "render",
        str(target),
        check=False,
        env={"PATH": os.environ["PATH"], "PROXYSQL_SECRETS_DIR": str(secrets), **settings},
    )
    return done, target


def refused(tmp_path, *messages, **given):
    done, target = render(tmp_path, **given)
    assert done.returncode == 64, done.stderr
    for message in messages:
        assert message in done.stderr
    assert not target.exists()
    return done.stderr


def test_defaults_give_a_complete_file_for_its_owner_alone(tmp_path):
    done, target = render(tmp_path, users={})
    assert done.returncode == 0, done.stderr
    text = target.read_text()
    assert 'hostgroup=10, address="master", port=3306' in text
    assert 'hostgroup=20, address="gate", port=6035' in text
    assert "{{" not in text.replace("{{NAMES}}", "")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_settings_reach_the_file(tmp_path):
    _, target = render(
        tmp_path,
        MASTER="db-1.example:3307",
        GATE="10.0.0.7:7000",
        PROXYSQL_THREADS="08",
        PROXYSQL_MAX_CONNECTIONS="77",
        PROXYSQL_SERVER_VERSION="9.7.0-lts",
        PROXYSQL_LISTEN="127.0.0.1:7033",
    )
    text = target.read_text()
    for line in (
        'address="db-1.example", port=3307',
        'address="10.0.0.7", port=7000',
        "threads=8\n",
        "max_connections=77\n",
        'server_version="9.7.0-lts"',
        'interfaces="127.0.0.1:7033"',
    ):
        assert line in text


def test_servers_and_clients_can_be_reached_by_unix_sockets(tmp_path):
    _, target = render(
        tmp_path,
        MASTER="/sockets/master/mysqld.sock",
        GATE="/sockets/gate-proxy.sock",
        PROXYSQL_SOCKET="/clients/proxysql.sock",
        PROXYSQL_LISTEN="[::1]:7033",
    )
    text = target.read_text()
    for line in (
        'address="/sockets/master/mysqld.sock", port=0',
        'address="/sockets/gate-proxy.sock", port=0',
        'interfaces="[::1]:7033;/clients/proxysql.sock"',
    ):
        assert line in text


def test_the_admin_interface_has_no_port(tmp_path):
    _, target = render(tmp_path)
    assert 'mysql_ifaces="/run/proxysql/admin.sock"' in target.read_text()


def test_all_mistakes_are_reported_at_once(tmp_path):
    shown = refused(
        tmp_path,
        "MASTER=master",
        "GATE=gate:0",
        "PROXYSQL_SOCKET=clients",
        "PROXYSQL_THREADS=many",
        "PROXYSQL_MAX_CONNECTIONS=0",
        "PROXYSQL_SERVER_VERSION=new",
        "monitor_password is missing",
        "proxysql_admin_password is empty",
        "single quote",
        "user name 'a b'",
        "several lines",
        MASTER="master",
        GATE="gate:0",
        PROXYSQL_SOCKET="clients",
        PROXYSQL_THREADS="many",
        PROXYSQL_MAX_CONNECTIONS="0",
        PROXYSQL_SERVER_VERSION="new",
        files={"monitor_password": None, "proxysql_admin_password": "\n"},
        users={"quote": "its'secret", "a b": "x", "lines": "one\nsecret"},
    )
    assert "secret" not in shown.replace("secret file", "").replace(str(tmp_path / "secrets"), "")


def test_master_and_gate_must_differ(tmp_path):
    refused(tmp_path, "same server", MASTER="db:3306", GATE="db:3306")


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("", "empty"),
        ("\n", "empty"),
        ("a\tb", "control"),
        ("a\r\n", "control"),
        ("a\nb\n", "control"),
        ("a\0b", "NUL"),
        ("a'b", "single quote"),
        ("*" + "0F" * 20, "hash"),
        ("$A$005$" + "x" * 63, "hash"),
    ],
)
def test_passwords_that_proxysql_cannot_take_are_refused(tmp_path, password, reason):
    refused(tmp_path, "ann", reason, users={"ann": password})


@pytest.mark.parametrize(
    ("password", "written"),
    [
        ("plain", "plain"),
        ('say "hi"', r"say \"hi\""),
        ("back\\slash\\", r"back\\slash\\"),
        ("a&b%s;#{}", "a&b%s;#{}"),
        ("{{USERS}} {{MASTER_HOST}}", "{{USERS}} {{MASTER_HOST}}"),
        (" spaced ", " spaced "),
        ("pä€ß", "pä€ß"),
        ("*star", "*star"),
        ("$A", "$A"),
    ],
)
def test_passwords_are_written_exactly(tmp_path, password, written):
    done, target = render(tmp_path, users={"ann": password + "\n"})
    assert done.returncode == 0, done.stderr
    assert f'username="ann", password="{written}", default_hostgroup=10' in target.read_text()


@pytest.mark.parametrize("password", ['a"b', "a\\b", "a:b", "a;b", "a'b"])
def test_the_stacks_own_passwords_stay_simple(tmp_path, password):
    refused(tmp_path, "proxysql_admin_password", files={"proxysql_admin_password": password})


def test_files_that_begin_with_a_dot_are_no_users(tmp_path):
    done, target = render(tmp_path, users={".gitkeep": "", "ann": "x", "bob": "y"})
    assert done.returncode == 0, done.stderr
    assert target.read_text().count("{ username=") == 2


def test_a_file_left_behind_with_open_mode_is_replaced(tmp_path):
    (tmp_path / "proxysql.cnf").write_text("old")
    (tmp_path / "proxysql.cnf").chmod(0o644)
    _, target = render(tmp_path)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600 and "old" not in target.read_text()[:10]


def test_staging_needs_a_binary(tmp_path):
    done = frontdoor.run(str(frontdoor.ROOT / "bin/packages/stage-proxysql"), str(tmp_path / "none"), str(tmp_path), check=False)
    assert done.returncode == 64 and "usage" in done.stderr


def test_staging_takes_the_binary_and_its_libraries_but_not_the_c_library(tmp_path):
    done = frontdoor.run(str(frontdoor.ROOT / "bin/packages/stage-proxysql"), "/usr/bin/ssh", str(tmp_path), check=False)
    if not os.path.exists("/usr/bin/ssh"):
        pytest.skip("no /usr/bin/ssh to stage")
    assert done.returncode == 0, done.stderr
    libraries = os.listdir(tmp_path / "lib")
    assert any(name.startswith("libcrypto.so") for name in libraries) and not any(name.startswith("libc.so") for name in libraries)
    assert (tmp_path / "proxysql").exists()
