"""Whether two answers are the same, but for what differs by nature. Every such thing is a function here, with its reason.

In: two answers of wire.Connection. Out: what differs, in words. Must never: know what the gate cannot do (that is known.py).
"""

import datetime
import re

import wire

# How a server came to its rows, not what they are: two servers may choose two plans, and one may be slow.
# (SERVER_QUERY_NO_GOOD_INDEX_USED, SERVER_QUERY_NO_INDEX_USED, SERVER_QUERY_WAS_SLOW)
PLAN_FLAGS = 0x10 | 0x20 | 0x800
TRACKERS_FOLLOW = 0x4000
STATEMENT_HANDLER = re.compile(rb"handler \(\d+\)")
CLIENT_HOST = re.compile(rb"@'([0-9.]+|localhost)'")
MOMENT = re.compile(rb"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")


def normal(answer):
    return [normal_part(part) for part in answer]


def normal_part(part):
    kind = part[0]
    if kind in ("ok", "end"):
        return normal_ok(part)
    if kind == "error":
        return normal_error(part)
    if kind == "result":
        _, columns, between, rows, end = part
        return (
            kind,
            columns,
            between and normal_part(between),
            tuple(row if isinstance(row, tuple) else normal_row(row) for row in rows),
            normal_part(end),
        )
    return part


def normal_ok(part):
    kind, affected, inserted, status, warnings, info, changes = part
    changes = tuple(change for change in map(normal_tracker, changes) if change)
    status &= ~PLAN_FLAGS
    # With no tracker in the packet the flag says nothing. MySQL sends it where something has changed and changed back.
    if not changes:
        status &= ~TRACKERS_FOLLOW
    return (kind, affected, inserted, status, warnings, info, changes)


def normal_tracker(change):
    """GTIDs name the server; a statement's id counts what the server ran for everybody."""
    if change[0] == "gtids":
        return ("gtids", b"...")
    if change[:2] == ("variable", b"statement_id"):
        return None
    if change[:2] == ("variable", b"timestamp"):
        return (*change[:2], b"..." if float(change[2]) > 1.71e9 else change[2])
    return change


def normal_error(part):
    """Ids of prepared statements are each server's own; the host in an account is where the server sees its client. Of a table that is
    missing in information_schema the same MySQL says now 1109, now 1146."""
    kind, code, state, message = part
    if code in (1109, 1146) and b"information_schema" in message.lower():
        return (kind, 1109, state, b"")
    return (kind, code, state, CLIENT_HOST.sub(b"@'...'", STATEMENT_HANDLER.sub(b"handler (...)", message)))


def normal_row(row):
    """Also of SHOW WARNINGS, which repeats messages."""
    if CLIENT_HOST.search(row):
        return tuple(value and CLIENT_HOST.sub(b"@'...'", value) for value in wire.row(row))
    return without_now(row)


def without_now(row):
    """The present moment, of whoever has not fixed it: two runs are at two moments."""
    today = datetime.datetime.now(datetime.UTC).date()

    def masked(found):
        try:
            then = datetime.date.fromisoformat(found[0][:10].decode())
        except ValueError:
            return found[0]
        return b"<now>" if abs((then - today).days) <= 1 else found[0]

    return MOMENT.sub(masked, row)


def difference(expected, got):
    """None, or the first part that differs: (name, expected, got)."""
    expected, got = normal(expected), normal(got)
    if expected == got:
        return None
    for one, other in zip(expected, got):
        if one != other:
            return field_difference(one, other)
    return ("number of results", len(expected), len(got))


FIELDS = {
    "ok": ("kind", "affected rows", "insert id", "status", "warnings", "info", "trackers"),
    "end": ("kind", "", "", "status", "warnings", "", "trackers"),
    "error": ("kind", "code", "state", "message"),
    "result": ("kind", "columns", "between", "rows", "end"),
    "prepared": ("kind", "parameters", "columns", "warnings", "parameter definitions", "column definitions"),
}


def field_difference(one, other):
    if one[0] != other[0]:
        return ("kind", one, other)
    for name, here, there in zip(FIELDS.get(one[0], ("kind", "value", "value")), one, other):
        if here != there:
            if isinstance(here, tuple) and isinstance(there, tuple) and name in ("end", "between") and here[0] == there[0]:
                inner = field_difference(here, there)
                return (f"{name}: {inner[0]}", *inner[1:])
            return (name, here, there)
    return ("length", one, other)
