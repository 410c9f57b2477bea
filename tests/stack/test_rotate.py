"""New passwords for all accounts of the stack (`make rotate`): clients go on without an error, no satellite clones, old ones are refused."""

import contextlib
import fcntl
import os
import signal
import stat
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pymysql
import pytest

from support import compose as containers
from support.broker import SASL_AUTHENTICATION_FAILED, Broker

pytestmark = pytest.mark.fault

# Of the accounts on the master, and by the log on satellites, the service that has the password.
ON_MASTER = {"capture": "capture", "clone": "satellite", "gate": "gate", "monitor": "proxysql"}
UNTOUCHED = ("master", "gate", "gate-port", "satellite-1", "satellite-2")


class Clients:
    """Clients that go on all the time: one writes a row that nobody else writes, others read that on connections of each kind. What each met,
    and what took longest."""

    def __init__(self, stack, connect, row):
        self.connect, self.over, self.errors, self.longest = connect, threading.Event(), [], {}
        self.row, self.acknowledged = row, int(stack.sql("master", f"SELECT d FROM app.items WHERE id = {row}")[0][0])
        kinds = (self.writer, self.reader, self.reader, self.prepared, self.newcomer, self.snapshot)
        self.turns = [0] * len(kinds)
        self.threads = [threading.Thread(target=self.run, args=each) for each in enumerate(kinds)]

    def run(self, number, kind):
        try:
            for _ in kind():
                self.turns[number] += 1
                if self.over.is_set():
                    return
        except Exception as error:  # a thread's error must reach the test
            self.errors.append(f"{kind.__name__}: {error!r}")

    def timed(self, kind, cursor, *statement):
        began = time.monotonic()
        cursor.execute(*statement)
        rows = cursor.fetchall() if cursor.description else []
        self.longest[kind] = max(time.monotonic() - began, self.longest.get(kind, 0))
        return rows

    def writer(self):
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            while True:
                self.timed("write", cursor, f"UPDATE items SET d = %s WHERE id = {self.row}", (self.acknowledged + 1,))
                self.acknowledged += 1
                yield

    def read(self, kind, cursor):
        least = self.acknowledged
        seen = int(self.timed(kind, cursor, f"SELECT d FROM items WHERE id = {self.row}")[0][0])
        assert seen >= least, f"{seen} was read, {least} was acknowledged"

    def reader(self):
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            while True:
                self.read("read", cursor)
                yield

    def prepared(self):
        with contextlib.closing(self.connect(client="connector")) as connection, connection.cursor(prepared=True) as cursor:
            while True:
                self.read("prepared read", cursor)
                yield

    def newcomer(self):
        while True:
            began = time.monotonic()
            with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
                self.longest["login"] = max(time.monotonic() - began, self.longest.get("login", 0))
                self.read("first read", cursor)
            yield

    def snapshot(self):
        """One transaction as long as the test."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("START TRANSACTION READ ONLY")
            first = self.timed("read in a snapshot", cursor, f"SELECT d FROM items WHERE id = {self.row}")
            while True:
                assert self.timed("read in a snapshot", cursor, f"SELECT d FROM items WHERE id = {self.row}") == first
                yield
                self.over.wait(0.05)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join(timeout=70)
        print("longest:", {kind: f"{seconds:.2f} s" for kind, seconds in self.longest.items()}, "turns:", self.turns)
        assert not self.errors and all(self.turns)


@contextlib.contextmanager
def clients(stack):
    with contextlib.ExitStack() as doors:
        doors.enter_context(Clients(stack, stack.gate_connect, row=7))
        if has_proxysql(stack):
            doors.enter_context(Clients(stack, stack.front_connect, row=9))
        yield


def has_proxysql(stack):
    return bool(stack.compose("--profile", "*", "ps", "-q", "proxysql", check=False).stdout)


def passwords(stack):
    """{(service, name): value} of every file of the stack's own passwords, and of the gate's token."""
    return {(file.parent.name, file.name.removesuffix("_password")): file.read_text().strip() for file in stack.secrets.glob("*/*_*")}


def started(*services):
    return {service: (each["Id"], each["State"]["StartedAt"]) for service in services for each in [containers.inspect(service)]}


def rotate():
    done = containers.run("make", "-s", "rotate", timeout=400)
    return done.stdout + done.stderr


def lets_in(service, user, password):
    """Over TCP; root over the socket, as it is at home only there."""
    if user == "root":
        script = "mysql --defaults-file=<(cat; grep ^socket= /run/multimed/client.cnf) -e 'DO 0'"
        options = f"[client]\nuser=root\npassword={password}\n"
        return containers.execute(service, "bash", "-c", script, input=options, check=False).returncode == 0
    try:
        pymysql.connect(host=containers.address(service), user=user, password=password, connect_timeout=10).close()
    except pymysql.err.OperationalError as error:
        assert error.args[0] == 1045, error
        return False
    return True


def accounts(stack, values):
    """[(server, user, password)] of everything that logs in somewhere."""
    on_master = [(f"multimed_{name}", values[service, name]) for name, service in ON_MASTER.items()] + [("root", values["master", "root"])]
    applier = ("multimed_applier", values["applier", "applier"])
    return [("master", *each) for each in on_master] + [
        (satellite, *each) for satellite in stack.satellites for each in [*on_master, applier]
    ]


def takes_token(stack, values):
    asked = {"Authorization": f"Bearer {values['gate', 'admin_token']}"}
    try:
        return urllib.request.urlopen(urllib.request.Request(f"{stack.status_url}/statements", headers=asked), timeout=5).status == 200
    except urllib.error.HTTPError as refused:
        assert refused.code == 401, refused
        return False


def broker_refuses(values):
    """Of the log's two accounts those that it does not let in."""
    refused = set()
    for service, name in (("capture", "log_writer"), ("applier", "log_reader")):
        with Broker(containers.address("kafka"), name, values[service, name]) as client:
            if client.login_error == SASL_AUTHENTICATION_FAILED:
                refused.add(name)
    return refused


def assert_renewed(stack, before):
    """Every password is another one, the same for all who share it, and the only one that lets anybody in."""
    after = passwords(stack)
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    for name in {name for _, name in after}:
        assert len({value for (_, each), value in after.items() if each == name}) == 1, name
    assert [each[:2] for each in accounts(stack, before) if lets_in(*each)] == []
    assert [each[:2] for each in accounts(stack, after) if not lets_in(*each)] == []
    assert broker_refuses(before) == {"log_writer", "log_reader"} and not broker_refuses(after)
    assert takes_token(stack, after) and not takes_token(stack, before)
    modes = {stat.S_IMODE(os.stat(file).st_mode) for file in stack.secrets.glob("*/*") if file.is_file()}
    assert modes == {0o444}
    assert not (stack.secrets / "next").exists()


def assert_everybody_can_connect_anew(stack):
    """Whoever has a connection loses it, or is ended; all come back with what they have read by then."""
    for server in ("master", *stack.satellites):
        for (number,) in stack.sql(server, "SELECT id FROM information_schema.processlist WHERE user = 'multimed_gate'"):
            with contextlib.suppress(pymysql.err.OperationalError):
                stack.sql(server, "KILL %s", (number,))
    before = {service: containers.inspect(service)["State"]["StartedAt"] for service in ("capture", "applier-1", "applier-2")}
    incarnation = stack.incarnation("satellite-2")
    for service in before:
        stack.kill_process(service, "java")
    stack.kill_process("satellite-2", "mysqld")
    for service, since in before.items():
        stack.wait_for(lambda s=service, t=since: containers.inspect(s)["State"]["StartedAt"] != t, 60, f"{service} to be started again")
    stack.wait_for(lambda: stack.incarnation("satellite-2") != incarnation, 90, "satellite-2 to be cloned again")
    stack.sql("master", "UPDATE app.items SET n = n + 0, v = CONCAT('item ', %s) WHERE id = 8", (time.time_ns(),))
    stack.await_satellites(120)
    for service in before:
        stack.wait_for(lambda s=service: stack.page(s, "/ready")[0] == 200, 60, f"{service} ready")
    for server in ("master", *stack.satellites):
        stack.wait_for(lambda s=server: questions_of_the_gate(stack, s), 30, f"the gate to ask {server} again")


def questions_of_the_gate(stack, server):
    return stack.sql(server, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'multimed_gate'")[0][0]


def test_every_password_is_renewed_and_no_client_notices(stack, table, incarnations):
    stack.await_satellites()
    before, running = passwords(stack), started(*UNTOUCHED)
    with clients(stack):
        said = rotate()
        assert_renewed(stack, before)
        assert started(*UNTOUCHED) == running and {s: stack.incarnation(s) for s in stack.satellites} == incarnations
    values = {*before.values(), *passwords(stack).values()}
    shown = said + stack.logs() + containers.run("docker", "inspect", *stack.compose("ps", "-q").stdout.split()).stdout
    assert "done: every password is new" in said and not [value for value in values if value in shown]
    assert_everybody_can_connect_anew(stack)
    assert stack.incarnation("satellite-1") == incarnations["satellite-1"]


@contextlib.contextmanager
def rotating(until):
    """`make rotate`, in a process group of its own, as soon as it has said so much."""
    process = subprocess.Popen(
        ["make", "-s", "rotate"], cwd=containers.ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0
    )
    said = ""
    try:
        while until not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
        process.stderr.close()


def test_whoever_connects_after_a_rotation_was_killed_gets_in_and_the_next_one_ends_it(stack, table):
    """Killed between old and new: of Kafka's passwords some are in use, of MySQL's both. Chaos ends rotations at any other moment."""
    stack.await_satellites()
    before, kafka = passwords(stack), started("kafka")
    with rotating("4/5"):
        stack.wait_for(lambda: started("kafka") != kafka, 60, "Kafka to be started again")
    assert_everybody_can_connect_anew(stack)
    rotate()
    assert_renewed(stack, before)
    assert_everybody_can_connect_anew(stack)


@pytest.mark.nightly
def test_a_rotation_that_was_killed_before_kafka_restarted_can_be_ended(stack, table):
    before = passwords(stack)
    with rotating("4/5"):
        pass
    rotate()
    assert_renewed(stack, before)


@pytest.mark.nightly
def test_a_rotation_whose_new_passwords_are_gone_locks_nobody_out(stack, table):
    """The servers have them in the first place, and those of the files in the second, which the next rotation must not take from them."""
    before = passwords(stack)
    with rotating("4/5"):
        pass
    containers.run("rm", "-r", str(stack.secrets / "next"))
    rotate()
    assert_renewed(stack, before)
    assert_everybody_can_connect_anew(stack)


@pytest.mark.nightly
def test_a_satellite_that_clones_meanwhile_has_the_new_passwords(stack, table, incarnations):
    before = passwords(stack)
    stack.kill_process("satellite-2", "mysqld")
    with clients(stack):
        rotate()
    assert_renewed(stack, before)
    assert stack.incarnation("satellite-1") == incarnations["satellite-1"]
    stack.await_satellites()


# In place of mysql in a satellite: makes the applier's account in steps, and a rotation looks at it after each. What that would change for an
# account which it found missing waits until the account is there. Then tells who gets in.
STEP_BY_STEP = """#!/bin/bash
real=/usr/bin/mysql.real options=$1
looks() { wc -l < /tmp/looks; }
await() { for ((i = 0; i < 600; i++)); do "$@" && return; sleep 0.05; done; }
looked_twice() { (($(looks) >= before + 2)); }
if (($# == 3)) && [[ $2 == --batch ]]; then
  asked=$(cat)
  echo >> /tmp/looks
  [[ $asked != *multimed_applier*RETAIN* || -e /tmp/made ]] || { await test -e /tmp/made; echo offered >> /tmp/steps; }
  exec "$real" "$@" <<< "$asked"
fi
[[ $* != *offline_mode* ]] || await test -e /run/secrets/applier_password.next
(($# == 1)) || exec "$real" "$@"
while IFS= read -r line; do
  "$real" "$options" <<< "$line" || exit
  [[ $line == *multimed_applier* ]] || continue
  made=1 before=$(looks)
  [[ $line == RENAME* ]] || { await looked_twice && echo "${line%% *}" >> /tmp/steps; }
done
[[ -n ${made:-} ]] || exit 0
for file in applier_password applier_password.next; do
  "$real" --defaults-file=<(echo "[client]"; grep ^socket= "${options#*=}"; echo user=multimed_applier; echo "password=$(< "/run/secrets/$file")") \
    -e "DO 0" && echo "$file" >> /tmp/steps
done
touch /tmp/made
"""


@contextlib.contextmanager
def accounts_made_step_by_step(satellite):
    """Its entrypoint remembers where mysql is. Gives what tells the steps."""
    place = "cd /usr/bin; rm -f /tmp/steps /tmp/made; touch /tmp/looks; cat > mysql.steps; chmod 755 mysql.steps; ln -f mysql mysql.real; mv mysql.steps mysql"
    containers.execute(satellite, "bash", "-ec", place, input=STEP_BY_STEP)
    try:
        yield lambda: containers.execute(satellite, "cat", "/tmp/steps").stdout.split()
    finally:
        containers.execute(satellite, "mv", "/usr/bin/mysql.real", "/usr/bin/mysql")


@pytest.mark.nightly
def test_a_satellite_that_makes_the_appliers_account_meanwhile_has_both_passwords(stack, table, incarnations):
    before = passwords(stack)
    with accounts_made_step_by_step("satellite-2") as steps:
        stack.kill_process("satellite-2", "mysqld")
        with clients(stack):
            rotate()
        assert steps() == ["CREATE", "ALTER", "GRANT", "GRANT", "applier_password", "applier_password.next"]
    assert_renewed(stack, before)
    assert stack.incarnation("satellite-1") == incarnations["satellite-1"]
    stack.await_satellites()


@contextlib.contextmanager
def one_at_a_time():
    """What a rotation holds while it runs, and every other change of the stack."""
    with open(os.path.join(os.environ["LAYOUT_DIR"], "lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def test_a_rotation_and_another_change_at_once_are_one_too_many_and_ctrl_c_says_what_to_do(stack, table):
    before = passwords(stack)
    with one_at_a_time():
        for command in ("bin/rotate", "bin/up"):
            done = containers.run(command, check=False)
            assert done.returncode == 1 and "another make up (or scale, resize, rotate) runs" in done.stderr
    with rotating("2/5") as process:
        os.killpg(process.pid, signal.SIGINT)
        assert "make rotate goes on from here" in process.stderr.read()
        assert process.wait(timeout=30) != 0
    rotate()
    assert_renewed(stack, before)


def test_mistakes_and_a_stack_that_does_not_run_are_said(stack):
    for arguments, settings, status, message in (
        (["now"], {}, 64, "takes no arguments: now"),
        ([], {"SECRETS_DIR": "/no/such"}, 64, "SECRETS_DIR=/no/such"),
        ([], {"COMPOSE_PROJECT_NAME": "multimed-test-none"}, 1, "do not run: master kafka capture gate"),
    ):
        done = containers.run("bin/rotate", *arguments, env=settings, check=False)
        assert done.returncode == status and message in done.stderr, done.stderr
    assert not (stack.secrets / "next").exists()
