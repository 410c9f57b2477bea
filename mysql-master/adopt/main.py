#!/usr/bin/env python3
"""`make adopt` and `make cutover`, after mysql-master/adopt/run has checked what was given.

usage: main.py load|status|cancel|cutover|return       (the source's password, if it is needed, on standard input)

In:  environment: COMPOSE_PROJECT_NAME, MULTIMED_VERSION, SECRETS_DIR, ADOPT_STATE (the state file), SOURCE_HOST, SOURCE_PORT, NAME, ADOPT_DB,
     THREADS, FOLLOW, CANCEL, BACK, TIMEOUT_S, ADOPT_PRECHECK (precheck's report).
Out: what it does, a line each, on stderr; exit status 0, 1 for what failed, 64 for mistakes, of which all are said, and nothing was touched.
Must never: drop a schema or an account that it has not made itself, or show a password.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import uuid

import accounts
import clients
import findings
import follow
import load
import plan
import questions
from state import PHASES, State

SATELLITES_WITHIN_S = 900
environment = os.environ


def say(text):
    print(f"adopt: {text}", file=sys.stderr, flush=True)


def stop_on(mistakes):
    for each in mistakes:
        say(each)
    if mistakes:
        sys.exit(64)


def option_file(**options):
    def line(value):
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    return "[client]\n" + "".join(f"{name.replace('_', '-')}={line(value)}\n" for name, value in options.items())


def master_options():
    secret = pathlib.Path(environment["SECRETS_DIR"], "master/root_password").read_text().strip()
    return option_file(user="root", password=secret, socket="/sockets/master/mysqld.sock")


def source_options(password):
    host, port = environment["SOURCE_HOST"], environment["SOURCE_PORT"]
    return option_file(host=host, port=port, protocol="tcp", user=environment["NAME"], password=password) + "get-server-public-key\n"


def source_address():
    return plan.address(environment["SOURCE_HOST"], environment["SOURCE_PORT"])


# --- load -----------------------------------------------------------------------------------------------------------


def load_all(there, state, password):
    wanted = [name for name in environment.get("ADOPT_DB", "").split(",") if name]
    following = environment.get("FOLLOW") == "1"
    begun = {name: state[name] if state["phase"] == "loading" else [] for name in ("schemas", "accounts")}
    before = finished(state)
    if state["phase"] == "loading":
        there.run("master", follow.OPEN_OURS)
    source, ours = checked(there, state, begun, wanted, following, password)
    schemas = plan.wanted_schemas(source["schemas"], wanted)
    remove(there, begun["schemas"], [])
    kept = [tuple(each) for each in before["accounts"] if each in ours["accounts"] and each not in begun["accounts"]]
    copy = accounts.read(there, environment["NAME"], schemas if wanted else None, kept, schemas)
    old = sorted({tuple(each) for each in begun["accounts"]} | set(copy.names))
    begin(state, ours, schemas, old)
    with events_off(there, state["event_scheduler"]):
        accounts.make(there, old, copy.users, load.UNLOGGED)
        position = loaded(there, schemas)
        accounts.grant(there, copy, load.UNLOGGED)
        if following:
            events_stay_off(there, schemas, ours["version"])
    state.keep(accounts=copy.names)
    for each in copy.left_out:
        say(f"left out: {each}")
    if kept:
        say(
            f"here from a load before, and as they were but for their privileges on {', '.join(schemas)}: " + ", ".join(map("@".join, kept))
        )
    finish_load(there, state, source, position, following, password)


def finished(state):
    """What earlier loads made that are complete: applications may use it, and nothing of it is made anew."""
    if state["phase"] == "loaded":
        return {name: state[name] for name in ("schemas", "accounts")}
    return state["before"] or {"schemas": [], "accounts": []}


def checked(there, state, begun, wanted, following, password):
    """What both servers say, if nothing keeps the load from beginning."""
    found = [f"precheck: {each}" for each in plan.blocks(pathlib.Path(environment["ADOPT_PRECHECK"]).read_text())]
    # Nothing of what follows can be asked there.
    stop_on(found if findings.wrong_version(there.value("source", "@@version")) else [])
    lacking = list(plan.missing_rights(there.fact("source", questions.RIGHTS), plan.NEEDED + (plan.NEEDED_TO_FOLLOW if following else ())))
    # Without them the rest cannot be asked.
    stop_on(found + lacking if lacking else [])
    source, ours = there.fact("source", questions.SOURCE), there.fact("master", questions.OURS)
    before = finished(state)
    made = {**begun, "accounts": begun["accounts"] + before["accounts"]}
    found += plan.mistakes(source, ours, wanted, following, made, environment["NAME"])
    found += plan.mistakes_of_more(before["schemas"], state["source"], source_address(), following)
    found += mistakes_of_login(password) if following else ()
    found += too_little_room(there, begun["schemas"], plan.wanted_schemas(source["schemas"], wanted))
    stop_on(found)
    return source, ours


def begin(state, ours, schemas, users):
    """On the disk before anything is made: what a second run may drop, and what it may not."""
    # A load that was killed has left it off.
    scheduler = state["event_scheduler"] if state["phase"] == "loading" else ours["event_scheduler"]
    others = [name for name in ours["schemas"] if name not in plan.SYSTEM and name not in schemas]
    made = {"schemas": schemas, "accounts": users, "before": finished(state)}
    state.keep(phase="loading", **made, others=others, source=source_address(), event_scheduler=scheduler)


def loaded(there, schemas):
    """The snapshot's position, once all of these schemas are here."""
    tables = [each for each in there.fact("source", questions.TABLES) or [] if each[0] in schemas]
    views = [each for each in there.fact("source", questions.VIEWS) if each[0] in schemas]
    size = sum(table[2] for table in tables) >> 20
    say(f"loading {size} MiB in {len(tables)} tables of {len(schemas)} schemas")
    if not tables:
        raise clients.Failed("there is no table to load")
    return load.Load(there, there.source_options, schemas, tables, views, int(environment["THREADS"]), say).run()


def finish_load(there, state, source, position, following, password):
    """Satellites have the load before the first change of it reaches them: they could do nothing with that."""
    marker = str(uuid.uuid4())
    followed = following and source["gtid_mode"] == "ON"
    there.run("master", plan.purge(marker, position["gtid"] if followed else ""))
    if not following:
        before = finished(state)
        state.keep(phase="loaded", before=None, **{name: before[name] + list(state[name]) for name in before})
        return await_satellites(marker)
    follow.close_ours(there)
    # What others have made meanwhile is theirs.
    others = [name for name in there.fact("master", f"SELECT {questions.SCHEMAS}") if name not in (*plan.SYSTEM, *state["schemas"])]
    state.keep(phase="starting", position=position, marker=marker, others=others, server_uuid=source["server_uuid"])
    return start_to_follow(there, state, source, password)


def start_to_follow(there, state, source, password):
    """The state says that it follows once it does: until then the same command comes here again."""
    await_satellites(state["marker"])
    target = environment["SOURCE_HOST"], environment["SOURCE_PORT"], environment["NAME"]
    follow.start(there, source, target, password, state["position"])
    state.keep(phase="following", source=source_address())
    say("our master follows the source, and takes no other writes until make cutover")


def follow_at_last(there, state, password):
    """After a load that is complete."""
    # Without them the rest cannot be asked.
    stop_on(list(plan.missing_rights(there.fact("source", questions.RIGHTS), plan.NEEDED + plan.NEEDED_TO_FOLLOW)))
    source = there.fact("source", questions.SOURCE)
    following = environment.get("FOLLOW") == "1"
    found = list(plan.mistakes_of_starting(source, state, following))
    found += [*plan.mistakes_of_following(source, there.fact("master", questions.OURS)), *mistakes_of_login(password)] if following else []
    stop_on(found)
    start_to_follow(there, state, source, password)


def await_satellites(marker):
    say("satellites clone what was loaded")
    end = time.monotonic() + SATELLITES_WITHIN_S
    while lacking := follow.satellites_lack(environment["COMPOSE_PROJECT_NAME"], f"{marker}:1"):
        if time.monotonic() > end:
            raise clients.Failed(f"{', '.join(lacking)} did not clone within {SATELLITES_WITHIN_S} s: make doctor")
        time.sleep(0.5)
    say("satellites have it, too")


@contextlib.contextmanager
def events_off(there, was):
    """Loaded events must not run before all is here."""
    there.run("master", "SET GLOBAL event_scheduler = OFF;")
    try:
        yield
    finally:
        there.run("master", f"SET GLOBAL event_scheduler = {was};")


def events_stay_off(there, schemas, version):
    rows = [json.loads(row[0]) for row in there.run("master", questions.EVENTS + ";")]
    statements = plan.events_stay_off([row for row in rows if row[0] in schemas], version)
    there.run("master", accounts.script(load.UNLOGGED, statements))


def mistakes_of_login(password):
    """As the channel will log in: from our master's container, which is in a network of its own, and so perhaps as another account."""
    where = source_address()
    yield from plan.unfit_password(password)
    master = f"{environment['COMPOSE_PROJECT_NAME']}-master-1"
    command = ["docker", "exec", "-i", master, "mysql", "--defaults-file=/dev/stdin", *clients.MYSQL, "-e", questions.RIGHTS]
    done = subprocess.run(command, input=source_options(password), capture_output=True, text=True)
    if any(f"ERROR {number}" in done.stderr for number in (2002, 2003, 2005)):
        yield f"FOLLOW=1: our master, in its own network, cannot reach {where}: give an address that it can"
    elif done.returncode:
        yield f"FOLLOW=1: our master, in its own network, cannot log in at {where}: {done.stderr.strip()}"
    else:
        yield from plan.missing_rights(json.loads(done.stdout), plan.NEEDED_TO_FOLLOW)


def too_little_room(there, begun, schemas):
    datadir = there.value("master", "@@datadir")
    command = ["docker", "exec", f"{environment['COMPOSE_PROJECT_NAME']}-master-1", "df", "-B1", "--output=avail", datadir]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise clients.Failed(f"master: {done.stderr.strip()}")
    ours = there.fact("master", questions.SIZES)
    left = sum(ours.get(name, 0) for name in begun)
    return plan.too_little_room(there.fact("source", questions.SIZES), schemas, int(done.stdout.split()[-1]) + left)


def remove(there, schemas, users):
    statements = [f"DROP DATABASE IF EXISTS {plan.quoted(name)}" for name in schemas]
    statements += [f"DROP USER IF EXISTS {plan.account(*name)}" for name in users]
    there.run("master", accounts.script("DO 0", statements))


# --- afterwards -----------------------------------------------------------------------------------------------------


def print_status(there, state):
    source = f" of {state['source']}" if state["source"] else ""
    print(f"{state['phase']}{source}: {PHASES[state['phase']]}")
    now = follow.status(there, "master", plan.CHANNEL)
    if now:
        print(plan.channel_line(now))
        return 0 if plan.channel_runs(now) else 1
    if state["phase"] in ("starting", "following"):
        print("our master has no channel: it follows nobody" + (" (CANCEL=drop, and a new load)" if state["phase"] == "following" else ""))
        return 1
    if state["back"]:
        print(f"the old server follows our master at {state['back']}")
    return 0


def cancel(there, state):
    phase, way = state["phase"], environment["CANCEL"]
    if phase == "none" or (phase in ("closing", "done") and way == "drop"):
        stop_on([f"there is nothing to cancel: {PHASES[phase]}"])
    if follow.has_channel(there, "master", plan.CHANNEL):
        there.run("master", follow.FORGET)
    there.run("master", follow.OPEN_OURS + f"DROP USER IF EXISTS {follow.BACK_ACCOUNT}@'%';\n")
    there.run("master", f"RESET PERSIST IF EXISTS event_scheduler;\nSET GLOBAL event_scheduler = {state['event_scheduler']};\n")
    if way == "drop":
        remove(there, made_here(there, state), state["accounts"])
    before = finished(state)
    if phase == "loading" and way == "drop" and before["schemas"]:
        state.keep(phase="loaded", before=None, **before)
        return say(f"what the unfinished load made is dropped here; {', '.join(before['schemas'])}, loaded before, stay")
    state.forget()
    return say("the schemas and accounts are dropped here" if way == "drop" else "our master follows nobody; what was loaded stays")


def made_here(there, state):
    """Schemas that came with the load, and those that came after it: by the channel, or, while the old server followed, for both."""
    if state["phase"] not in ("starting", "following", "returned"):
        return state["schemas"]
    now = plan.wanted_schemas(there.fact("master", f"SELECT {questions.SCHEMAS}"), [])
    return [name for name in now if name not in state["others"]]


def cutover(there, state):
    phase, back = state["phase"], environment.get("BACK", "")
    if phase not in ("following", "closing", "done"):
        stop_on([f"there is nothing to cut over: {PHASES[phase]}"])
    source = there.fact("source", questions.SOURCE)
    stop_on(list(mistakes_of_way_back(source) if back else ()))
    steps = follow.Cutover(there, state, environment["NAME"], int(environment["TIMEOUT_S"]), say)
    steps.run(source, plan.host_and_port(back) if back else None)
    say(f"our master takes the writes: point clients to {environment['BIND_ADDRESS']}:{environment['GATE_PORT']} (gate)")
    if state["back"]:
        say(f"the old server follows at {state['back']}: make cutover RETURN=1 goes back and loses nothing")
    elif source["gtid_mode"] == "ON":
        say("the old server does not follow: make cutover BACK=host:port lets it, as long as our binlogs since now are kept")


def mistakes_of_way_back(source):
    yield from plan.missing_rights(source["privileges"], plan.NEEDED_TO_GO_BACK)
    if source["gtid_mode"] != "ON":
        yield f"BACK needs gtid_mode=ON there, it is {source['gtid_mode']}"


def go_back(there, state):
    if state["phase"] != "done" or not state["back"]:
        stop_on([f"there is no way back: {PHASES[state['phase']]}, and the old server does not follow (make cutover BACK=host:port)"])
    stop_on(list(plan.missing_rights(there.fact("source", questions.RIGHTS), plan.NEEDED_TO_GO_BACK)))
    follow.go_back(there, state, int(environment["TIMEOUT_S"]), say)


def run(step):
    state = State(environment["ADOPT_STATE"])
    if step == "load" and state["phase"] not in ("none", "loading", "loaded", "starting"):
        stop_on([f"{state['phase']}: {PHASES[state['phase']]}"])
    password = sys.stdin.read() if step not in ("status", "cancel") else ""
    options = {"master": master_options()}
    if password:
        options["source"] = source_options(password)
    there = clients.Clients(options)
    try:
        if step == "load":
            (follow_at_last if state["phase"] == "starting" else load_all)(there, state, password)
        return {"status": print_status, "cancel": cancel, "cutover": cutover, "return": go_back}.get(step, lambda *_: 0)(there, state) or 0
    finally:
        there.close()


def main():
    try:
        return run(sys.argv[1])
    except (clients.Failed, OSError) as failure:
        # OSError: the state file, or docker; its words name the file.
        say(str(failure))
    except KeyboardInterrupt:
        say("interrupted")
    say("make adopt STATUS=1 says where it stands; the same command again goes on")
    return 1


if __name__ == "__main__":
    sys.exit(main())
