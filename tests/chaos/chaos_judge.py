"""What must hold after a fault.

In: the stack, the load, which satellites were there before. Out: seconds until all served again, rebuilds; or Broken, with the kind of
check that failed. Must never: pass a satellite that serves and differs, or wait longer than the fault's bound.
"""

import datetime
import re
import time

from support import compose as containers
from support.wait import poll, wait_for

SERVICES = ("master", "kafka", "capture", "applier-1", "applier-2", "satellite-1", "satellite-2", "gate")
# The exit status of verify for what can't be told: something is out of reach.
NOT_PROVEN = 2
LOG_BACK_S = 60
KINDS = ("read", "lost", "differs", "gtid", "stuck", "unexplained")


class Broken(Exception):
    """kind: read (a read breaks its level's promise), lost (an acknowledged commit), differs (a row), gtid (missing, twice, out of order), stuck, unexplained (a rebuild)."""

    def __init__(self, kind, text):
        assert kind in KINDS
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class Judge:
    def __init__(self, stack, load):
        self.stack, self.load = stack, load
        self.begin()

    def begin(self):
        """Before a fault."""
        self.since = datetime.datetime.now(datetime.UTC).isoformat()
        self.incarnations = {service: self.stack.incarnation(service) for service in self.stack.satellites}

    # --- stuck ---------------------------------------------------------------------------------------------------

    def settle(self, bound_s):
        """Until everything serves, writes included, and has what was committed when the fault was over; returns the seconds."""
        began = time.monotonic()
        try:
            self._until(began + bound_s, self._writes_go_on(), "a commit to be acknowledged")
            target = wait_for(lambda: self.stack.gtid("master"), bound_s, "the master")
            for service in ("capture", "applier-1", "applier-2"):
                self._until(began + bound_s, lambda s=service: self.stack.page(s, "/ready")[0] == 200, f"{service} to be ready")
            for service in self.stack.satellites:
                self._until(began + bound_s, lambda s=service: self.stack.server(s)["state"] == "up", f"{service} up in the gate")
                self._until(began + bound_s, lambda s=service: self.stack.contains(s, target), f"{service} to contain {target}")
        except AssertionError as error:
            raise Broken("stuck", f"{error}; bound {bound_s} s") from error
        return time.monotonic() - began

    @staticmethod
    def _until(deadline, predicate, what):
        poll(predicate, max(0, deadline - time.monotonic()), what)

    def _writes_go_on(self):
        goal = len(self.load.acknowledged) + 3
        return lambda: len(self.load.acknowledged) >= goal

    # --- reads ---------------------------------------------------------------------------------------------------

    def reads(self, checker):
        """What clients saw from before the fault until now, at all levels. Errors are allowed; that they end, settle has seen."""
        checker.master_is_at()
        checker.finish(deadline_s=180)
        if checker.summary is None:
            raise Broken("stuck", checker.report)
        if any(checker.summary["violations"].values()):
            raise Broken("read", checker.report)

    # --- right ---------------------------------------------------------------------------------------------------

    def right(self):
        """Nothing lost, nothing different; the load stands still meanwhile, and begins anew."""
        with self.load.paused():
            try:
                self.stack.await_satellites(60)
            except AssertionError as error:
                raise Broken("stuck", str(error)) from error
            self._nothing_lost()
            self.gtids()
            self._rows()
            self.load.forget()

    def _nothing_lost(self):
        for service in ("master", *self.stack.satellites):
            missing, torn = self.load.missing(service)
            if missing:
                raise Broken("lost", f"{len(missing)} acknowledged commits are not on {service}: {missing[:5]}")
            if torn:
                raise Broken("lost", f"transactions in part on {service}: {torn[:5]}")

    def gtids(self):
        """Satellites that get records straight from capture serve before a broker that was killed is back: until it can be told."""
        deadline = time.monotonic() + LOG_BACK_S
        done = self._verified()
        while done.returncode == NOT_PROVEN and time.monotonic() < deadline:
            done = self._verified()
        if done.returncode != 0:
            raise Broken("stuck" if done.returncode == NOT_PROVEN else "gtid", done.stdout + done.stderr)

    def _verified(self):
        addresses = [f"{service}:3306" for service in self.stack.satellites]
        return self.stack.compose(
            "run", "--rm", "--no-deps", "-T", "-e", "VERIFY_TIMEOUT_S=20", "capture", "verify", *addresses, check=False
        )

    def _rows(self):
        done = containers.run(
            "mysql-satellite/compare", "master", *self.stack.satellites, check=False, timeout=400, env={"COMPARE_TIMEOUT_S": "20"}
        )
        if done.returncode != 0:
            raise Broken("differs", done.stdout + done.stderr)

    # --- rebuilds ------------------------------------------------------------------------------------------------

    def rebuilds(self, expected):
        """How many satellites are new. Each says why: its mysqld ended, or its applier asked for it. expected: none, some, any."""
        new = [s for s in self.stack.satellites if self.stack.incarnation(s) != self.incarnations[s]]
        for service in new:
            reasons = self.reasons(service)
            if expected == "none" or not reasons:
                raise Broken("unexplained", f"{service} was rebuilt: {reasons or 'nobody says why'}")
        if expected == "some" and not new:
            raise Broken("unexplained", "nothing was rebuilt, though the fault leaves no other way")
        return len(new)

    def reasons(self, service):
        asked = self._said(service.replace("satellite", "applier"), r"event=divergence reason=\S+.*")
        ended = self._said(service, r"event=(?:mysqld-ended|not-read-only|stop|clone)\b.*")
        return [*asked, *ended]

    def _said(self, service, pattern):
        text = self.stack.compose("logs", "--no-color", "--since", self.since, service).stdout
        return re.findall(pattern, text)
