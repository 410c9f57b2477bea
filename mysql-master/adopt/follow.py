"""Our master as a replica of the source, until the cutover; and the way back.

In:  a Clients with `source` and `master`, the state. Out: a channel that runs, or a cutover that is complete.
Must never: open our master while the source takes writes, or the source while our master does: nothing that was acknowledged is lost.

While it follows, our master is read-only for everybody but the channel (super_read_only, over restarts, too).
"""

import secrets
import subprocess
import time

import accounts
import clients
import load
import plan
import questions

CLOSE_OURS = "SET PERSIST super_read_only = ON;\n"
CLOSE_SOURCE = "SET GLOBAL super_read_only = ON;\nSET GLOBAL event_scheduler = OFF;\n"
# Root may write, clients may not.
LET_ROOT_IN = "SET PERSIST read_only = ON;\nSET PERSIST super_read_only = OFF;\n"
OPEN_OURS = "RESET PERSIST IF EXISTS super_read_only;\nRESET PERSIST IF EXISTS read_only;\nSET GLOBAL super_read_only = OFF;\nSET GLOBAL read_only = OFF;\n"
# The first statement of sessions that write the binlog: none.
LOGGED = "DO 0"
STOP = f"STOP REPLICA FOR CHANNEL '{plan.CHANNEL}';\n"
FORGET = f"{STOP}RESET REPLICA ALL FOR CHANNEL '{plan.CHANNEL}';\n"
LEAVE_OURS = "STOP REPLICA FOR CHANNEL 'multimed';\nRESET REPLICA ALL FOR CHANNEL 'multimed';\n"
BACK_ACCOUNT = "multimed_back"


def close_ours(there, statements=CLOSE_OURS, seconds=load.LOCK_WITHIN_S):
    await_value(lambda: closed(there, "master", statements), seconds, lambda: "our master's transactions do not end")


def start(there, source, target, password, position):
    """target: (host, port, user). Returns once both threads run. A channel that an earlier try has made goes on where it stands."""
    if has_channel(there, "master", plan.CHANNEL):
        there.run("master", STOP)
        now = status(there, "master", plan.CHANNEL)
        if now["Relay_Source_Log_File"]:
            position = {**position, "file": now["Relay_Source_Log_File"], "offset": now["Exec_Source_Log_Pos"]}
        there.run("master", FORGET)
    there.run("master", plan.follow(source, *target, password, position, source["tls"]))
    await_running(there, "master", plan.CHANNEL)


def status(there, server, channel):
    """SHOW REPLICA STATUS as a dict; {} if there is no such channel."""
    if not has_channel(there, server, channel):
        return {}
    names, values = there.run(server, f"SHOW REPLICA STATUS FOR CHANNEL '{channel}';", "--column-names")
    now = dict(zip(names, values))
    if now["Last_SQL_Error"]:
        # The coordinator's message only says where to look.
        query = f"SELECT last_error_message FROM performance_schema.replication_applier_status_by_worker WHERE channel_name = '{channel}'"
        now["Last_SQL_Error"] = "; ".join(row[0] for row in there.run(server, query + ";") if row[0]) or now["Last_SQL_Error"]
    return now


def has_channel(there, server, channel):
    query = f"(SELECT COUNT(*) FROM performance_schema.replication_connection_configuration WHERE channel_name = '{channel}')"
    return there.value(server, query) == "1"


def await_running(there, server, channel, seconds=60):
    end = time.monotonic() + seconds
    while True:
        now = status(there, server, channel)
        if not now:
            raise clients.Failed(f"{server} does not follow: it has no channel")
        if plan.channel_runs(now):
            return
        if plan.channel_error(now) or time.monotonic() > end:
            raise clients.Failed(f"{server} does not follow: {plan.channel_line(now)}")
        time.sleep(0.2)


class Cutover:
    """The steps, each of which may be repeated; the state says which are done."""

    def __init__(self, there, state, user, seconds, say):
        self.there, self.state, self.user, self.seconds, self.say = there, state, user, seconds, say

    def run(self, source, back):
        if self.state["phase"] == "following":
            self._close_source(source)
        if self.state["phase"] == "closing" and has_channel(self.there, "master", plan.CHANNEL):
            self.there.run("master", FORGET)
        # What the old server follows has them already.
        if self.state["phase"] == "closing" and not self.state["back"]:
            self._take_accounts_and_events()
        if back:
            self.prepare_way_back(*back)
        if self.state["phase"] == "closing":
            self.there.run("master", OPEN_OURS)
            self.state.keep(phase="done")

    def _close_source(self, source):
        """Until all of it is here, and the state says so; what fails before that leaves the source as it was."""
        if not has_channel(self.there, "master", plan.CHANNEL):
            raise clients.Failed("our master does not follow: make adopt STATUS=1; nothing was done at the source")
        # An earlier cutover that was killed has made it read-only.
        was = self.state["source_was"] or {name: source[name] for name in ("read_only", "super_read_only", "event_scheduler")}
        self.state.keep(source_was=was)
        try:
            position = self._make_read_only(source)
            self.say("the source is read-only; waiting for its last transaction")
            self._await_applied(source, position)
            self.state.keep(phase="closing")
        except BaseException:
            # Interrupted after that was kept, it goes on from there.
            if self.state["phase"] == "following":
                self._open_source(source)
            raise

    def _make_read_only(self, source):
        if not source["super_read_only"]:
            self._ask_or_set(source)
        return self.there.fact("source", questions.POSITION)

    def _ask_or_set(self, source):
        if may_set(source):
            return await_value(
                lambda: closed(self.there, "source", CLOSE_SOURCE), self.seconds, lambda: "the source's transactions do not end"
            )
        self.say("run there: " + CLOSE_SOURCE.replace("\n", " "))
        return await_value(
            lambda: self.there.value("source", "@@super_read_only") == "1", self.seconds, lambda: "the source is not read-only"
        )

    def _await_applied(self, source, position):
        """Asked in steps, so that what stops the channel is said at once."""
        if source["gtid_mode"] == "ON":
            wait = f"WAIT_FOR_EXECUTED_GTID_SET({plan.literal(position['gtid'])}, 1) = 0"
        else:
            wait = f"SOURCE_POS_WAIT({plan.literal(position['file'])}, {position['offset']}, 1, '{plan.CHANNEL}') >= 0"
        end = time.monotonic() + self.seconds
        while self.there.value("master", wait) != "1":
            error = plan.channel_error(status(self.there, "master", plan.CHANNEL))
            if error or time.monotonic() > end:
                raise clients.Failed(
                    error or f"not all of the source was here within {self.seconds} s (TIMEOUT_S); the source is open again"
                )

    def _open_source(self, source):
        if may_set(source):
            reopen(self.there, self.state["source_was"])
        elif not self.state["source_was"]["super_read_only"]:
            self.say("undo it there: " + reopening(self.state["source_was"]).replace("\n", " "))
        self.state.keep(source_was=None)

    def _take_accounts_and_events(self):
        """As they are there now; events begin to run here."""
        there = self.there
        there.run("master", LET_ROOT_IN)
        schemas = plan.wanted_schemas(there.fact("source", f"SELECT {questions.SCHEMAS}"), [])
        copy = accounts.read(there, self.user, None)
        old = sorted({tuple(each) for each in self.state["accounts"]} | set(copy.names))
        self.state.keep(schemas=schemas, accounts=old)
        accounts.make(there, old, copy.users, LOGGED)
        accounts.grant(there, copy, LOGGED)
        for each in copy.left_out:
            self.say(f"left out: {each}")
        load.pipe(there, there.source_options, schemas, load.EVENTS, [], LOGGED)
        if self.state["source_was"]["event_scheduler"] != "ON":
            self.say("event_scheduler was not ON there; it is here")
        self.state.keep(at=one_line(there.value("master", "@@global.gtid_executed")))

    def prepare_way_back(self, host, port):
        """The old server follows our master from the cutover on."""
        there = self.there
        if has_channel(there, "source", "multimed"):
            return await_running(there, "source", "multimed")
        password = secrets.token_hex(15)
        there.run(
            "master",
            f"DROP USER IF EXISTS {BACK_ACCOUNT}@'%';\nCREATE USER {BACK_ACCOUNT}@'%' IDENTIFIED WITH "
            f"caching_sha2_password BY '{password}' REQUIRE SSL;\nGRANT REPLICATION SLAVE, SYSTEM_USER ON *.* TO {BACK_ACCOUNT}@'%';\n",
        )
        try:
            there.run("source", plan.go_back(host, port, password, BACK_ACCOUNT, self.state["others"], self.state["at"]))
            await_running(there, "source", "multimed")
        except BaseException:
            # So that the next try may give another address.
            there.run("source", LEAVE_OURS if has_channel(there, "source", "multimed") else "DO 0")
            raise
        self.state.keep(back=plan.address(host, port))
        return None


def may_set(source):
    return any(each in source["privileges"] for each in ("SUPER", "SYSTEM_VARIABLES_ADMIN")) and any(
        each in source["privileges"] for each in ("SUPER", "CONNECTION_ADMIN")
    )


def closed(there, server, statements):
    """A try to make a server read-only, short for the reason that load.LOCK_WAIT_S has: whether it is."""
    try:
        there.run(server, f"SET SESSION lock_wait_timeout = {load.LOCK_WAIT_S};\n{statements}")
    except clients.Failed as failure:
        if load.LOCK_TIMEOUT in str(failure):
            return False
        raise
    return True


def reopening(was):
    return "".join(f"SET GLOBAL {name} = {was[name]};\n" for name in ("super_read_only", "read_only", "event_scheduler"))


def reopen(there, was):
    """The source as it was before the cutover."""
    there.run("source", reopening(was))


def go_back(there, state, seconds, say):
    """The old server takes the writes again, with all that was written here."""
    try:
        close_ours(there, "SET PERSIST event_scheduler = OFF;\n" + CLOSE_OURS, seconds)
        last = one_line(there.value("master", "@@global.gtid_executed"))
        await_value(
            lambda: there.value("source", f"WAIT_FOR_EXECUTED_GTID_SET({plan.literal(last)}, 1) = 0") == "1",
            seconds,
            lambda: f"the old server lacks {lacks(there, last)}: {plan.channel_line(status(there, 'source', 'multimed'))}",
        )
    except BaseException:
        there.run(
            "master", f"RESET PERSIST IF EXISTS event_scheduler;\nSET GLOBAL event_scheduler = {state['event_scheduler']};\n" + OPEN_OURS
        )
        raise
    # An earlier one may have got this far.
    if has_channel(there, "source", "multimed"):
        there.run("source", LEAVE_OURS)
    state.keep(phase="returned", back="")
    reopen(there, state["source_was"])
    say("the old server takes writes again; our master is read-only")


def lacks(there, gtid_set):
    return one_line(there.value("source", f"GTID_SUBTRACT({plan.literal(gtid_set)}, @@global.gtid_executed)"))


def await_value(condition, seconds, complaint):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise clients.Failed(f"{complaint()} (after {seconds} s, TIMEOUT_S)")
        time.sleep(0.2)


def one_line(gtid_set):
    return gtid_set.replace("\n", "")


def satellites_lack(project, gtid_set):
    """Names of running satellites that do not hold a GTID set yet, or do not answer."""
    command = [
        "docker",
        "ps",
        "--filter",
        f"label=com.docker.compose.project={project}",
        "--format",
        '{{.Label "com.docker.compose.service"}} {{.ID}}',
    ]
    running = [line.split() for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]
    lacking = []
    for name, container in sorted(running):
        if name.startswith("satellite-"):
            query = f"SELECT GTID_SUBSET('{gtid_set}', @@global.gtid_executed) AND NOT @@global.offline_mode"
            command = ["docker", "exec", container, "mysql", "--defaults-file=/run/multimed/client.cnf", "-N", "-B", "-e", query]
            if subprocess.run(command, capture_output=True, text=True).stdout.strip() != "1":
                lacking.append(name)
    return lacking
