#!/usr/bin/env python3
"""Writes values into a multimed.yml, and leaves all else in it as it is, comments too.

usage: declare.py FILE SERVER KEY=VALUE...

In:  FILE, which need not be there yet; SERVER: satellites (KEY: count), master, log, gate or satellite-n (KEY: what multimed.schema.json has
     for it; cpus=mix: no cores of its own).
Out: the file's new text on stdout; or what is wrong on stderr, and exit status 64. Where satellites are counted, one that gets values of
     its own makes them a list.
Must never: be believed alone; who calls it checks the new text as a whole, before it takes the place of the old one.
"""

import copy
import io
import pathlib
import re
import sys

import ruamel.yaml

COUNT = 2
MIX = "mix"


def main():
    file, server, *values = sys.argv[1:]
    try:
        text = pathlib.Path(file).read_text() if pathlib.Path(file).exists() else ""
        print(declared(text, server, dict(value.split("=", 1) for value in values)), end="")
    except (ruamel.yaml.YAMLError, Unclear, UnicodeDecodeError, RecursionError) as error:
        print(f"{pathlib.Path(file).name}: {error}", file=sys.stderr)
        return 64
    return 0


class Unclear(Exception):
    """The file, or what is to be in it, makes no sense."""


def declared(text, server, values):
    yaml = ruamel.yaml.YAML()
    yaml.preserve_quotes = True
    yaml.width = 1000
    step, dash = indents(text)
    yaml.indent(mapping=step, sequence=dash + 2, offset=dash)
    document = yaml.load(text)
    head, tail = "", []
    if document is None:
        # Nothing but comments, which go before what comes now.
        document, head = empty(), text if not text or text.endswith("\n") else f"{text}\n"
    if not isinstance(document, dict):
        raise Unclear("this is no list of keys and values")
    number = re.fullmatch(r"satellite-(\d+)", server)
    if server == "satellites":
        count(part(document, "satellites"), int(values["count"]))
    elif number:
        satellites = part(document, "satellites")
        # Counted ones have no cores of their own.
        if values != {"cpus": MIX} or satellites.get("list") is not None:
            put(one(satellites, int(number[1]), after(document, "satellites"), tail), values)
    elif values != {"cpus": MIX} or document.get(server) is not None:
        put(part(document, server), values)
    out = io.StringIO()
    yaml.dump(document, out)
    return head + out.getvalue() + "".join(tail)


def indents(text):
    """(of what stands in a key, of a list's dashes), as the file has them."""
    keys = re.findall(r"^( +)[^\s#-]", text, re.MULTILINE)
    step = min(map(len, keys), default=2)
    dash = re.search(r"^( *)[^\s#-].*:[ \t]*(?:#.*)?\n(?:\s*#.*\n)*( *)- ", text, re.MULTILINE)
    return step, len(dash[2]) - len(dash[1]) if dash else 2


def part(parent, key):
    if parent.get(key) is None:
        parent[key] = ruamel.yaml.comments.CommentedMap()
    if not isinstance(parent[key], dict):
        raise Unclear(f"{key} is no list of keys and values")
    return parent[key]


def put(part, values):
    """cpus=mix: what it has of its own goes; the key stays, for the comments behind it."""
    if values.get("cpus") == MIX:
        values = {key: value for key, value in values.items() if key != "cpus"}
        if part.get("cpus") is not None:
            part["cpus"] = None
    part.update(typed(values))


def count(satellites, number):
    listed = list_of(satellites)
    if listed is None:
        if "count" in satellites:
            satellites["count"] = number
        else:
            satellites.insert(0, "count", number)
        return
    while len(listed) < number:
        listed.append(empty())
    del listed[number:]


def list_of(satellites):
    listed = satellites.get("list")
    if listed is not None and not isinstance(listed, list):
        raise Unclear("satellites.list is no list")
    return listed


def one(satellites, number, next_part, tail):
    """next_part: (document, key) of what stands behind all of them, if there is any; tail: else lines for the end are added to it."""
    if list_of(satellites) is None:
        if not isinstance(how_many := satellites.get("count") or COUNT, int) or how_many not in range(100):
            raise Unclear("satellites.count is not a number from 1 to 99")
        behind = after(satellites, "count") or next_part
        comments = satellites.ca.items.pop("count", None)
        satellites.pop("count", None)
        satellites.pop("list", None)
        satellites.insert(0, "list", [empty() for _ in range(how_many)])
        # What the library counts to this key are the lines before the next.
        lines = comments[2].value.partition("\n")[2].strip("\n") if comments and comments[2] else ""
        if lines and not behind:
            tail.append(f"\n{lines}\n")
        elif lines:
            parent, key = behind
            parent.yaml_set_comment_before_after_key(key, before="\n" + lines.replace("# ", "").replace("#", ""))
    if not 1 <= number <= len(satellites["list"]):
        raise Unclear(f"there is no satellite-{number}: {len(satellites['list'])} satellites are declared")
    listed, place = satellites["list"], number - 1
    if listed[place] is None:
        listed[place] = empty()
    if not isinstance(listed[place], dict):
        raise Unclear(f"satellites.list[{place}] is no list of keys and values")
    if sum(each is listed[place] for each in listed) > 1:
        # An alias (*name): what changes here must not change there.
        listed[place] = copy.deepcopy(listed[place])
        listed[place].yaml_set_anchor(None)
    return listed[place]


def after(parent, key):
    """(parent, the key after this one), or nothing."""
    keys = list(parent)
    place = keys.index(key) + 1 if key in keys else len(keys)
    return (parent, keys[place]) if place < len(keys) else None


def empty():
    """{}, with what it gets in lines of its own."""
    return ruamel.yaml.comments.CommentedMap()


def typed(values):
    return {key: int(value) if value.isdigit() else value for key, value in values.items()}


if __name__ == "__main__":
    sys.exit(main())
