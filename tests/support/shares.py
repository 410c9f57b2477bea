"""mysql-satellite/shares as a module, which is the same program that the stack's first container runs."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys

from . import compose as containers

FOLDER = os.path.join(containers.ROOT, "mysql-satellite")
sys.path.insert(0, FOLDER)
loader = importlib.machinery.SourceFileLoader("shares", os.path.join(FOLDER, "shares"))
shares = importlib.util.module_from_spec(importlib.util.spec_from_loader("shares", loader))
loader.exec_module(shares)


def dealt_here():
    """{server: its cores} on this machine."""
    lscpu = subprocess.run(("lscpu", "-p=CPU,CORE,SOCKET,NODE,CACHE"), text=True, capture_output=True, check=True).stdout
    return shares.deal(lscpu.splitlines(), os.sched_getaffinity(0))


def share_of(service):
    """The name of the share on which a service runs."""
    kind, _, number = service.partition("-")
    log_or_gate = {"kafka": "log", "capture": "log", "proxysql": "gate", "gate": "gate"}
    return f"satellite-{number}" if kind == "applier" else log_or_gate.get(kind, service)
