"""Prometheus scrapes the stack; every panel of the dashboard finds data; every alert fires and has its section in docs/monitoring.md.

The dashboard is asked as Grafana would ask: Grafana itself is in no package registry.
"""

import contextlib
import json
import os
import re
import shutil
import urllib.parse

import pytest

from support import compose as containers
from support.stack import get

FOLDER = "gtid-gate/observability"
RULES = f"{FOLDER}/prometheus/alerts.yml"
DASHBOARD = f"{FOLDER}/grafana/dashboards/multimed.json"
TARGETS = {("gate", "gate"), ("capture", "capture"), ("applier", "applier-1"), ("applier", "applier-2"), ("prometheus", "prometheus")}


def read(stack, path):
    return (stack.root / path).read_text()


def alerts(stack):
    return re.findall(r"^ +- alert: (\w+)$", read(stack, RULES), re.MULTILINE)


def queries():
    """(panel, query) of the dashboard."""
    with open(os.path.join(containers.ROOT, DASHBOARD)) as file:
        panels = json.load(file)["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", [])]


def promtool(stack, *arguments):
    image = json.loads(containers.compose("--profile", "*", "config", "--format", "json").stdout)["services"]["prometheus"]["image"]
    mounts = ("-v", f"{stack.root}:/repository:ro", "-v", f"{stack.root}/{FOLDER}/targets:/targets:ro")
    return containers.run("docker", "run", "--rm", *mounts, "-w", "/repository/tests/stack", "--entrypoint", "promtool", image, *arguments)


class Prometheus:
    def __init__(self):
        self._url = f"http://{os.environ['BIND_ADDRESS']}:{os.environ['PROMETHEUS_PORT']}/api/v1/"

    def ask(self, path, **parameters):
        """Nothing while it does not answer."""
        try:
            status, text = get(f"{self._url}{path}?{urllib.parse.urlencode(parameters)}")
        except OSError:
            return None
        assert status in (200, 503), text
        return json.loads(text)["data"] if status == 200 else None

    def scraped(self):
        """{(job, instance)} of the targets that answer."""
        found = self.ask("targets") or {"activeTargets": []}
        return {(each["labels"]["job"], each["labels"]["instance"]) for each in found["activeTargets"] if each["health"] == "up"}

    def query(self, text):
        return self.ask("query", query=text)["result"]


@pytest.fixture(scope="module")
def prometheus(stack):
    """Of the stack, but it scrapes every second; removed afterwards."""
    config = stack.state / "prometheus"
    shutil.rmtree(config, ignore_errors=True)
    shutil.copytree(stack.root / FOLDER / "prometheus", config)
    file = config / "prometheus.yml"
    file.write_text(file.read_text().replace("_interval: 15s", "_interval: 1s"))
    config.chmod(0o755)
    containers.compose("up", "-d", "--no-build", "--no-deps", "prometheus")
    yield Prometheus()
    containers.compose("rm", "--stop", "--force", "--volumes", "prometheus")


@pytest.fixture(scope="module")
def traffic(stack, prometheus):
    """Reads and writes before and after the first scrapes, so that rates have something to show."""
    stack.wait_for(lambda: prometheus.scraped() == TARGETS, 30, "every target to be scraped")

    def some():
        stack.sql("master", "CREATE TABLE IF NOT EXISTS app.observed (id INT AUTO_INCREMENT PRIMARY KEY)")
        with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
            for _ in range(5):
                cursor.execute("INSERT INTO observed VALUES ()")
                cursor.execute("SELECT COUNT(*) FROM observed")
        return prometheus.query("rate(gtid_gate_reads_total[10s]) > 0") and prometheus.query("rate(multimed_capture_bytes_total[10s]) > 0")

    stack.wait_for(some, 30, "rates in Prometheus")


@pytest.mark.usefixtures("traffic")
def test_every_panel_of_the_dashboard_gets_data(stack, prometheus):
    asked = [(title, query.replace("$__rate_interval", "10s")) for title, query in queries()]
    assert len(asked) > 20 and not [query for _, query in asked if "$" in query]

    def empty():
        return [f"{title}: {query}" for title, query in asked if not prometheus.query(query)]

    stack.wait_for(lambda: empty() == [] or print(*empty(), sep="\n"), 20, "data in every panel")


@pytest.mark.usefixtures("traffic")
def test_no_alert_is_about_to_fire_on_a_sound_stack_and_each_rule_has_something_to_judge(prometheus, stack):
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert {rule["name"] for rule in rules} == set(alerts(stack))
    assert [rule["name"] for rule in rules if rule["health"] == "err"] == []
    named = set(re.findall(r"\b((?:gtid_gate|multimed)_\w+)", read(stack, RULES)))
    # A kind of refusal is counted from the first one on, `make verify` may not have run here, and every satellite serves.
    may_lack = {"gtid_gate_overloads_total", "gtid_gate_last_verify_status", "gtid_gate_server_bootstrap_failures"}
    stack.wait_for(lambda: {name for name in named if not prometheus.query(name)} <= may_lack, 30, "something to judge for each rule")
    stack.await_satellites()
    # Those of disks are about this machine, which may be nearly full; of the others, an earlier test is the reason.
    others = "LogDiskNearlyFull|DataNearlyFull|TableStreamDown|VerifyFailed|VerifyUnproven|SatelliteCloned"

    def none():
        raised = [each["metric"] for each in prometheus.query(f'ALERTS{{alertname!~"{others}"}}')]
        assert raised == []
        return True

    stack.wait_for(none, 30, "no alert")


def test_targets_follow_the_number_of_satellites(stack, prometheus):
    listed = stack.state / "layout/prometheus/appliers.yml"
    before = listed.read_text()
    assert before.split() == read(stack, f"{FOLDER}/targets/appliers.yml").split("\n", 1)[1].split()
    try:
        listed.with_suffix(".new").write_text(before + "- targets: [applier-3:8080]\n")
        listed.with_suffix(".new").rename(listed)
        expected = 'up{job="applier", instance="applier-3"} == 0'
        stack.wait_for(lambda: prometheus.query(expected), 45, "a third applier among the targets")
    finally:
        listed.write_text(before)


def test_every_alert_fires_in_its_case_and_prometheus_takes_the_configuration(stack):
    tested = set(re.findall(r'alertname(?:: |=")(\w+)', read(stack, "tests/stack/alerts.yml")))
    assert tested == set(alerts(stack))
    promtool(stack, "test", "rules", "alerts.yml")
    promtool(stack, "check", "rules", f"/repository/{RULES}")
    promtool(stack, "check", "config", f"/repository/{FOLDER}/prometheus/prometheus.yml")


def test_every_alert_has_its_section_in_the_docs(stack):
    sections = re.findall(r"^### (\w+)$", read(stack, "docs/monitoring.md"), re.MULTILINE)
    links = re.findall(r"runbook_url: (\S+)", read(stack, RULES))
    assert sections == alerts(stack)
    assert links == [f"docs/monitoring.md#{name.lower()}" for name in sections]
