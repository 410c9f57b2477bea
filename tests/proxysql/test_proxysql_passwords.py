"""New passwords for a running ProxySQL (renew-passwords.sh): against a stand-in for its admin interface, and where there is one, against it."""

import hashlib
import os
import re
import socketserver
import stat
import struct
import threading

import pytest

import frontdoor

pymysql = pytest.importorskip("pymysql")

SALT = bytes(range(1, 21))
MONITOR, ADMIN = "mysql-monitor_password", "admin-admin_credentials"


def proof(password):
    """What mysql_native_password answers to SALT."""
    once = hashlib.sha1(password.encode()).digest()
    return bytes(a ^ b for a, b in zip(once, hashlib.sha1(SALT + hashlib.sha1(once).digest()).digest()))


class Admin(socketserver.ThreadingUnixStreamServer):
    """Settings in memory and at run time, as ProxySQL has them; a login needs the running password. It can end a session early."""

    daemon_threads = True

    def __init__(self, path, **running):
        super().__init__(str(path), Session)
        self.running, self.memory = dict(running), dict(running)
        self.statements = []
        self.statements_left = 1000

    def execute(self, statement):
        self.statements.append(statement)
        update = re.fullmatch(r"UPDATE global_variables SET variable_value = '([^']*)' WHERE variable_name = '([^']*)'", statement)
        load = re.fullmatch(r"LOAD (MYSQL|ADMIN) VARIABLES TO RUNTIME", statement)
        if update:
            assert update[2] in self.memory
            self.memory[update[2]] = update[1]
        elif load:
            prefix = load[1].lower() + "-"
            self.running |= {name: value for name, value in self.memory.items() if name.startswith(prefix)}
        else:
            raise AssertionError(statement)


class Session(socketserver.StreamRequestHandler):
    def handle(self):
        greeting = (
            b"\x0a5.5.30\0" + struct.pack("<I", 7) + SALT[:8] + b"\0" + b"\xff\xf7\x21\x02\0\xff\x81\x15" + bytes(10) + SALT[8:] + b"\0"
        )
        self.send(0, greeting + b"mysql_native_password\0")
        user, rest = self.receive()[32:].split(b"\0", 1)
        accepted = self.server.running[ADMIN].split(":")[1]
        if (user, rest[1:21]) != (b"admin", proof(accepted)):
            self.send(2, b"\xff" + struct.pack("<H", 1045) + b"#28000ProxySQL Error: Access denied")
            return
        self.send(2, b"\0\0\0\2\0\0\0")
        while command := self.receive():
            if not self.server.statements_left:
                return
            self.server.statements_left -= 1
            self.server.execute(command[1:].decode())
            self.send(1, b"\0\0\0\2\0\0\0")

    def receive(self):
        header = self.rfile.read(4)
        return self.rfile.read(int.from_bytes(header[:3], "little")) if header else b""

    def send(self, number, payload):
        self.wfile.write(len(payload).to_bytes(3, "little") + bytes([number]) + payload)


class Door:
    """The files of a ProxySQL that has been started, and its admin interface."""

    def __init__(self, folder):
        self.folder = folder
        self.settings = {"PATH": os.environ["PATH"], "PROXYSQL_SECRETS_DIR": str(folder / "secrets"), "PROXYSQL_DATADIR": str(folder)}
        self.give("first-monitor", "first-admin")
        self.config = folder / "proxysql.cnf"
        frontdoor.run(str(frontdoor.FOLDER / "entrypoint.sh"), "render", str(self.config), env=self.settings)
        self.admin = Admin(folder / "admin.sock", **{MONITOR: "first-monitor", ADMIN: "admin:first-admin"})
        threading.Thread(target=self.admin.serve_forever, daemon=True).start()

    def give(self, monitor, admin):
        frontdoor.write_secrets(self.folder / "secrets", monitor_password=monitor + "\n", proxysql_admin_password=admin + "\n")

    def renew(self):
        return frontdoor.run(str(frontdoor.FOLDER / "renew-passwords.sh"), env=self.settings, check=False)

    def assert_has(self, monitor, admin):
        assert self.admin.running == {MONITOR: monitor, ADMIN: f"admin:{admin}"}
        text = self.config.read_text()
        assert f'monitor_password="{monitor}"' in text and f'admin_credentials="admin:{admin}"' in text
        assert stat.S_IMODE(self.config.stat().st_mode) == 0o600 and not self.config.with_name("proxysql.cnf.new").exists()


@pytest.fixture
def stand_in(tmp_path):
    door = Door(tmp_path)
    yield door
    door.admin.shutdown()
    door.admin.server_close()


def test_a_running_proxysql_takes_both_new_passwords_and_a_second_time_changes_nothing(stand_in):
    stand_in.give("second-monitor", "second-admin")
    for _ in 1, 2:
        done = stand_in.renew()
        assert done.returncode == 0, done.stderr
        stand_in.assert_has("second-monitor", "second-admin")
        assert not re.search("first|second", done.stdout + done.stderr), "no secret is shown"


@pytest.mark.parametrize("statements", range(4))
def test_after_an_interruption_it_goes_on(stand_in, statements):
    stand_in.give("second-monitor", "second-admin")
    stand_in.admin.statements_left = statements
    assert stand_in.renew().returncode != 0
    stand_in.admin.statements_left = 1000
    assert stand_in.renew().returncode == 0
    stand_in.assert_has("second-monitor", "second-admin")


def test_with_everything_done_but_the_file_it_goes_on(stand_in):
    stand_in.give("second-monitor", "second-admin")
    stand_in.admin.running |= {MONITOR: "second-monitor", ADMIN: "admin:second-admin"}
    assert stand_in.renew().returncode == 0
    stand_in.assert_has("second-monitor", "second-admin")


def test_a_third_password_in_the_running_proxysql_is_an_error_and_changes_nothing(stand_in):
    stand_in.give("second-monitor", "second-admin")
    stand_in.admin.running[ADMIN] = "admin:unknown"
    done = stand_in.renew()
    assert done.returncode != 0 and "Access denied" in done.stderr
    assert stand_in.admin.statements == [] and "first-admin" in stand_in.config.read_text()


def test_passwords_that_proxysql_cannot_take_are_refused(stand_in):
    stand_in.give("its'secret", "a:secret")
    done = stand_in.renew()
    assert done.returncode == 64 and "single quote" in done.stderr and "one of" in done.stderr
    assert "secret" not in done.stderr.replace("secret file", "").replace(str(stand_in.folder / "secrets"), "")
    stand_in.assert_has("first-monitor", "first-admin")


def test_nobody_is_cut_off_when_proxysql_takes_new_passwords(door, servers, session):
    for server in servers:
        server.sql("ALTER USER multimed_monitor@'%' IDENTIFIED BY 'renewed'")
    frontdoor.write_secrets(door.secrets, monitor_password="renewed\n", proxysql_admin_password="renewed-admin\n")
    for _ in 1, 2:
        assert (done := door.tool("renew-passwords.sh")).returncode == 0, done.stderr
    with session.cursor() as cursor:
        cursor.execute("SELECT name FROM whoami")
        assert cursor.fetchone()[0] == "gate"
    # Its password for the admin interface is the one of the file by now.
    assert door.tool("add-user.sh", "app", text=frontdoor.APP_PASSWORD).returncode == 0
    assert door.healthy()
