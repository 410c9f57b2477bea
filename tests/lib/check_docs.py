#!/usr/bin/env python3
"""Checks what people read: links, tables, length of lines and of the README, settings.

Comes in: the tracked Markdown files, docker-compose.yml. Goes out: a line for each mistake on stderr, exit status 1 if there is one.
usage: check_docs.py
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_LINE = 150
README_LINES = 150
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SETTING = re.compile(r"\$\{([A-Z][A-Z0-9_]*)")
# Compose reads these, but no operator sets them.
NOT_SET = {
    "COMPOSE_PROJECT_NAME": "Compose's own",
}


# Where the components' sources are, and how they write the name of a setting.
SOURCES = {
    "gtid-gate/src": r'"(GATE_[A-Z0-9_]+)"',
    "cdc-applier/src/main/java": r'"((?:KAFKA|LOG|STATUS|TABLE|MASTER|CAPTURE|COMPARE|SATELLITE|APPLIER)_[A-Z0-9_]+)"',
}
# Read in another way than SOURCES says.
ELSEWHERE = {"LOG_LEVEL": "cdc-applier's logback.xml", "LOG_CPUS": "multimed.schema.json", "GATE_CPUS": "multimed.schema.json"}


def markdown():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, text=True, capture_output=True, check=True)
    return [ROOT / name for name in names.stdout.split() if (ROOT / name).exists()]


def lines_outside_code(text):
    """(number, line) of each line that is not inside a fenced block."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(file):
    """As forges make them of headings."""
    headings = (line.lstrip("#") for _, line in lines_outside_code(file.read_text()) if re.match(r"#+ ", line))
    plain = (re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def links(file, text):
    for number, line in lines_outside_code(text):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            there = (file.parent / path).resolve() if path else file
            if not there.exists():
                yield number, f"link to {target}: there is no such file"
            elif anchor and anchor not in anchors(there):
                yield number, f"link to {target}: there is no such heading"


def tables(_file, text):
    """Each row has as many cells as the header, which a line of dashes follows."""
    width, before = None, ""
    for number, line in lines_outside_code(text):
        if not line.startswith("|"):
            width, before = None, line
            continue
        cells = len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", lambda m: m[0].replace("\\|", ""), line))) - 1
        if width is None:
            if re.fullmatch(r"[|\-: ]+", line) or before.strip() and not before.startswith("#"):
                yield number, "a row without a header before it, or no empty line before the table"
            width = cells
        elif cells != width:
            yield number, f"{cells} cells in a table of {width} columns"
        before = line


def lengths(file, text):
    for number, line in lines_outside_code(text):
        if len(line) > LONGEST_LINE and not line.startswith("|"):
            yield number, f"{len(line)} characters, {LONGEST_LINE} at most"
    count = len(text.splitlines())
    if file == ROOT / "README.md" and count > README_LINES:
        yield count, f"{count} lines, {README_LINES} at most"


def settings_read():
    """The settings that Compose, the gate and both ends of the log read; a satellite's number is n."""
    names = set(SETTING.findall((ROOT / "docker-compose.yml").read_text())) - set(NOT_SET)
    for folder, pattern in SOURCES.items():
        for file in (ROOT / folder).rglob("*.*"):
            names |= set(re.findall(pattern, file.read_text()))
    return {re.sub(r"_\d+_", "_n_", name) for name in names}


def settings(file, text):
    """What is read is in docs/settings.md, and what is described there is read."""
    if file != ROOT / "docs" / "settings.md":
        return
    read = settings_read()
    for name in sorted(read):
        if f"`{name}`" not in text:
            yield 1, f"{name} is read and not described"
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"`((?:GATE|CAPTURE|APPLIER|LOG|KAFKA|TABLE)_[A-Z0-9_]+)`", line):
            if name not in read and name.removesuffix("_FILE") not in read and name not in ELSEWHERE:
                yield number, f"{name} is described and nothing reads it"


def main():
    mistakes = [
        f"{file.relative_to(ROOT)}:{number}: {what}"
        for file in markdown()
        for check in (links, tables, lengths, settings)
        for number, what in check(file, file.read_text())
    ]
    sys.exit("\n".join(mistakes) or 0)


if __name__ == "__main__":
    main()
