#!/usr/bin/env python3
"""The steps of `make precheck` that need no server.

usage: judge.py first                                         the statement with which its session begins
       judge.py script                                        the queries for the existing MySQL
       judge.py statements ANSWERS                            its statements, one a line, for `gtid-gate classify`
       judge.py report ANSWERS PLACES SATELLITES TMPFS        the report; PLACES: what classify said (- if it could not), TMPFS in bytes

Exit status: 0, 1 if something blocks or the server was not reached.
"""

import os
import pathlib
import sys

import facts
import findings


def main():
    step, *arguments = sys.argv[1:]
    if step in ("first", "script"):
        print({"first": facts.FIRST + "\n", "script": facts.script()}[step], end="")
        return 0
    rows, errors, ours = facts.parse(pathlib.Path(arguments[0]).read_text())
    if step == "statements":
        for text, _, _ in rows.get("digests", ()):
            print(facts.statement(text))
        return 0
    if "end" not in rows:
        error = errors.get("connection", "the server gave no answer, or broke off")
        for line in findings.no_login(error, rows.get("greeting")):
            print(f"precheck: {line}", file=sys.stderr)
        return 1
    places = None if arguments[1] == "-" else pathlib.Path(arguments[1]).read_text().splitlines()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = findings.findings(rows, errors, findings.Here(ours, memory, int(arguments[2]), int(arguments[3])), places)
    print(findings.report(found))
    return 1 if any(each.level == findings.BLOCKS for each in found) else 0


sys.exit(main())
