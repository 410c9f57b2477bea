"""Counts tests over suites of several languages.

usage: count.py suite NAME KIND STATUS LOG [REPORTS]   -> NAME<tab>passed<tab>failed<tab>skipped; failed tests on stderr
       count.py slowest COUNTS REPORTS                 -> how long each suite took; the slowest files and tests below REPORTS; all files'
                                                          seconds in durations.json beside COUNTS
       count.py total COUNTS                           -> `N passed, N failed, N skipped`; status 0 if none failed and some passed
KIND: command (the exit status is the test), cargo (cargo test's log), go (go test -v's log), junit (XML files below REPORTS, colon-separated),
      closing (the log's last line like `3 passed, 0 failed, 1 skipped`).
Must never: count a suite as passed that ended badly or said nothing: then one failure is added.
"""

import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
CARGO_FAILED = re.compile(r"^test (.+?) \.\.\. FAILED$", re.MULTILINE)
GO = re.compile(r"^--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped\s*$", re.MULTILINE)


def count_cargo(text):
    found = [tuple(map(int, each)) for each in CARGO.findall(text)]
    return found and tuple(map(sum, zip(*found))), CARGO_FAILED.findall(text)


def count_go(text):
    """Subtests are part of their test."""
    found = GO.findall(text)
    return found and tuple(sum(what == wanted for what, _ in found) for wanted in ("PASS", "FAIL", "SKIP")), [
        name for what, name in found if what == "FAIL"
    ]


def count_closing(text):
    found = CLOSING.findall(text)
    return found and tuple(map(int, found[-1])), re.findall(r"^(?:not ok|FAIL\w*:?) +(.*)$", text, re.MULTILINE)


def junit_cases(directories, pattern="*.xml"):
    for directory in directories:
        for file in sorted(pathlib.Path(directory).glob(pattern)):
            yield from ElementTree.parse(file).iter("testcase")


def shortened(message):
    """Its beginning, and more of its end: there a command says why it ended."""
    return message if len(message) <= 600 else f"{message[:200]} ... {message[-400:]}"


def count_junit(directories):
    counted, names = [0, 0, 0], []
    for case in junit_cases(directories.split(":")):
        bad = next(filter(lambda found: found is not None, map(case.find, ("failure", "error"))), None)
        skipped = case.find("skipped") is not None
        counted[1 if bad is not None else 2 if skipped else 0] += 1
        if bad is not None:
            message = shortened(" ".join((bad.get("message") or "").split()))
            names.append(": ".join(filter(None, (case.get("classname"), case.get("name"), message))))
    return sum(counted) > 0 and tuple(counted), names


def count(kind, status, log, reports):
    """(passed, failed, skipped), names of failed tests."""
    if kind == "command":
        return ((1, 0, 0), []) if status == 0 else ((0, 1, 0), [f"exit status {status}"])
    text = pathlib.Path(log).read_text(errors="replace")
    counted, names = {
        "cargo": lambda: count_cargo(text),
        "go": lambda: count_go(text),
        "closing": lambda: count_closing(text),
        "junit": lambda: count_junit(reports),
    }[kind]()
    if not counted:
        return (0, 1, 0), ["no count in what the suite left"]
    passed, failed, skipped = counted
    if status != 0 and failed == 0:
        return (passed, 1, skipped), [*names, f"exit status {status}, though no test failed"]
    return (passed, failed, skipped), names


def lines_of(counts):
    return [line.split("\t") for line in pathlib.Path(counts).read_text().splitlines()]


def slowest(counts, *directories):
    """Suites in the order of their end, then files and tests; a test's time is that of its fixtures, too."""
    print("seconds per suite:")
    for name, _, _, _, seconds in lines_of(counts):
        print(f"  {float(seconds):7.0f}  {name}")
    tests, files = collections.Counter(), collections.Counter()
    for case in junit_cases(directories, "**/*.xml"):
        seconds, file = float(case.get("time") or 0), case.get("classname")
        tests[f"{file}: {case.get('name')}"] += seconds
        files[file] += seconds
    for what, times in (("files", files), ("tests", tests)):
        if times:
            print(f"the slowest {what}, in seconds:")
        for name, seconds in times.most_common(20):
            print(f"  {seconds:7.1f}  {name}")
    in_order = {name: round(seconds, 1) for name, seconds in files.most_common()}
    pathlib.Path(counts).with_name("durations.json").write_text(json.dumps(in_order, indent=1) + "\n")
    return 0


def total(counts):
    lines = lines_of(counts)
    passed, failed, skipped = (sum(int(line[column]) for line in lines) for column in (1, 2, 3))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 and passed > 0 else 1


def main(arguments):
    if arguments[0] == "total":
        return total(arguments[1])
    if arguments[0] == "slowest":
        return slowest(*arguments[1:])
    name, kind, status, log, *reports = arguments[1:]
    counted, names = count(kind, int(status), log, reports[0] if reports else "")
    print(name, *counted, sep="\t")
    for each in names:
        sys.stderr.write(each + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
