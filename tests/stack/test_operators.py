"""What operators look with: make doctor, make sql, make logs, on a stack that serves and on one that is half broken."""

import json
import re

import pytest

from support import compose as containers


def doctor():
    """(exit status, {name: finding})"""
    done = containers.run("bin/doctor", check=False, env={"JSON": "1"})
    return done.returncode, {each["name"]: each for each in json.loads(done.stdout)}


def wrong(found):
    return sorted(name for name, each in found.items() if each["state"] == "wrong")


def test_doctor_finds_nothing_wrong_on_a_healthy_stack(stack):
    stack.await_satellites()
    status, found = doctor()
    assert (status, wrong(found)) == (0, [])
    of_the_stack = {name: each["state"] for name, each in found.items() if each["group"] in ("master", "log", "satellites")}
    assert set(of_the_stack.values()) == {"ok"}, of_the_stack
    assert {"capture", "Kafka", "accounts", "satellite-1", "satellite-2 tmpfs", "satellite-2 memory"} <= of_the_stack.keys()
    assert found["TLS certificate"]["state"] == found["ports"]["state"] == "ok" and "last verify" in found


@pytest.mark.fault
def test_doctor_names_a_stopped_applier_and_a_satellite_that_hangs(stack):
    containers.compose("stop", "applier-1")
    try:
        with stack.paused("satellite-2", "mysqld"):
            stack.wait_for(lambda: stack.server("satellite-2")["state"] == "down", 30, "the gate to notice")
            status, found = doctor()
    finally:
        containers.compose("start", "applier-1")
        stack.wait_for(lambda: all(each["state"] == "up" for each in stack.servers()), 60, "all servers")
        stack.await_satellites()
    assert status == 1
    assert {"applier-1", "satellite-2", "servers"} <= set(wrong(found))
    assert "exited" in found["applier-1"]["said"] and "make up" in found["applier-1"]["hint"]
    assert found["accounts"]["state"] == found["satellite-1 tmpfs"]["state"] == "ok"


def test_sql_is_root_on_the_master_and_on_a_named_server(stack):
    def sql(text, **env):
        return containers.run("make", "-s", "sql", input=text, check=False, env=env)

    assert sql("SELECT USER(), @@server_id").stdout.splitlines()[1] == "root@localhost\t6034"
    name = sql("SELECT @@report_host", SERVER="satellite-2").stdout.splitlines()[1]
    assert stack.incarnation("satellite-2").startswith(name)
    assert sql("SELECT nonsense").returncode != 0


def test_sql_goes_through_the_gate_as_an_account_of_make_user_and_leaves_no_password_behind(stack):
    def sql(text, **env):
        return containers.run("make", "-s", "sql", input=text, check=False, env=env)

    password = 'od"d\\ and # blank'
    file = stack.state / "password-through"
    file.write_text(password + "\n")
    containers.run("make", "-s", "user", env={"NAME": "through", "PASSWORD_FILE": str(file)})
    done = sql("SELECT USER(); SHOW MULTIMED SERVERS", NAME="through", DB="through")
    assert done.stdout.splitlines()[1].startswith("through@") and "satellite-2\tsatellite\tup" in done.stdout, done.stdout + done.stderr
    assert sql("SELECT nonsense", NAME="through").returncode != 0
    assert containers.execute("master", "ls", "/dev/shm").stdout == ""
    wrong = sql("SELECT 1", NAME="nobody_here", DB="a-b", SERVER="satellite-1")
    assert wrong.returncode != 0 and all(each in wrong.stderr for each in ("nobody_here", "DB=a-b", "NAME is for the gate"))


def test_sql_goes_through_the_gate_as_an_account_that_an_old_server_named_and_says_what_to_do_without_its_password(stack):
    def sql(name):
        return containers.run("bin/sql", input="SELECT USER()", check=False, env={"NAME": name})

    name = "web-app.old$1"
    stack.sql("master", f"CREATE USER '{name}'@'%' IDENTIFIED BY 'known to others'")
    file = stack.secrets / "proxysql/users" / name
    try:
        without = sql(name)
        assert without.returncode == 64 and f"NAME={name}" in without.stderr and f"--user='{name}' --password" in without.stderr
        file.write_text("known to others\n")
        assert sql(name).stdout.splitlines()[1].startswith(f"{name}@")
    finally:
        file.unlink(missing_ok=True)
        stack.sql("master", f"DROP USER '{name}'@'%'")
    for name in ("../app", ".app", "-app", "a/b"):
        refused = sql(name)
        assert refused.returncode == 64 and f"NAME={name} is not a name" in refused.stderr


def test_sql_has_a_terminal_where_there_is_one(stack):
    shown = containers.run("script", "-qec", "make -s sql", "/dev/null", input="SELECT 40 + 2;\nexit\n").stdout
    assert "mysql>" in shown and "42" in shown


def test_sql_and_logs_refuse_names_that_are_none(stack):
    for command in ("sql", "logs"):
        done = containers.run(f"bin/{command}", check=False, env={"SERVER": "nobody"})
        assert done.returncode == 64 and "SERVER=nobody" in done.stderr
    done = containers.run("bin/logs", check=False, env={"SINCE": "lately"})
    assert done.returncode == 64 and "SINCE=lately" in done.stderr


def test_logs_are_one_in_the_order_of_time(stack):
    lines = containers.run("bin/logs", env={"SERVER": "gate master satellite-1"}).stdout.splitlines()
    assert {line.split()[0] for line in lines} == {"gate", "master", "satellite-1"}
    times = [line.split()[1] for line in lines]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z", time) for time in times)
    assert times == sorted(times) and "\033" not in "".join(lines)


def test_logs_of_what_has_no_container_are_an_error(stack):
    done = containers.run("bin/logs", check=False, env={"SERVER": "prometheus", "COMPOSE_PROFILES": "observability"})
    assert done.returncode == 1 and "no container of prometheus is here" in done.stderr and "make up" in done.stderr
    done = containers.run("bin/logs", check=False, env={"COMPOSE_PROJECT_NAME": "none"})
    assert done.returncode == 1 and "no container of this stack is here" in done.stderr


def test_logs_have_colours_on_a_terminal_only_and_not_where_none_are_wanted(stack):
    def shown(**env):
        command = ("script", "-qec", "bin/logs", "/dev/null")
        return containers.run(*command, env={"SERVER": "gate", **env}).stdout

    assert "\033[36mgate" in shown(NO_COLOR=None)
    assert "\033[36m" not in shown(NO_COLOR="1")
