"""The status page: what its stream says when something happens, and what a real browser makes of it."""

import contextlib
import http.client
import json
import os
import pathlib
import time
import urllib.parse

import pytest

from support.browser import Browser
from support.wait import wait_for

SCREENSHOTS = pathlib.Path(os.environ["TEST_STATE"]) / "screenshots"
# What the page said, in words.
SERVERS = "[...document.querySelectorAll('#servers tbody tr')].map(row => row.innerText)"


@contextlib.contextmanager
def asked(stack, path, method="GET", **headers):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(stack.status_url).netloc, timeout=20)
    connection.request(method, path, headers=headers)
    with contextlib.closing(connection):
        yield connection.getresponse()


def snapshots(answer):
    for line in answer:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def states(snapshot):
    return {server["name"]: server["state"] for server in snapshot["servers"]}


def test_the_page_answers_as_web_pages_do(stack):
    with asked(stack, "/") as answer:
        policy, page = answer.headers["Content-Security-Policy"], answer.read()
        assert answer.status == 200 and b"page.js" in page and "default-src 'none'" in policy and "unsafe" not in policy
    for path in ("/", "/page.js", "/page.css", "/events"):
        with asked(stack, path, "HEAD") as answer:
            assert (answer.status, answer.read()) == (200, b"")
    for method, path, status in (("GET", "/nothing", 404), ("GET", "/page.html", 404), ("POST", "/", 405), ("POST", "/events", 405)):
        with asked(stack, path, method) as answer:
            assert answer.status == status, path
    with asked(stack, "/events", Origin="http://elsewhere.example") as answer:
        assert answer.status == 403


def test_what_the_gate_asks_others_for_is_in_the_snapshots(stack, table):
    def told(snapshot):
        servers = snapshot["servers"]
        return all(s["mysql"] and s["host"] for s in servers) and all(s["applier"] for s in servers[1:]) and snapshot["capture"]

    with asked(stack, "/events") as answer:
        for snapshot in snapshots(answer):
            if told(snapshot):
                break
    master, satellite, _ = snapshot["servers"]
    assert master["mysql"]["transactions"] > 0 and master["host"]["data_kind"] == "disk"
    assert satellite["host"]["data_kind"] == "tmpfs" and 0 < satellite["host"]["data"] < satellite["host"]["data_size"]
    assert satellite["host"]["cores"] and satellite["host"]["why"] and satellite["applier"]["live"] in (0, 1)
    assert "gtid_set" not in satellite


@pytest.mark.fault
def test_a_satellite_that_is_killed_is_shown_within_two_snapshots(stack, table):
    with asked(stack, "/events") as answer:
        said = snapshots(answer)
        assert states(next(said))["satellite-2"] == "up"
        since = time.monotonic()
        stack.kill_process("satellite-2", "mysqld")
        for number, snapshot in enumerate(said):
            if states(snapshot)["satellite-2"] == "down":
                break
            # The first one may have been made while the signal was on its way.
            assert number < 2, "snapshots go on as if nothing had happened"
        print(f"shown after {time.monotonic() - since:.2f} s")
    stack.await_satellites(90)


def test_a_browser_shows_the_servers_at_two_widths_and_in_the_dark(stack, table):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        for width, dark in ((1280, False), (400, True)):
            browser.open(stack.status_url, width, dark=dark)
            wait_for(lambda: len(browser.run(SERVERS)) == 3, 20, "the servers on the page")
            rows = browser.run(SERVERS)
            assert [name for name in ("master", "satellite-1", "satellite-2") if any(name in row for row in rows)] and all(
                "up" in r for r in rows
            )
            assert browser.run("document.documentElement.scrollWidth") <= width, "nothing sticks out"
            back = browser.run("getComputedStyle(document.body).backgroundColor")
            assert (max(map(int, back[4:-1].split(","))) < 64) == dark, back
            (SCREENSHOTS / f"page-{width}.png").write_bytes(browser.screenshot())
        # A token that is missing is no mistake of the page.
        mistakes = [c for c in browser.complaints() if "/statements" not in c.get("entry", {}).get("url", "")]
        assert not mistakes, mistakes


def test_the_machine_is_drawn_with_all_who_run_on_it(stack):
    machine = json.loads(stack.page("gate", "/machine")[1])
    names = [server["name"] for server in machine["servers"]]
    assert names == ["master", "log and capture", "gate", *stack.satellites]
    cores = [core for node in machine["nodes"] for cache in node["caches"] for core in cache["cores"]]
    assert {names[at] for core in cores for at in core["who"]} == set(names)
    with Browser() as browser:
        browser.open(stack.status_url, 1280)
        titles = "[...document.querySelectorAll('#nodes title')].map(title => title.textContent)"
        drawn = wait_for(lambda: browser.run(titles), 20, "cores on the page")
        assert len(drawn) == len(cores) and all(any(name in title for title in drawn) for name in names)
        assert [name for name in names if name not in browser.run("document.getElementById('dealt').innerText")] == []


def test_who_has_the_token_sees_statements(stack, table):
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT n FROM items WHERE id = 3")
    give = "document.getElementById('token').value = {!r}; document.querySelector('#ask button').click()"
    with Browser() as browser:
        browser.open(stack.status_url, 1280)
        asks = "!document.getElementById('ask').hidden && document.getElementById('ask').innerText"
        assert "secrets/gate/admin_token" in wait_for(lambda: browser.run(asks), 20, "the page to ask for the token")
        browser.run(give.format("guess"))
        wait_for(lambda: "missing or wrong" in browser.run("document.getElementById('refusal').innerText"), 20, "the refusal")
        browser.run(give.format((stack.secrets / "gate/admin_token").read_text().strip()))
        wait_for(lambda: browser.run("document.querySelector('#statements tbody .text')?.innerText"), 20, "statements")
        assert browser.run("document.getElementById('ask').hidden")


def test_what_comes_from_outside_is_text_on_the_page(stack):
    """Names and statements with HTML in them stay text: the policy refuses to make elements of strings, whoever tries."""
    with Browser() as browser:
        browser.open(stack.status_url, 1280)
        wait_for(lambda: browser.run(SERVERS), 20, "the servers on the page")
        browser.run(
            """showStatements([{text: "<img src=x onerror=document.title='taken'>", count: 1, errors: 0, p50_ms: 1, p99_ms: 1,
                servers: {"<i>": 1}, why: [{reason: "<b>", count: 1, on_master: true, advice: "<b>"}]}])"""
        )
        assert browser.run("document.querySelector('#statements img, #statements b, #statements i')") is None
        assert "<img src=x" in browser.run("document.getElementById('statements').innerText")
        refused = browser.run("(() => { try { document.body.innerHTML = '<b>'; return false; } catch { return true; } })()")
        assert refused and browser.run("document.title") != "taken"


def test_a_page_without_satellites_says_so_and_is_not_green(stack):
    with Browser() as browser:
        browser.open(stack.status_url, 1280)
        wait_for(lambda: browser.run(SERVERS), 20, "the servers on the page")
        verdict, kind, worries = browser.run(
            """(() => {
                const only = { ...shown, servers: shown.servers.filter(isMaster) };
                showVerdict(only); drawPath(only); showTiles(only); showServers(only);
                return [by("verdict").textContent, by("verdict").className, by("worries").innerText];
            })()"""
        )
    assert "no satellite" in verdict and "well" not in verdict and "good" not in kind
    assert "all reads run on the master" in worries


def test_a_transaction_that_is_open_is_shown_at_its_server(stack, table):
    opened = "[...document.querySelectorAll('#servers td[data-label=Open]')].map(cell => cell.innerText)"
    with Browser() as browser, contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        browser.open(stack.status_url, 1280)
        cursor.execute("START TRANSACTION READ ONLY")
        cursor.execute(f"SELECT COUNT(*) FROM {table}")
        cursor.fetchall()
        wait_for(lambda: "1" in browser.run(opened), 20, "a server with something open")
        cursor.execute("COMMIT")
        wait_for(lambda: set(browser.run(opened)) == {"0"}, 20, "nothing open any more")


def test_the_first_paint_is_measured_by_the_browser_itself(stack):
    """The figure is printed, not judged: docs/monitoring.md has it."""
    painted = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)[0]"
    with Browser() as browser:
        browser.open(stack.status_url, 1280)
        took = wait_for(lambda: browser.run(painted), 20, "something painted")
        wait_for(lambda: len(browser.run(SERVERS)) == 3, 20, "the servers on the page")
        print(f"first contentful paint after {took:.0f} ms, servers after {browser.run('performance.now()'):.0f} ms at most")


def test_five_viewers_get_the_same_snapshots(stack):
    """Made once, for all: that is why more viewers cost next to nothing."""
    with contextlib.ExitStack() as streams:
        viewers = [snapshots(streams.enter_context(asked(stack, "/events"))) for _ in range(5)]
        seen = [[] for _ in viewers]

        def common():
            for mine, viewer in zip(seen, viewers, strict=True):
                mine.append(json.dumps(next(viewer)))
            return len(set.intersection(*map(set, seen))) >= 3

        wait_for(common, 20, "three snapshots that all five have seen")
