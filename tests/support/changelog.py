"""The log in Kafka, as tests see it: which kind each of the master's transactions became.

In: the stack, statements. Out: the statements' GTIDs, and per GTID the kinds and reasons of its records. Must never: take a
transaction of somebody else for one of its own; it asks the master which GTIDs a statement added.
"""

import re

FIELD = re.compile(r'(\w+)=("[^"]*"|\S*)')


class Player:
    """One session on the master that remembers under which GTIDs its statements were committed. Nobody else may write meanwhile."""

    def __init__(self, stack, database=None, **options):
        self.stack, self.gtids = stack, {}
        self.connection = stack.admin_connect("master", database=database, **options)
        self.cursor = self.connection.cursor()

    def play(self, label, *statements):
        """Executes statements; their GTIDs count under the label."""
        before = self._executed()
        for statement in statements:
            self.cursor.execute(statement)
        added = self.stack.sql("master", "SELECT REPLACE(GTID_SUBTRACT(%s, %s), '\n', '')", (self._executed(), before))[0][0]
        self.gtids.setdefault(label, []).extend(single(added))

    def _executed(self):
        return self.stack.gtid("master")

    def close(self):
        if self.connection.open:
            self.connection.close()


def single(gtid_set):
    """uuid:1-3,uuid2:5 → one by one. Tags are not expected here."""
    found = []
    for part in filter(None, gtid_set.replace(" ", "").split(",")):
        uuid, *intervals = part.split(":")
        for interval in intervals:
            first, _, last = interval.partition("-")
            found += [f"{uuid}:{number}" for number in range(int(first), int(last or first) + 1)]
    return found


def kinds(stack):
    """{gtid: "rows" | "raw type" | "statement" | "statement, raw create_select" | "empty" | "rebuild …"}; reads on where it last ended."""
    found = stack.__dict__.setdefault("log_kinds", {})
    text = stack.compose("exec", "-T", "capture", "cdc-applier", "log", "--from", str(stack.__dict__.get("log_offset", 0))).stdout
    for line in text.splitlines():
        fields = dict(FIELD.findall(line.split(" sql=")[0].split(" first=")[0]))
        if "offset" not in fields:
            continue
        stack.log_offset = int(fields["offset"]) + 1
        if "gtid" in fields:
            kind = " ".join(filter(None, [fields["kind"], fields.get("reason", "").strip('"')]))
            seen = found.setdefault(fields["gtid"], [])
            if fields["chunk"].startswith("0"):
                seen.clear()  # written again after an interruption
            if kind not in seen:
                seen.append(kind)
    return {gtid: ", ".join(seen) for gtid, seen in found.items()}
