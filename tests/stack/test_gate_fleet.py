"""Satellites are drained, removed and added while clients read: none of them gets an error."""

import contextlib
import json
import threading
import urllib.request

import pytest

from support import compose as containers
from support.gate import operate as gate


class Readers:
    """Clients that read without a pause; what each met."""

    def __init__(self, stack, count=4):
        self.stack, self.over, self.errors, self.reads = stack, threading.Event(), [], 0
        self.threads = [threading.Thread(target=self._read) for _ in range(count)]

    def _read(self):
        try:
            with contextlib.closing(self.stack.gate_connect()) as connection, connection.cursor() as cursor:
                while not self.over.is_set():
                    cursor.execute("SELECT COUNT(*) FROM items")
                    assert cursor.fetchall()[0][0] >= 1000
                    self.reads += 1
        except Exception as error:  # a thread's error must reach the test
            self.errors.append(repr(error))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def more(self):
        """Until each of them has surely read again."""
        target = self.reads + 100
        self.stack.wait_for(lambda: self.reads > target or self.errors, 60, "more reads")
        assert not self.errors

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def restored(stack):
    """However a test ends, both satellites serve again."""
    yield
    for name in stack.satellites:
        if not any(server["name"] == name for server in stack.servers()):
            gate("add", f"{name}:3306")
        gate("undrain", name)
    stack.wait_for(lambda: {s["state"] for s in stack.servers()} == {"up"}, 30, "all servers up")


def reads_of(stack, name):
    return stack.server(name)["reads"]


def test_a_satellite_is_drained_removed_and_added_without_an_error(stack, table, restored):
    with Readers(stack) as readers, contextlib.closing(stack.gate_connect()) as held:
        readers.more()
        transactions = []
        with held.cursor() as cursor:
            # On satellite-1, sooner or later: sessions are spread.
            while not transactions:
                cursor.execute("START TRANSACTION READ ONLY")
                cursor.execute("SELECT COUNT(*) FROM items")
                first = cursor.fetchall()
                if stack.server("satellite-1")["open"] == 1:
                    transactions.append(first)
                else:
                    cursor.execute("COMMIT")
            gate("drain", "satellite-1")
            assert stack.server("satellite-1")["state"] == "draining"
            readers.more()
            before = reads_of(stack, "satellite-1")
            readers.more()
            assert reads_of(stack, "satellite-1") == before, "nothing new for it"
            status, said = gate("remove", "satellite-1", check=False)
            assert status == 1 and "1 transactions or cursors open" in said
            cursor.execute("SELECT COUNT(*) FROM items")
            assert cursor.fetchall() == first, "what was open goes on"
            cursor.execute("COMMIT")
        stack.wait_for(lambda: stack.server("satellite-1")["open"] == 0, 10, "nothing open")
        readers.more()
        assert stack.server("satellite-1")["sessions"] == 0, "sessions that read have left it"
        gate("remove", "satellite-1")
        assert [s["name"] for s in stack.servers()] == ["master", "satellite-2"]
        assert 'server="satellite-1"' not in "".join(line for line in stack.page("gate", "/metrics")[1].splitlines() if "server_up" in line)
        readers.more()
        gate("add", "satellite-1:3306")
        stack.wait_for(lambda: stack.server("satellite-1")["state"] == "up", 20, "satellite-1 up")
        before = reads_of(stack, "satellite-1")
        readers.more()
        stack.wait_for(lambda: reads_of(stack, "satellite-1") > before, 20, "reads on it")
    assert not readers.errors


def test_with_all_satellites_drained_the_master_answers(stack, cursor, reads, restored):
    for name in stack.satellites:
        gate("drain", name)
    counts = reads_during(stack, cursor)
    assert set(counts) == {"master"}
    for name in stack.satellites:
        gate("undrain", name)
    assert "master" not in reads_during(stack, cursor)


def reads_during(stack, cursor):
    before = {s["name"]: s["reads"] for s in stack.servers()}
    for _ in range(4):
        cursor.execute("SELECT COUNT(*) FROM items")
        cursor.fetchall()
    return {s["name"]: s["reads"] - before[s["name"]] for s in stack.servers() if s["reads"] != before[s["name"]]}


@pytest.mark.parametrize(
    "command,said",
    [
        (("drain", "satellite-9"), "no satellite"),
        (("remove", "satellite-1"), "drain it first"),
        (("remove", "master"), "no satellite"),
        (("add", "satellite-1:3306"), "is there already"),
        (("add", "master:3306"), "is there already"),
        (("add", "nowhere:x"), "host:port"),
        (("drain",), "usage"),
        (("stop",), "usage"),
    ],
)
def test_what_can_not_be_done_is_refused_and_changes_nothing(stack, command, said):
    before = [(s["name"], s["state"]) for s in stack.servers()]
    status, output = gate(*command, check=False)
    assert status in (1, 64) and said in output
    assert [(s["name"], s["state"]) for s in stack.servers()] == before


@pytest.mark.parametrize(
    "method,path,body",
    [
        ("POST", "/servers", b'{"address":"elsewhere:3306"}'),
        ("POST", "/servers/satellite-1/drain", b""),
        ("DELETE", "/servers/satellite-1", None),
    ],
)
def test_from_another_host_changes_need_the_token(stack, method, path, body):
    """The published port is another host to the gate."""
    for headers in ({}, {"Authorization": "Bearer guess"}):
        request = urllib.request.Request(stack.status_url + path, data=body, method=method, headers=headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=5)
        assert refused.value.code == 401 and "error" in json.loads(refused.value.read())
    assert {s["state"] for s in stack.servers()} == {"up"}


@pytest.mark.parametrize("token", ["", "Authorization: Bearer guess\\r\\n"])
def test_on_the_gates_own_host_changes_need_the_token_too(stack, token):
    """A satellite that is added gets users' logins: who merely runs something there may not add one."""
    request = f"POST /servers HTTP/1.1\\r\\nHost: localhost\\r\\n{token}Content-Length: 28\\r\\nConnection: close\\r\\n\\r\\n"
    body = '{"address":"elsewhere:3306"}'
    script = f"exec 3<>/dev/tcp/127.0.0.1/8080; printf '{request}{body}' >&3; cat <&3"
    assert containers.execute("gate", "bash", "-c", script).stdout.startswith("HTTP/1.1 401 ")
    assert {s["state"] for s in stack.servers()} == {"up"}


def test_with_the_token_they_are_made(stack, restored):
    token = (stack.secrets / "gate/admin_token").read_text().strip()
    try:

        def post(token):
            request = urllib.request.Request(
                stack.status_url + "/servers/satellite-2/drain", data=b"", method="POST", headers={"Authorization": f"Bearer {token}"}
            )
            return urllib.request.urlopen(request, timeout=5).status

        with pytest.raises(urllib.error.HTTPError) as refused:
            post("guess")
        assert refused.value.code == 401
        assert post(token) == 200 and stack.server("satellite-2")["state"] == "draining"
        assert token not in stack.logs("gate")
    finally:
        gate("undrain", "satellite-2")


@pytest.mark.fault
def test_a_drain_and_a_limit_survive_the_gates_restart(stack, table, restored):
    def seen():
        return {s["name"]: (s["state"], s["limits"]["running"], s["limits"]["connections"]) for s in stack.servers()}

    def restarted(how):
        how()
        stack.wait_for(lambda: stack.page("gate", "/ready")[0] == 200, 60, "the gate to be back")
        stack.wait_for(lambda: "down" not in [state for state, *_ in seen().values()], 30, "all servers to be found")
        return seen()

    try:
        gate("drain", "satellite-2")
        gate("limit", "satellite-1", "running=17")
        gate("limit", "master", "connections=700")
        before = seen()
        assert before["satellite-2"][0] == "draining" and before["satellite-1"][1:] == (17, 1000) and before["master"][2] == 700
        assert restarted(lambda: stack.kill_container("gate")) == before
        assert restarted(lambda: stack.compose("up", "-d", "--no-build", "--no-deps", "--force-recreate", "gate")) == before
    finally:
        for server in ("master", "satellite-1"):
            gate("limit", server, "running=default", "connections=default")
