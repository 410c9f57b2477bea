"""CPU, lag and waits of one contender, second by second, while it is under a load.

In:  the running stack. Out: looks (counters at an instant), and what happened between two of them: cores used by each service, lag of
each satellite, waits and fallbacks a second. Must never: turn a gate that did not answer in time into a figure; it is missing then.
"""

import http.client
import json
import time
import urllib.request

import figures
import process
import stack as stacks

HTTP_SECONDS = 2
SILENT = (OSError, http.client.HTTPException, ValueError)  # how a gate that is starting, or has no CPU, shows itself
COUNTERS = {
    "waits": "gtid_gate_waits_total",
    "waited": "gtid_gate_wait_seconds_sum",
    "fallbacks": "gtid_gate_fallbacks_total",
    "reads": 'gtid_gate_reads_by_level_total{level="strong"}',
    "hopeless": "gtid_gate_hopeless_waits_total",
    "table_reads": "gtid_gate_table_reads_total",
    "table_waits": "gtid_gate_table_waits_total",
    "table_gave_up": 'gtid_gate_table_waits_total{outcome="gave_up"}',
}


def get(address, path):
    with urllib.request.urlopen(f"http://{address}:8080{path}", timeout=HTTP_SECONDS) as answer:
        return answer.read().decode()


def of_gate(metrics, servers):
    """What a look keeps of the gate's /metrics and /servers."""
    satellites = [server for server in json.loads(servers) if server["role"] == "satellite"]
    return {
        **{name: stacks.total(metrics, metric) for name, metric in COUNTERS.items()},
        "lag_ms": {server["name"]: server["lag_ms"] for server in satellites},
        "lag_transactions": {server["name"]: server["lag_transactions"] for server in satellites},
    }


class Watcher:
    """Looks at one contender; services: those whose CPU counts."""

    def __init__(self, stack, services):
        self._processes = {service: process.busiest(stack.docker.inspect(stack.ids[service])["State"]["Pid"]) for service in services}
        self._gate = stack.address("gate") if "gate" in services else None

    def look(self):
        """{time, cpu: {service: seconds so far}, gate: see of_gate, or None}"""
        found = {"time": time.monotonic(), "cpu": {service: self._cpu(service) for service in self._processes}, "gate": None}
        if self._gate:
            try:
                found["gate"] = of_gate(get(self._gate, "/metrics"), get(self._gate, "/servers"))
            except SILENT:
                pass  # it is under load as well; the next second tells more
        return found

    def _cpu(self, service):
        try:
            return process.cpu_seconds(self._processes[service])
        except FileNotFoundError as gone:
            raise OSError(f"{service} has ended during a measurement") from gone


def growth(before, after, name):
    """A second; None if the gate was silent at one end."""
    if not before["gate"] or not after["gate"]:
        return None
    return figures.rate(after["gate"][name] - before["gate"][name], after["time"] - before["time"])


def between(before, after):
    """{cpu: {service: cores}, those of COUNTERS (waited: seconds of waiting): a second; lag_ms, lag_transactions: {satellite: at the end}}"""
    seconds = after["time"] - before["time"]
    gate = after["gate"] or {}
    return {
        "cpu": {service: figures.rate(after["cpu"][service] - used, seconds) for service, used in before["cpu"].items()},
        **{name: growth(before, after, name) for name in COUNTERS},
        "lag_ms": gate.get("lag_ms", {}),
        "lag_transactions": gate.get("lag_transactions", {}),
    }


def series(looks):
    """[{second: since the first look, …between}]"""
    return [{"second": after["time"] - looks[0]["time"], **between(before, after)} for before, after in zip(looks, looks[1:])]
