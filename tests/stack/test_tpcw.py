"""TPC-W on the running stack: loadgen/tpcw.lua through the gate, its check of satellites, and `make prepare-tpcw`."""

import json
import os

import pytest

from support import compose as containers

USER = "tpcw"
SCALE = ("--items=1000", "--ebs=1", "--carts=8", "--threads=4")


@pytest.fixture(scope="module")
def shop(stack):
    """An account with a database of its own, empty."""
    stack.make_user(USER)
    return stack.state / "tpcw.cnf"


@pytest.fixture(scope="module")
def tpcw(stack, shop):
    """tpcw(command, *options): sysbench through the gate; what it said, and its exit status."""
    shop.unlink(missing_ok=True)
    with open(os.open(shop, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write(f"mysql-password='{stack.password(USER)}'\n")

    def run(command, *options, status=0, env=None):
        done = containers.run(
            "sysbench",
            "loadgen/tpcw.lua",
            f"--config-file={shop}",
            f"--mysql-host={stack.host}",
            f"--mysql-port={stack.gate_port}",
            f"--mysql-user={USER}",
            f"--mysql-db={USER}",
            *SCALE,
            *options,
            command,
            check=False,
            timeout=240,
            env=env,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    yield run
    shop.unlink()


@pytest.fixture(scope="module")
def loaded(stack, tpcw):
    """The database, loaded through the gate and replayed row by row."""
    tpcw("cleanup")
    tpcw("prepare")
    stack.await_satellites()


@pytest.mark.parametrize("protocol", ("auto", "disable"))
@pytest.mark.parametrize("mix", ("browsing", "shopping", "ordering"))
def test_a_mix_runs_through_the_gate_and_satellites_take_its_reads(stack, loaded, tpcw, reads, mix, protocol):
    report = stack.state / "tpcw.json"

    def run():
        tpcw("run", f"--mix={mix}", f"--db-ps-mode={protocol}", "--time=3", f"--report={report}")

    answered = reads(run)
    told = json.loads(report.read_text())
    assert told["errors"] == 0 and told["count"] > 0, told
    assert sum(answered.get(name, 0) for name in stack.satellites) > answered.get("master", 0), answered


def test_check_asks_the_satellites_too(stack, loaded, tpcw):
    stack.await_satellites()
    said = tpcw("check")
    assert "holds   satellites: each equals the master" in said and "FAILED" not in said, said
    assert said.count("identical") == len(stack.satellites), said


@pytest.mark.fault
def test_check_finds_what_only_a_satellite_has_wrong(stack, loaded, tpcw):
    stack.await_satellites()
    before = stack.incarnation("satellite-2")
    stack.sql("satellite-2", f"UPDATE {USER}.item SET i_stock = i_stock + 1 WHERE i_id = 7")
    said = tpcw("check", "--satellites=on", status=1, env={"COMPARE_TIMEOUT_S": "60"})
    assert "FAILED  satellites" in said and f"{USER}.item" in said, said
    stack.kill_process("satellite-2", "mysqld")
    stack.wait_for(lambda: stack.incarnation("satellite-2") != before, 90, "satellite-2 to be cloned again")
    stack.await_satellites(90)


def test_prepare_tpcw_tells_all_mistakes_before_it_stops_anything(stack, incarnations):
    done = containers.run("make", "-s", "prepare-tpcw", check=False, env={"TPCW_ITEMS": "999", "TPCW_EBS": "0", "TPCW_THREADS": "many"})
    assert done.returncode != 0 and all(name in done.stderr for name in ("TPCW_ITEMS=999", "TPCW_EBS=0", "TPCW_THREADS=many")), done.stderr
    assert "Error 64" in done.stderr, done.stderr
    assert {service: stack.incarnation(service) for service in stack.satellites} == incarnations


@pytest.mark.fault
def test_prepare_tpcw_loads_the_master_and_satellites_clone_it(stack, shop, tpcw, incarnations):
    """A database that is there is replaced; the log goes on behind the load."""
    done = containers.run("make", "-s", "prepare-tpcw", timeout=400, env={"TPCW_ITEMS": "1000", "TPCW_EBS": "2", "TPCW_CARTS": "16"})
    assert "2 satellites have cloned it" in done.stdout + done.stderr, done.stdout + done.stderr
    for service in stack.satellites:
        assert stack.incarnation(service) != incarnations[service]
        assert stack.sql(service, f"SELECT COUNT(*) FROM {USER}.customer") == [(5760,)]
    stack.await_satellites(90)
    tpcw("run", "--ebs=2", "--time=2")
    tpcw("check")
